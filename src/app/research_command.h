// quern research, quern findings
#pragma once

#include <CLI/App.hpp>
#include <optional>

#include "app/command.h"

namespace quern::app {

struct ResearchCommand {
  bool wait = false;
  bool retry = false;  // what failed
};
// How far it is; until nothing is left, where it waits.
net::Task<Result<int>> show_research(Command command, ResearchCommand order);

struct FindingsCommand {
  std::optional<std::int64_t> episode;
  std::optional<std::int64_t> clip;
  std::string collection;
  bool all = false;  // also what was looked for and is not there
};
net::Task<Result<int>> list_findings(Command command, FindingsCommand order);

void add_research_commands(CLI::App& app, Run& run);

}  // namespace quern::app

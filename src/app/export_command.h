// quern export
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "app/command.h"

namespace quern::app {

struct ExportCommand {
  std::string collection;
  std::string format = "wacz";
  std::string out;
  std::string organization;  // of bags
};
net::Task<Result<int>> export_collection(Command command, ExportCommand order);

void add_export_command(CLI::App& app, Run& run);

}  // namespace quern::app

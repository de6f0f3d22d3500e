// quern episodes, quern clips
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "research/curated.h"

namespace quern::app {

struct EpisodesCommand {
  research::Kind kind = research::Kind::Episode;
  std::vector<std::string> sources;  // feeds, addresses, files and folders
  std::string collection;
  std::optional<std::int64_t> priority;
  std::string title;  // of a single source
  std::string description;
  std::string aired;
  std::string metadata;  // a JSON object
  bool no_wait = false;
  std::int64_t id = 0;  // of set, remove, show and remove-feed
};
net::Task<Result<int>> add_curated(Command command, EpisodesCommand order);
net::Task<Result<int>> list_curated(Command command, EpisodesCommand order);
net::Task<Result<int>> list_feeds(Command command, EpisodesCommand order);
net::Task<Result<int>> set_curated(Command command, EpisodesCommand order);
net::Task<Result<int>> remove_curated(Command command, EpisodesCommand order);
net::Task<Result<int>> remove_feed(Command command, EpisodesCommand order);

void add_episodes_commands(CLI::App& app, Run& run);

}  // namespace quern::app

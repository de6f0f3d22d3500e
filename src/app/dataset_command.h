// quern dataset
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "app/command.h"

namespace quern::app {

struct DatasetCommand {
  std::string url;       // or a DOI
  std::string requests;  // a file of requests, a line each; "-": standard input
  std::string collection;
  std::string strategy;
  std::string key;  // makes repeating the command harmless
  bool ingest = false;
  bool strict = false;
  bool force_recrawl = false;
  bool bundle = false;
  bool no_wait = false;
  std::int64_t job = 0;  // of show and retry
};
// One dataset, or one after the other of a file.
net::Task<Result<int>> keep_datasets(Command command, DatasetCommand order);
net::Task<Result<int>> show_dataset(Command command, DatasetCommand order);
net::Task<Result<int>> retry_dataset(Command command, DatasetCommand order);
// Results, a line each, become entities of a catalogue, a line each.
net::Task<Result<int>> import_results(Command command, std::string file);

void add_dataset_command(CLI::App& app, Run& run);

}  // namespace quern::app

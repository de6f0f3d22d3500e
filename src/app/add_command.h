// quern add: files, folders and standard input become the roots of a job.
//
// Each request can be made again without harm: a job is found by its key, a file by its number in
// the job. A command that was killed goes on with its job when it is given again.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/command.h"

namespace quern::app {

struct AddOrder {
  std::vector<std::string> paths;
  std::string collection = "default";
  bool ocr = false;
  bool split_by_page = false;
  std::string language = "en";
  std::string metadata;  // a JSON object
  bool skip_existing = false;
  bool no_wait = false;
  bool strict = false;
  std::string key;   // empty: made of the paths and options
  std::string name;  // of standard input
};

net::Task<Result<int>> add(Command command, AddOrder order);
void add_add_command(CLI::App& app, Run& run);

}  // namespace quern::app

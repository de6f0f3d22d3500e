// Commands that tell what became of what came in: jobs, files, documents, errors, tree, explain,
// ledger; and those that change a job: cancel, retry, delete.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/command.h"

namespace quern::app {

// What lists of files have in common.
struct ListOrder {
  std::string list;        // "files", "documents", "errors"
  std::string collection;  // empty: the job's, else "default"
  std::int64_t job = 0;    // 0: all
  bool no_ids = false;
  bool text = false;
  bool superseded = false;
  bool strict = false;
};
net::Task<Result<int>> list_results(Command command, ListOrder order);

// A file by its number or its name.
struct FileOrder {
  std::string file;
  std::string collection;
  std::int64_t job = 0;
  bool no_ids = false;
  bool strict = false;
};
// Missing where there is none of that name, Conflict where there are several.
net::Task<Result<std::int64_t>> find_file(Door& door, FileOrder order);
net::Task<Result<int>> show_tree(Command command, FileOrder order);
net::Task<Result<int>> explain(Command command, FileOrder order);

struct JobOrder {
  std::string name;  // a number; of delete a collection too
  std::string collection;
  std::string kind;  // of errors
  bool no_wait = false;
  bool strict = false;
};
net::Task<Result<int>> list_jobs(Command command, JobOrder order);
net::Task<Result<int>> show_job(Command command, JobOrder order);
net::Task<Result<int>> cancel_job(Command command, JobOrder order);
net::Task<Result<int>> retry(Command command, JobOrder order);
net::Task<Result<int>> delete_job(Command command, JobOrder order);
net::Task<Result<int>> show_ledger(Command command, JobOrder order);

net::Task<Result<int>> detect(Command command, std::vector<std::string> paths);

void add_read_commands(CLI::App& app, Run& run);

}  // namespace quern::app

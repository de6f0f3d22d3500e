// What people are told of a dataset: how far it is, the state of each file, and why. Pure.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "fileset/file_row.h"
#include "fileset/request_row.h"

namespace quern::fileset {

struct Shown {
  RequestRow row;
  tree::Job job;
  std::vector<FileRow> files;  // with the bundle, in order; empty where only the request is shown
};
Result<Shown> load_shown(store::Tx& tx, tree::JobId job);
// For a list of many: files only where they tell how far it is.
Result<Shown> load_listed(store::Tx& tx, tree::JobId job);

// From 0 to 1: 1 if and only if it has ended.
double progress_of(const Shown& shown);
boost::json::object file_json(const FileRow& file);
boost::json::object to_json(const Shown& shown);
// Everything that is known of it, in sentences.
std::vector<std::string> explain(const Shown& shown);

}  // namespace quern::fileset

#include "fileset/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fileset/status.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr double kLandingPart = 0.05;  // of the whole: to find out what there is

// A file is some work, however small.
double weight_of(const FileRow& file) {
  return static_cast<double>(file.file.size.value_or(0)) + 64.0 * 1024;
}

std::string_view state_of(const Shown& shown) {
  if (shown.row.canceled) return "canceled";
  return shown.row.state == RequestState::Ended ? "done" : "running";
}

std::map<std::string, int> count_statuses(const std::vector<FileRow>& files) {
  std::map<std::string, int> counts;
  for (const FileRow& file : files) {
    counts[file.ended ? file.file.status : std::string("waiting")] += 1;
  }
  return counts;
}

std::string_view advice(RetryClass retry) {
  switch (retry) {
    case RetryClass::Hit:
      return "There is nothing to do.";
    case RetryClass::Passing:
      return "It may go well soon: ask for it again.";
    case RetryClass::Later:
      return "It may go well in some weeks, or when what is wrong was mended: ask for it then.";
    case RetryClass::Never:
      return "The same request will end in the same way.";
  }
  return "";
}

}  // namespace

Result<Shown> load_shown(store::Tx& tx, tree::JobId job) {
  Shown shown;
  TRY_ASSIGN(shown.job, tree::load_job(tx, job));
  TRY_ASSIGN(shown.row, load_request(tx, job));
  TRY_ASSIGN(shown.files, list_files(tx, job));
  return shown;
}

Result<Shown> load_listed(store::Tx& tx, tree::JobId job) {
  Shown shown;
  TRY_ASSIGN(shown.job, tree::load_job(tx, job));
  TRY_ASSIGN(shown.row, load_request(tx, job));
  if (shown.row.state == RequestState::Keeping) {
    TRY_ASSIGN(shown.files, list_files(tx, job));
  }
  return shown;
}

double progress_of(const Shown& shown) {
  if (shown.row.state == RequestState::Ended) return 1;
  if (shown.row.state == RequestState::Resolving) return 0;
  double all = 0;
  double done = 0;
  for (const FileRow& file : shown.files) {
    all += weight_of(file);
    if (file.ended) done += weight_of(file);
  }
  const double part = all > 0 ? done / all : 0;
  return std::min(0.9999, kLandingPart + (1 - kLandingPart) * part);
}

json::object file_json(const FileRow& file) {
  json::object object = to_json(file.file);
  object["number"] = file.number;
  object["state"] = file.ended ? "ended" : "waiting";
  object["status"] = file.file.status;
  object["message"] = file.message;
  object["bytes"] = file.bytes;
  object["tries"] = file.tries;
  object["kept"] = file.ended && is_kept(file.file.status);
  object["has_blob"] = file.blob.has_value();
  if (file.capture) object["cdx"] = file.capture->cdx;
  return object;
}

json::object to_json(const Shown& shown) {
  const RequestRow& row = shown.row;
  json::object object{{"job", row.job.value},
                      {"collection", shown.job.collection_name},
                      {"state", json::string(state_of(shown))},
                      {"phase", json::string(to_string(row.state))},
                      {"progress", progress_of(shown)},
                      {"request", row.request.raw},
                      {"options", to_json(row.options)},
                      {"strategy", row.strategy},
                      {"status", row.status},
                      {"created_us", row.created_us}};
  if (row.ended_us > 0) object["ended_us"] = row.ended_us;
  if (row.retry_of) object["retry_of"] = row.retry_of->value;
  if (!row.status.empty()) {
    object["hit"] = is_hit(row.status);
    object["retry"] = json::string(to_string(retry_class(row.status)));
  }
  if (row.item) {
    object["platform_name"] = row.item->platform_name;
    object["platform_domain"] = row.item->platform_domain;
    object["platform_id"] = row.item->platform_id;
    object["archiveorg_item_name"] = row.item->archiveorg_item_name;
    object["file_count"] = row.item->manifest.size();
    object["total_size"] = row.item->total_size();
  }
  object["in_ia"] = is_hit(row.status) && is_item(row.strategy);
  if (row.landed.capture) object["terminal_url"] = row.landed.capture->terminal_url;
  boost::system::error_code failed;
  if (!row.result.empty()) object["result"] = json::parse(row.result, failed);
  return object;
}

std::vector<std::string> explain(const Shown& shown) {
  const RequestRow& row = shown.row;
  std::vector<std::string> says;
  says.push_back(fmt::format("It was asked for as {}.", row.request.base_url));
  if (row.landed.capture && !row.landed.capture->terminal_url.empty()) {
    says.push_back(fmt::format("That has led to {}.", row.landed.capture->terminal_url));
  }
  if (row.item) {
    says.push_back(fmt::format("The platform {} ({}) knows it as {}, with {} files of {} bytes.",
                               row.item->platform_name, row.item->platform_domain,
                               row.item->platform_id, row.item->manifest.size(),
                               row.item->total_size()));
  }
  if (!row.strategy.empty()) says.push_back(fmt::format("Its strategy is {}.", row.strategy));
  for (const auto& [status, count] : count_statuses(shown.files)) {
    says.push_back(fmt::format("{} of its files: {}.", count, status));
  }
  for (const FileRow& file : shown.files) {
    if (file.message.empty()) continue;
    says.push_back(fmt::format("{}: {}.", file.file.path, file.message));
  }
  if (row.state == RequestState::Ended) {
    says.push_back(
        fmt::format("It has ended as {}. {}", row.status, advice(retry_class(row.status))));
  } else {
    says.push_back(row.state == RequestState::Resolving
                       ? "It is being found out what there is to keep."
                       : "Its files are being kept.");
  }
  return says;
}

}  // namespace quern::fileset

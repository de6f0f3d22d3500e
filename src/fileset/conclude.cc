#include "fileset/conclude.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "fileset/outbox.h"
#include "fileset/persist.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kJobRuns{"SELECT 1 FROM job WHERE id = $1 AND state = 1 AND NOT deleting"};

ResultParts parts_of(const RequestRow& row, const Conclusion& end) {
  ResultParts parts{.request = row.request,
                    .strict = row.options.strict,
                    .status = end.status,
                    .message = end.message,
                    .landed = end.landed,
                    .item = end.item,
                    .strategy = end.strategy,
                    .files = {},
                    .bundle = {}};
  for (const FileRow& file : end.files) {
    FileOutcome outcome{file.file, file.capture, file.message};
    if (file.number == kBundleNumber) {
      parts.bundle = std::move(outcome);
    } else {
      parts.files.push_back(std::move(outcome));
    }
  }
  return parts;
}

// Who reads only the overall result learns which file it was.
std::string first_failure(const std::vector<FileRow>& files) {
  for (const FileRow& file : files) {
    if (is_kept(file.file.status)) continue;
    const std::string what = file.message.empty() ? file.file.status : file.message;
    return fmt::format("{}: {}", file.file.path, what);
  }
  return "";
}

}  // namespace

std::string status_of(const RequestRow& row, const std::vector<FileRow>& files,
                      const std::string& failed) {
  if (row.canceled) return "canceled";
  std::vector<FileOutcome> outcomes;
  for (const FileRow& file : files) {
    const bool bundle = file.number == kBundleNumber;
    if (bundle && is_kept(file.file.status) && files.size() > 1) continue;
    outcomes.push_back({file.file, file.capture, file.message});
  }
  const std::string status = overall_status(outcomes, row.strategy);
  const bool good = status.starts_with("success");
  return good && !failed.empty() ? failed : status;
}

Result<bool> conclude(Tx& tx, const RequestRow& row, const Conclusion& conclusion,
                      const std::string& topic_prefix) {
  Conclusion end = conclusion;
  if (end.message.empty() && !row.options.strict) end.message = first_failure(end.files);
  const ResultParts parts = parts_of(row, end);
  const json::object result = make_result(parts);
  const std::string text = json::serialize(result);
  TRY_ASSIGN(const bool first, end_request(tx, row.job, {end.status, text, end.landed, end.item}));
  if (!first) return false;
  TRY(note_records(tx, row.collection, end.records));
  TRY(persist_request(tx, row.request));
  TRY(persist_result(tx, result));
  const std::string key = fmt::format("{}", row.job);
  TRY(publish(tx, topic_prefix + kFilesetResults, key, text));
  if (const std::optional<json::object> file = file_result(parts)) {
    TRY(persist_result(tx, *file));
    TRY(publish(tx, topic_prefix + kFileResults, key, json::serialize(*file)));
  }
  TRY_ASSIGN(const Rows running, tx.query(kJobRuns, row.job));
  if (!running.empty()) TRY(tree::seal_job(tx, row.job, 0));
  crash_point("fileset.finished");
  return true;
}

}  // namespace quern::fileset

#include "tree/finish.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "base/utf8.h"
#include "tree/insert.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_FINISHED                                                              \
  " RETURNING id, partition, progress_end - progress_begin - progress_given, step," \
  " error_kind IS NOT NULL, coalesce(wall_ms, 0), coalesce(cpu_ms, 0)"
constexpr Sql kFinish{
    "UPDATE file SET state = 3, processed_us = $2, processing_error = $3, error_kind = $4,"
    " step_version = $5, worker = $6, note = $7, wall_ms = $8, cpu_ms = $9, peak_kib = $10,"
    " lent = 0 WHERE id = $1 AND state = 2" QUERN_FINISHED,
    "UPDATE file AS f SET state = 3, processed_us = w.now_us, processing_error = w.error,"
    " error_kind = w.kind, step_version = w.version, worker = w.worker, note = w.note,"
    " wall_ms = w.wall, cpu_ms = w.cpu, peak_kib = w.peak, lent = FALSE"
    " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],"
    " $7::text[], $8::bigint[], $9::bigint[], $10::bigint[])"
    " AS w (id, now_us, error, kind, version, worker, note, wall, cpu, peak)"
    " WHERE f.id = w.id AND f.state = 2"
    " RETURNING f.id, f.partition, f.progress_end - f.progress_begin - f.progress_given, f.step,"
    " f.error_kind IS NOT NULL, coalesce(f.wall_ms, 0), coalesce(f.cpu_ms, 0)"};
constexpr Sql kCount{
    "UPDATE file SET attempts = attempts + $2, interruptions = interruptions + $3, lent = 0,"
    " note = $4, worker = $5 WHERE id = $1 AND state = 2 RETURNING id, attempts, interruptions",
    "UPDATE file AS f SET attempts = f.attempts + w.attempts,"
    " interruptions = f.interruptions + w.interruptions, lent = FALSE, note = w.note,"
    " worker = w.worker FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[],"
    " $5::text[]) AS w (id, attempts, interruptions, note, worker)"
    " WHERE f.id = w.id AND f.state = 2 RETURNING f.id, f.attempts, f.interruptions"};
constexpr Sql kSetType{
    "UPDATE file SET detected_type = $2, step = nullif($3, '') WHERE id = $1 AND state = 2 AND "
    "step = 'Detect'"
    " RETURNING id, partition, step",
    "UPDATE file AS f SET detected_type = w.type, step = nullif(w.step, '')"
    " FROM unnest($1::bigint[], $2::text[], $3::text[]) AS w (id, type, step)"
    " WHERE f.id = w.id AND f.state = 2 AND f.step = 'Detect' RETURNING f.id, f.partition,"
    " f.step"};
constexpr Sql kEndWaiting{
    "UPDATE file SET state = 3, processed_us = $2, processing_error = $3, error_kind = $4, lent = 0"
    " WHERE id IN (SELECT id FROM file WHERE partition = $1 AND state = 2 AND +state < 4"
    " AND ($5 = '' OR step = $5) LIMIT $6)" QUERN_FINISHED,
    "UPDATE file SET state = 3, processed_us = $2, processing_error = $3, error_kind = $4,"
    " lent = FALSE WHERE id IN (SELECT id FROM file WHERE partition = $1 AND state = 2"
    " AND ($5 = '' OR step = $5) LIMIT $6)" QUERN_FINISHED};
constexpr Sql kMarkLent{"UPDATE file SET lent = 1 WHERE id = $1 AND state = 2",
                        "UPDATE file SET lent = TRUE WHERE id = ANY ($1) AND state = 2"};
constexpr Sql kInterrupt{
    "UPDATE file SET lent = 0, interruptions = interruptions + 1 WHERE partition = $1 AND lent = 1"
    " RETURNING id, interruptions",
    "UPDATE file SET lent = FALSE, interruptions = interruptions + 1 WHERE partition = $1 AND lent"
    " RETURNING id, interruptions"};
// An upload that nobody waits for any more.
constexpr Sql kEndCreated{
    "UPDATE file SET state = 3, written_us = $2, processed_us = $2, processing_error = $3,"
    " error_kind = $4 WHERE id IN (SELECT id FROM file WHERE partition = $1 AND state = 1"
    " AND +state < 4 LIMIT $5)" QUERN_FINISHED};

constexpr Sql kLinks{
    "INSERT INTO file_links (file, links) VALUES ($1, $2)",
    "INSERT INTO file_links (file, links) SELECT * FROM unnest($1::bigint[], $2::text[])"};

using ShardDeltas = std::map<ShardId, ShardDelta>;

// What a file that ends adds to its shard: all of its slice that no child got, and to its step.
void count_finished(const Rows& finished, ShardDeltas& deltas) {
  for (const Row row : finished) {
    ShardDelta& shard = deltas[row.get<ShardId>(1)];
    shard.progress += row.get<double>(2);
    if (row.is_null(3)) continue;
    StepSum& step = shard.steps[row.get<std::string>(3)];
    ++step.ended;
    if (row.get<bool>(4)) ++step.failed;
    step.wall_ms += row.get<std::int64_t>(5);
    step.cpu_ms += row.get<std::int64_t>(6);
  }
}

Result<> add_finished(Tx& tx, const Rows& finished) {
  ShardDeltas deltas;
  count_finished(finished, deltas);
  return add_to_shards(tx, deltas);
}

// Uploads that end before they are whole: they enter their step only to fail there.
Result<> add_created(Tx& tx, const Rows& finished) {
  ShardDeltas deltas;
  count_finished(finished, deltas);
  for (auto& [id, delta] : deltas) {
    for (auto& [name, step] : delta.steps) step.entered += step.ended;
  }
  return add_to_shards(tx, deltas);
}

std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// A sentence of bounded length that every store can hold.
std::string sentence(const std::string& message) {
  std::string text = valid_utf8(message.substr(0, kErrorBytesMax));
  std::erase(text, '\0');
  return text.empty() ? "no reason was given" : text;
}

// A file that ends, with texts that live as long as it.
struct Ending {
  FileId file;
  std::optional<std::string> error;
  std::optional<std::string> kind;
  std::optional<std::string> version;
  std::optional<std::string> worker;
  std::optional<std::string> note;
  const StepReport* report;
};

Ending ending_of(FileId file, const std::optional<Failure>& failure, const StepReport& report) {
  Ending ending{file};
  if (failure) {
    ending.error = sentence(failure->message);
    ending.kind = model::to_string(failure->kind);
  }
  ending.version = text_or_null(report.step_version);
  ending.worker = text_or_null(report.worker);
  ending.note = text_or_null(report.note);
  ending.report = &report;
  return ending;
}

// Those that were still written.
Result<std::set<FileId>> end_files(Tx& tx, const std::vector<Ending>& endings,
                                   ShardDeltas deltas = {}) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  Bulk bulk;
  for (const Ending& e : endings) {
    bulk.add(e.file, now_us, e.error, e.kind, e.version, e.worker, e.note, e.report->wall_ms,
             e.report->cpu_ms, e.report->peak_kib);
  }
  TRY_ASSIGN(const Rows rows, tx.bulk(kFinish, bulk));
  count_finished(rows, deltas);
  TRY(add_to_shards(tx, deltas));
  std::set<FileId> ended;
  for (const Row row : rows) ended.insert(row.get<FileId>(0));
  return ended;
}

Result<std::int64_t> end_waiting(Tx& tx, ShardId shard, const std::string& step,
                                 const Failure& why) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kEndWaiting, shard, now_us, why.message,
                                       model::to_string(why.kind), step, kCanceledAtOnce));
  TRY(add_finished(tx, rows));
  crash_point("tree.waiting.ended");
  return static_cast<std::int64_t>(rows.size());
}

bool is_last(const CountEnd& op, const CountEnd::Reply& counted) {
  return op.kind == CountEnd::Kind::Attempt ? counted.attempts >= kAttemptsMax
                                            : counted.interruptions >= kInterruptionsMax;
}

Result<std::map<FileId, CountEnd::Reply>> count_ends(Tx& tx, std::span<const CountEnd> batch) {
  std::vector<std::optional<std::string>> kept;  // what the bulk refers to
  kept.reserve(batch.size() * 2);
  Bulk bulk;
  for (const CountEnd& op : batch) {
    const bool attempt = op.kind == CountEnd::Kind::Attempt;
    const auto& note =
        kept.emplace_back(sentence(op.report.note.empty() ? op.why.message : op.report.note));
    const auto& worker = kept.emplace_back(text_or_null(op.report.worker));
    bulk.add(op.file, attempt ? 1 : 0, attempt ? 0 : 1, note, worker);
  }
  TRY_ASSIGN(const Rows rows, tx.bulk(kCount, bulk));
  std::map<FileId, CountEnd::Reply> counted;
  for (const Row row : rows) {
    counted[row.get<FileId>(0)] = {false, row.get<std::int64_t>(1), row.get<std::int64_t>(2)};
  }
  return counted;
}

Result<std::vector<Result<CountEnd::Reply>>> count_and_end(Tx& tx,
                                                           std::span<const CountEnd> batch) {
  TRY_ASSIGN(const auto counted, count_ends(tx, batch));
  std::vector<Result<CountEnd::Reply>> results;
  std::vector<std::optional<Failure>> failures;
  failures.reserve(batch.size());
  std::vector<Ending> endings;
  for (const CountEnd& op : batch) {
    const auto found = counted.find(op.file);
    if (found == counted.end()) {
      results.push_back(CountEnd::Reply{});  // it has ended meanwhile
      continue;
    }
    CountEnd::Reply reply = found->second;
    reply.failed = is_last(op, reply);
    if (reply.failed) {
      endings.push_back(ending_of(op.file, failures.emplace_back(op.why), op.report));
    }
    results.push_back(reply);
  }
  TRY(end_files(tx, endings));
  return results;
}

// They have ended Detect, and enter the steps of their types; where there is none, they failed.
ShardDeltas count_detected(const Rows& set) {
  const std::string detect(model::to_string(model::StepId::Detect));
  ShardDeltas deltas;
  for (const Row row : set) {
    StepSums& steps = deltas[row.get<ShardId>(1)].steps;
    ++steps[detect].ended;
    if (row.is_null(2)) {
      ++steps[detect].failed;
    } else {
      ++steps[row.get<std::string>(2)].entered;
    }
  }
  return deltas;
}

Result<std::vector<Result<bool>>> set_types(Tx& tx, std::span<const SetType> batch) {
  Bulk bulk;
  for (const SetType& op : batch) bulk.add(op.file, op.detected_type, op.step);
  TRY_ASSIGN(const Rows rows, tx.bulk(kSetType, bulk));
  std::set<FileId> set;
  for (const Row row : rows) set.insert(row.get<FileId>(0));
  static const StepReport no_report;
  std::vector<Ending> endings;
  std::vector<Result<bool>> results;
  for (const SetType& op : batch) {
    const bool was_set = set.contains(op.file);
    if (was_set && op.failure) endings.push_back(ending_of(op.file, op.failure, no_report));
    results.emplace_back(was_set);
  }
  TRY(end_files(tx, endings, count_detected(rows)));
  return results;
}

}  // namespace

std::vector<Result<bool>> apply(Tx& tx, std::span<const FinishFile> batch) {
  std::vector<Ending> endings;
  for (const FinishFile& op : batch) endings.push_back(ending_of(op.file, op.failure, op.report));
  const Result<std::set<FileId>> ended = end_files(tx, endings);
  if (!ended.ok()) return store::fail_all<bool>(batch.size(), ended.error());
  Bulk links;
  for (const FinishFile& op : batch) {
    if (!op.links.empty() && ended->contains(op.file)) links.add(op.file, op.links);
  }
  const Result<Rows> linked = tx.bulk(kLinks, links);
  if (!linked.ok()) return store::fail_all<bool>(batch.size(), linked.error());
  crash_point("tree.files.processed");
  std::vector<Result<bool>> results;
  for (const FinishFile& op : batch) results.emplace_back(ended->contains(op.file));
  return results;
}

std::vector<Result<CountEnd::Reply>> apply(Tx& tx, std::span<const CountEnd> batch) {
  auto results = count_and_end(tx, batch);
  if (!results.ok()) return store::fail_all<CountEnd::Reply>(batch.size(), results.error());
  return *std::move(results);
}

std::vector<Result<bool>> apply(Tx& tx, std::span<const SetType> batch) {
  auto results = set_types(tx, batch);
  if (!results.ok()) return store::fail_all<bool>(batch.size(), results.error());
  return *std::move(results);
}

Result<std::int64_t> cancel_waiting(Tx& tx, ShardId shard) {
  const Failure canceled{model::ErrorKind::Canceled, "canceled"};
  TRY_ASSIGN(const std::int64_t ended, end_waiting(tx, shard, "", canceled));
  if (ended == kCanceledAtOnce) return ended;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows uploads,
             tx.query(kEndCreated, shard, now_us, canceled.message, model::to_string(canceled.kind),
                      kCanceledAtOnce - ended));
  TRY(add_created(tx, uploads));
  return ended + static_cast<std::int64_t>(uploads.size());
}

Result<std::int64_t> fail_waiting(Tx& tx, ShardId shard, const std::string& step,
                                  const Failure& why) {
  return end_waiting(tx, shard, step, why);
}

Result<> mark_lent(Tx& tx, const std::vector<FileId>& files) {
  Bulk bulk;
  for (const FileId file : files) bulk.add(file);
  TRY(tx.bulk(kMarkLent, bulk));
  return {};
}

Result<std::int64_t> interrupt_lent(Tx& tx, ShardId shard) {
  TRY_ASSIGN(const Rows rows, tx.query(kInterrupt, shard));
  static const StepReport no_report;
  const std::optional<Failure> why =
      Failure{model::ErrorKind::Crash,
              fmt::format("its worker or its server ended {} times while working on "
                          "it",
                          kInterruptionsMax)};
  std::vector<Ending> endings;
  for (const Row row : rows) {
    if (row.get<std::int64_t>(1) < kInterruptionsMax) continue;
    endings.push_back(ending_of(row.get<FileId>(0), why, no_report));
  }
  TRY(end_files(tx, endings));
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace quern::tree

#include "tree/check.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "base/log.h"
#include "model/position.h"
#include "tree/check_row.h"
#include "tree/insert.h"
#include "tree/step_sums.h"

namespace quern::tree {
namespace {

using store::Readers;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr int kAttemptsAtSums = 3;
constexpr std::int64_t kJobsPerPage = 100;

constexpr Sql kJobs{"SELECT id FROM job WHERE id > $1 ORDER BY id LIMIT $2"};
constexpr Sql kNextJobOfFiles{"SELECT min(job) FROM file WHERE job > $1"};
constexpr Sql kIsJob{"SELECT 1 FROM job WHERE id = $1"};
constexpr Sql kFiles{"SELECT " QUERN_CHECKED_COLUMNS QUERN_CHECKED_TABLES
                     " WHERE f.job = $1 AND f.id > $2 ORDER BY f.id LIMIT $3"};
constexpr Sql kTexts{
    "SELECT t.file, f.id IS NOT NULL FROM file_text AS t LEFT JOIN file AS f ON f.id = t.file"
    " WHERE t.file > $1 ORDER BY t.file LIMIT $2"};
constexpr Sql kRenderings{
    "SELECT r.file, f.id IS NOT NULL FROM rendering AS r LEFT JOIN file AS f ON f.id = r.file"
    " AND f.class = 1 WHERE r.file > $1 ORDER BY r.file LIMIT $2"};
// All children with their parents, family by family.
constexpr Sql kChildren{
    "SELECT c.id, c.parent, c.index_in_parent, c.state, c.position,"
    " c.root = coalesce(p.root, p.id) AND c.job = p.job AND c.partition = p.partition"
    " AND c.collection = p.collection AND c.depth = p.depth + 1,"
    " c.progress_begin, c.progress_end, p.id, p.state, p.n_children, p.n_ingested_children,"
    " p.position, p.progress_begin, p.progress_end, p.progress_given, j.deleting"
    " FROM file AS c LEFT JOIN file AS p ON p.id = c.parent LEFT JOIN job AS j ON j.id = c.job"
    " WHERE c.parent IS NOT NULL AND (c.parent, c.index_in_parent) > ($1, $2)"
    " ORDER BY c.parent, c.index_in_parent LIMIT $3"};

bool is_near(double a, double b, double scale) {
  return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(scale));
}

// -- sums --

// A job and its shards, at one instant.
struct JobView {
  Job job;
  std::map<ShardId, ShardInfo> shards;
  std::map<ShardId, StepSums> steps;
};

Result<JobView> load_view(Tx& tx, JobId id) {
  JobView view;
  TRY_ASSIGN(view.job, load_job(tx, id));
  TRY_ASSIGN(const std::vector<ShardId> ids, list_shards(tx, id));
  TRY_ASSIGN(const std::vector<ShardInfo> shards, load_flags(tx, ids));
  for (const ShardInfo& shard : shards) view.shards[shard.id] = shard;
  TRY_ASSIGN(view.steps, load_shard_steps(tx, id));
  return view;
}

bool is_same(const Sums& a, const Sums& b) {
  return a.roots == b.roots && a.files == b.files && a.bytes_in == b.bytes_in &&
         a.classified() == b.classified() && a.weight == b.weight && a.progress == b.progress;
}

bool is_unchanged(const JobView& before, const JobView& after) {
  if (before.shards.size() != after.shards.size()) return false;
  for (const auto& [id, shard] : before.shards) {
    const auto found = after.shards.find(id);
    if (found == after.shards.end() || !is_same(shard.sums, found->second.sums)) return false;
  }
  return before.job.state == after.job.state && before.steps == after.steps;
}

// What the files of a shard add up to.
struct Counted {
  Sums sums;
  std::int64_t descendants_noted = 0;  // by the roots
  StepSums steps;
};

void count_steps(const CheckedRow& row, StepSums& steps) {
  const std::string detect(model::to_string(model::StepId::Detect));
  if (row.was_detected) steps[detect] += {.entered = 1, .ended = 1};
  if (row.was_detected && !row.step && row.has_error) ++steps[detect].failed;
  if (!row.step || !row.waited || row.state < stored(FileState::Written)) return;
  StepSum& step = steps[*row.step];
  ++step.entered;
  if (row.state < stored(FileState::Processed)) return;
  ++step.ended;
  if (row.has_error) ++step.failed;
  step.wall_ms += row.wall_ms;
  step.cpu_ms += row.cpu_ms;
}

void count(const CheckedRow& row, std::map<ShardId, Counted>& counted) {
  Counted& shard = counted[row.shard];
  ++shard.sums.files;
  count_steps(row, shard.steps);
  if (row.is_root) {
    ++shard.sums.roots;
    shard.sums.weight += row.width;
    shard.sums.bytes_in += row.bytes;
    shard.descendants_noted += row.tree_files;
    if (row.state == stored(FileState::Ingested)) ++shard.sums.roots_ingested;
  }
  if (row.state >= stored(FileState::Processed)) shard.sums.progress += row.width - row.given;
  std::int64_t* const classes[] = {&shard.sums.documents, &shard.sums.containers,
                                   &shard.sums.converted, &shard.sums.empty, &shard.sums.errors};
  if (row.became && *row.became >= 1 && *row.became <= 5) ++*classes[*row.became - 1];
}

void judge_shard(const ShardInfo& shard, const Counted& counted, Findings& findings) {
  const auto say = [&](const std::string& what) {
    findings.add(fmt::format("job {}, shard {}: {}", shard.job, shard.number, what));
  };
  const auto expect = [&](std::string_view what, std::int64_t noted, std::int64_t there) {
    if (noted != there) say(fmt::format("{} {} are noted, {} are there", noted, what, there));
  };
  const Sums& noted = shard.sums;
  const Sums& there = counted.sums;
  expect("roots", noted.roots, there.roots);
  expect("ingested roots", noted.roots_ingested, there.roots_ingested);
  expect("files", noted.files, there.files);
  expect("documents", noted.documents, there.documents);
  expect("containers", noted.containers, there.containers);
  expect("converted files", noted.converted, there.converted);
  expect("empty files", noted.empty, there.empty);
  expect("errors", noted.errors, there.errors);
  expect("bytes", noted.bytes_in, there.bytes_in);
  expect("files below roots", counted.descendants_noted, there.files - there.roots);
  if (!is_near(noted.weight, there.weight, there.weight)) {
    say(fmt::format("a weight of {} is noted, its roots have {}", noted.weight, there.weight));
  }
  const double progress = shard.done ? noted.weight : there.progress;
  if (!is_near(noted.progress, progress, noted.weight)) {
    say(fmt::format("progress {} is noted, its files have made {}", noted.progress, progress));
  }
  if (shard.done && there.files != there.classified()) {
    say(fmt::format("it is done, but {} files are not", there.files - there.classified()));
  }
}

void judge_steps(const ShardInfo& shard, const StepSums& noted, const StepSums& there,
                 Findings& findings) {
  StepSums all = noted;
  all.insert(there.begin(), there.end());
  for (const auto& [step, either] : all) {
    const auto of = [&step](const StepSums& sums) {
      const auto found = sums.find(step);
      return found == sums.end() ? StepSum{} : found->second;
    };
    const StepSum a = of(noted);
    const StepSum b = of(there);
    if (a == b) continue;
    findings.add(
        fmt::format("job {}, shard {}: of step {} {} entered, {} ended, {} failed, {} and"
                    " {} ms are noted; there are {}, {}, {}, {} and {}",
                    shard.job, shard.number, step, a.entered, a.ended, a.failed, a.wall_ms,
                    a.cpu_ms, b.entered, b.ended, b.failed, b.wall_ms, b.cpu_ms));
  }
}

void judge_job(const JobView& view, Findings& findings) {
  const Job& job = view.job;
  const auto say = [&](const std::string& what) {
    findings.add(fmt::format("job {}: {}", job.id, what));
  };
  std::int64_t done = 0;
  for (const auto& [id, shard] : view.shards) done += shard.done ? 1 : 0;
  const bool all_done = done == job.shards && job.sealed;
  if (job.state != JobState::Running && !all_done) {
    say(fmt::format("it has ended, but {} of {} shards have", done, job.shards));
  }
  if (job.state == JobState::Running && all_done) say("all its shards have ended, but it has not");
  if (job.state == JobState::Canceled && !job.canceled) say("it was canceled by nobody");
  if (static_cast<std::int64_t>(view.shards.size()) > job.shards) say("it has too many shards");
}

void judge_sums(const JobView& view, const std::map<ShardId, Counted>& counted,
                Findings& findings) {
  judge_job(view, findings);
  for (const auto& [id, shard] : view.shards) {
    const auto found = counted.find(id);
    const Counted there = found == counted.end() ? Counted{} : found->second;
    judge_shard(shard, there, findings);
    const auto noted = view.steps.find(id);
    judge_steps(shard, noted == view.steps.end() ? StepSums{} : noted->second, there.steps,
                findings);
  }
  for (const auto& [id, sums] : counted) {
    if (view.shards.contains(id)) continue;
    findings.add(fmt::format("job {}: {} files are of shard {}, which is not its own", view.job.id,
                             sums.sums.files, id));
  }
}

// The files of one job, a page at a time; a job with few files at one instant.
class JobCheck {
 public:
  JobCheck(Readers& readers, JobId id) : readers_(readers), id_(id) {}

  Result<> run(Findings& findings) {
    for (int attempt = 0; attempt < kAttemptsAtSums; ++attempt) {
      TRY_ASSIGN(const bool judged, attempt_once(findings));
      if (judged) return {};
    }
    log_info("tree.not_checked", {{"job", id_.value}, {"because", "it keeps changing"}});
    return {};
  }

 private:
  struct Page {
    JobView view;
    std::vector<CheckedRow> rows;
    bool gone = false;
  };

  static Result<Page> load_page(Tx& tx, JobId job, FileId after) {
    Page page;
    Result<JobView> view = load_view(tx, job);
    if (!view.ok() && view.error().kind() != Errc::Missing) return view.error();
    page.gone = !view.ok() || view->job.deleting;
    if (page.gone) return page;
    page.view = *std::move(view);
    TRY_ASSIGN(const Rows rows, tx.query(kFiles, job, after, kCheckedAtOnceMax));
    for (const Row row : rows) page.rows.push_back(checked_row(row));
    return page;
  }

  // False: it changed meanwhile. What is wrong with single files is said all the same, once.
  Result<bool> attempt_once(Findings& findings) {
    std::map<ShardId, Counted> counted;
    std::optional<JobView> first;
    FileId after;
    while (true) {
      const JobId job = id_;
      TRY_ASSIGN(const Page page,
                 readers_.run([job, after](Tx& tx) { return load_page(tx, job, after); }));
      if (page.gone) return true;
      if (!first) first = page.view;
      for (const CheckedRow& row : page.rows) {
        if (row.id > judged_to_) judge_row_of(page.view, row, findings);
        count(row, counted);
      }
      if (!page.rows.empty()) after = page.rows.back().id;
      judged_to_ = std::max(judged_to_, after);
      if (static_cast<std::int64_t>(page.rows.size()) == kCheckedAtOnceMax) continue;
      if (!is_unchanged(*first, page.view)) return false;
      judge_sums(page.view, counted, findings);
      return true;
    }
  }

  static void judge_row_of(const JobView& view, const CheckedRow& row, Findings& findings) {
    judge_row(row, findings);
    if (row.collection != view.job.collection) {
      findings.add(
          fmt::format("file {}: it is of another collection than its job {}", row.id, view.job.id));
    }
  }

  Readers& readers_;
  JobId id_;
  FileId judged_to_;
};

// -- families --

struct Parent {
  FileId id;
  int state = 0;
  std::int64_t n_children = 0;
  std::int64_t n_ingested = 0;
  std::string position;
  double begin = 0;
  double end = 0;
  double given = 0;

  bool is_as(const Parent& other) const {
    return n_children == other.n_children && n_ingested == other.n_ingested;
  }
};

struct Child {
  FileId id;
  FileId parent;
  std::int64_t index = 0;
  int state = 0;
  std::string position;
  bool agrees = true;  // in root, job, shard, collection, depth
  double begin = 0;
  double end = 0;
  std::optional<Parent> of;
  bool deleting = false;
};

Child child_of(const Row& row) {
  Child child;
  child.id = row.get<FileId>(0);
  child.parent = row.get<FileId>(1);
  child.index = row.get<std::int64_t>(2);
  child.state = row.get<int>(3);
  child.position = row.get<std::string>(4);
  child.agrees = row.get<std::optional<bool>>(5).value_or(false);
  child.begin = row.get<double>(6);
  child.end = row.get<double>(7);
  child.deleting = row.get<std::optional<bool>>(16).value_or(false);
  if (row.is_null(8)) return child;
  child.of = Parent{row.get<FileId>(8),        row.get<int>(9),          row.get<std::int64_t>(10),
                    row.get<std::int64_t>(11), row.get<std::string>(12), row.get<double>(13),
                    row.get<double>(14),       row.get<double>(15)};
  return child;
}

void judge_child(const Child& child, Findings& findings) {
  const auto say = [&](std::string_view what) {
    findings.add(fmt::format("file {}: {}", child.id, what));
  };
  if (!child.of) return say(fmt::format("its parent {} is missing", child.parent));
  const Parent& parent = *child.of;
  if (!child.agrees) say("it disagrees with its parent about root, job, shard or depth");
  if (child.position != model::child_position(parent.position, child.index)) {
    say("its position is not the one of its index");
  }
  const bool inside =
      child.begin <= child.end &&
      (child.begin >= parent.begin || is_near(child.begin, parent.begin, parent.end)) &&
      (child.end <= parent.end || is_near(child.end, parent.end, parent.end));
  if (!inside) say("its slice of the progress is not within its parent's");
  const int ingested = stored(FileState::Ingested);
  if (parent.state == ingested && child.state != ingested) {
    say("it is not ingested, but its parent is");
  }
}

// Children of one parent, counted as they come.
class Families {
 public:
  explicit Families(Findings& findings) : findings_(findings) {}

  void add(const Child& child) {
    if (family_ && family_->first.id != child.parent) close();
    if (child.deleting) return;
    judge_child(child, findings_);
    if (!child.of) return;
    if (!family_) family_.emplace(*child.of, Count{});
    // A family over several pages may grow between them.
    if (!family_->first.is_as(*child.of)) family_->second.changed = true;
    Count& count = family_->second;
    ++count.children;
    count.given += child.end - child.begin;
    if (child.state == stored(FileState::Ingested)) ++count.ingested;
  }

  void close() {
    if (!family_) return;
    const auto [parent, count] = *std::exchange(family_, std::nullopt);
    if (count.changed) {
      log_info("tree.not_checked", {{"file", parent.id.value}, {"because", "it keeps changing"}});
      return;
    }
    const auto expect = [&](std::string_view what, std::int64_t noted, std::int64_t there) {
      if (noted == there) return;
      findings_.add(
          fmt::format("file {}: {} {} are noted, {} are there", parent.id, noted, what, there));
    };
    expect("children", parent.n_children, count.children);
    expect("ingested children", parent.n_ingested, count.ingested);
    if (!is_near(parent.given, count.given, parent.end)) {
      findings_.add(fmt::format("file {}: it gave {} of its progress away, its children have {}",
                                parent.id, parent.given, count.given));
    }
  }

 private:
  struct Count {
    std::int64_t children = 0;
    std::int64_t ingested = 0;
    double given = 0;
    bool changed = false;
  };

  Findings& findings_;
  std::optional<std::pair<Parent, Count>> family_;
};

Result<> check_families(Readers& readers, Findings& findings) {
  Families families(findings);
  FileId parent;
  std::int64_t index = -1;
  while (!findings.full()) {
    const auto load = [parent, index](Tx& tx) {
      return tx.query(kChildren, parent, index, kCheckedAtOnceMax);
    };
    TRY_ASSIGN(const Rows rows, readers.run(load));
    for (const Row row : rows) {
      const Child child = child_of(row);
      parent = child.parent;
      index = child.index;
      families.add(child);
    }
    if (static_cast<std::int64_t>(rows.size()) < kCheckedAtOnceMax) break;
  }
  families.close();
  return {};
}

// -- the rest --

// What lies beside files: `beside` tells of each its file, and whether that may have it.
Result<> check_beside(Readers& readers, const Sql& beside, std::string_view complaint,
                      Findings& findings) {
  FileId after;
  while (!findings.full()) {
    const auto load = [&beside, after](Tx& tx) {
      return tx.query(beside, after, kCheckedAtOnceMax);
    };
    TRY_ASSIGN(const Rows rows, readers.run(load));
    for (const Row row : rows) {
      after = row.get<FileId>(0);
      if (!row.get<bool>(1)) findings.add(fmt::format(fmt::runtime(complaint), after));
    }
    if (static_cast<std::int64_t>(rows.size()) < kCheckedAtOnceMax) return {};
  }
  return {};
}

Result<> check_jobs(Readers& readers, Findings& findings) {
  JobId after;
  while (!findings.full()) {
    TRY_ASSIGN(const Rows rows,
               readers.run([after](Tx& tx) { return tx.query(kJobs, after, kJobsPerPage); }));
    for (const Row row : rows) {
      after = row.get<JobId>(0);
      TRY(JobCheck(readers, after).run(findings));
    }
    if (static_cast<std::int64_t>(rows.size()) < kJobsPerPage) return {};
  }
  return {};
}

// From job to job by the index, whether the job is there or not.
Result<> check_homeless(Readers& readers, Findings& findings) {
  JobId after;
  while (!findings.full()) {
    bool is_job = true;
    const auto step = [after, &is_job](Tx& tx) -> Result<std::optional<JobId>> {
      TRY_ASSIGN(const auto next, tx.value<std::optional<JobId>>(kNextJobOfFiles, after));
      if (!next) return next;
      TRY_ASSIGN(const auto found, tx.find_value<std::int64_t>(kIsJob, *next));
      is_job = found.has_value();
      return next;
    };
    TRY_ASSIGN(const std::optional<JobId> next, readers.run(step));
    if (!next) return {};
    after = *next;
    if (!is_job) findings.add(fmt::format("there are files of job {}, which is not there", after));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> check_tree(Readers& readers) {
  Findings findings;
  TRY(check_jobs(readers, findings));
  TRY(check_homeless(readers, findings));
  TRY(check_families(readers, findings));
  TRY(check_beside(readers, kTexts, "a text is of file {}, which is not there", findings));
  TRY(check_beside(readers, kRenderings, "a rendering is of file {}, which is no document",
                   findings));
  return findings.take();
}

}  // namespace quern::tree

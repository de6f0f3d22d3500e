#include "fileset/processor.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <set>

#include "base/crash.h"
#include "base/log.h"
#include "fileset/bundle.h"
#include "fileset/part_note.h"
#include "fileset/status.h"
#include "io/file.h"
#include "queue/await.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using queue::Outcome;
using store::Tx;

constexpr std::int64_t kBackUs = 2'000'000;
constexpr std::int64_t kBackoffMs = 2000;
constexpr std::int64_t kBackoffMsMax = 60'000;

struct Order {
  tree::JobId job;
  std::int64_t number = 0;
};

std::string item_data(tree::JobId job, std::int64_t number) {
  const json::object data{{"job", job.value}, {"number", number}};
  return json::serialize(data);
}

std::optional<Order> parse_item(const std::string& data) {
  boost::system::error_code failed;
  const json::value value = json::parse(data, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const json::value* job = object->if_contains("job");
  const json::value* number = object->if_contains("number");
  if (job == nullptr || number == nullptr || !job->is_int64() || !number->is_int64()) return {};
  return Order{{job->get_int64()}, number->get_int64()};
}

queue::NewItem item_of(std::string name, std::int64_t gate, tree::JobId job, std::int64_t number) {
  queue::NewItem item;
  item.name = std::move(name);
  item.gate = gate;
  item.data = item_data(job, number);
  return item;
}

Result<> put_items(Tx& tx, queue::PartitionId partition, std::vector<queue::NewItem> items) {
  const queue::PutItems put{partition, std::move(items)};
  const auto results = apply(tx, std::span<const queue::PutItems>(&put, 1));
  if (!results[0].ok()) return results[0].error();
  return {};
}

queue::PartitionConfig config_of(std::int64_t at_once) {
  queue::PartitionConfig config;
  config.kind = kPartitionKind;
  config.auto_close = true;
  config.max_retries = -1;  // how often is decided by step
  config.concurrency = at_once;
  config.backoff_ms = kBackoffMs;
  config.backoff_ms_max = kBackoffMsMax;
  return config;
}

FileRow bundle_row(const PlatformItem& item) {
  FileRow row;
  row.number = kBundleNumber;
  const std::string name = item.archiveorg_item_name;
  row.file.path = (name.empty() ? item.platform_name : name) + ".zip";
  row.file.platform_url = item.web_bundle_url;
  return row;
}

// The manifest's files; those that are kept already are not fetched again.
std::vector<FileRow> rows_of(const Resolution& resolution, const std::vector<FileRow>& before,
                             bool is_retry) {
  std::vector<FileRow> rows;
  const PlatformItem& item = *resolution.item;
  if (is_bundled(resolution.strategy)) rows.push_back(bundle_row(item));
  for (std::size_t i = 0; i < item.manifest.size(); ++i) {
    FileRow row;
    row.number = static_cast<std::int64_t>(i);
    row.file = item.manifest[i];
    if (i < resolution.exists.size() && resolution.exists[i]) {
      row.file.status = "exists";
      row.ended = true;
    }
    for (const FileRow& known : before) {
      if (row.ended || is_bundled(resolution.strategy) || !is_kept(known.file.status)) continue;
      if (!is_same_file(known.file, row.file)) continue;
      if (!is_retry && !is_vouched_for(row.file)) continue;
      row = known;
      row.number = static_cast<std::int64_t>(i);
      row.bytes = 0;
      row.tries = 0;
      if (!is_retry) row.file.status = "exists";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// An item has one file of a name: the second would take the place of the first.
void refuse_twins(std::vector<FileRow>& rows) {
  std::map<std::string, const FileRow*> by_path;
  for (FileRow& row : rows) {
    const auto [first, is_new] = by_path.try_emplace(row.file.path, &row);
    if (is_new || row.ended) continue;
    const ManifestFile& other = first->second->file;
    const bool same = !row.file.md5.empty() && row.file.md5 == other.md5;
    if (same) continue;
    row.file.status = "unsafe-path";
    row.message = "another file of the dataset has the same path";
    row.ended = true;
  }
}

std::string part_name(std::int64_t number) {
  return fmt::format("{}.part", number + 1);
}

// What is left of an earlier request's try. The names there go before anybody writes to the bytes,
// also where a death came between: bytes that two requests name would be changed for both.
Result<> take_over(const std::filesystem::path& from, const std::filesystem::path& to) {
  TRY_ASSIGN(const bool left, io::path_exists(from));
  TRY_ASSIGN(const bool noted, io::path_exists(note_path(from)));
  if (!left && !noted) return {};
  TRY_ASSIGN(const bool begun, io::path_exists(to));
  if (left && noted && !begun) {
    TRY(io::remove_durably(note_path(to), io::IfMissing::Fine));
    TRY_ASSIGN(bool linked, io::try_link_durably(note_path(from), note_path(to)));
    crash_point("fileset.part.taking_over");
    if (linked) {
      TRY_ASSIGN(linked, io::try_link_durably(from, to));
    }
    // Nothing is lost where there are no links: it is fetched again.
    if (!linked) log_info("fileset.part_left", {{"part", from.string()}});
  }
  crash_point("fileset.part.taken_over");
  return remove_part(from);
}

}  // namespace

struct FilesetProcessor::Step {
  RequestRow row;
  std::optional<FileRow> file;
  std::vector<FileRow> files;   // of all, at the end
  std::vector<FileRow> before;  // of an earlier request, at the beginning
  queue::PartitionId partition;
  std::int64_t token = 0;
  std::int64_t gate = 0;
  std::int64_t tries = 1;
  std::int64_t kept_bytes = 0;  // by other files, where this one may have any size
  std::shared_ptr<std::vector<OwnRecord>> records = std::make_shared<std::vector<OwnRecord>>();
  web::StopMark stop = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Outside> outside;
  Tools tools;

  bool is_stopped() const { return stop->load(); }
  store::Fence fence() const {
    store::Fence fence{partition.value, token};
    if (row.options.ingest && !row.shards.empty()) fence.also = row.shards.front().value;
    return fence;
  }
};

// A step that can be stopped, as long as this lives.
class FilesetProcessor::UnderWay {
 public:
  UnderWay(FilesetProcessor& processor, tree::JobId job, web::StopMark stop)
      : processor_(processor), at_(processor.under_way_.emplace(job, std::move(stop))) {}
  ~UnderWay() {
    processor_.under_way_.erase(at_);
    if (processor_.under_way_.empty()) processor_.wake_.notify_all();
    processor_.ended_.notify_all();
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  FilesetProcessor& processor_;
  std::multimap<tree::JobId, web::StopMark>::iterator at_;
};

Result<> open_partition(Tx& tx, queue::PartitionId id, tree::JobId job, std::int64_t at_once) {
  const queue::Partition* partition = queue::LockedPartitions::of(tx).find(id);
  if (partition != nullptr && partition->declared) return {};
  TRY(queue::put_partition(tx, id, {config_of(at_once), {}, {}}));
  return put_items(tx, id, {item_of("resolve", kGateResolve, job, 0)});
}

Result<std::vector<std::string>> list_stale_parts(const std::filesystem::path& folder,
                                                  std::span<const FileRow> files) {
  std::set<std::string> left;
  for (const FileRow& file : files) {
    if (!file.ended || !leaves_part(file.file.status)) continue;
    left.insert(part_name(file.number));
    left.insert(note_path(part_name(file.number)).string());
  }
  std::error_code failed;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::string name = entry.path().filename().string();
    if (!left.contains(name)) names.push_back(std::move(name));
  }
  return names;
}

Result<> remove_parts(const std::filesystem::path& folder, std::span<const FileRow> files) {
  TRY_ASSIGN(const std::vector<std::string> names, list_stale_parts(folder, files));
  TRY(io::remove_names_durably(folder, names));
  TRY(io::remove_folder_durably(folder));
  return {};
}

void FilesetProcessor::process(queue::Work work, queue::Answered answered) {
  parts_.loop.spawn("fileset.step", run(shared_from_this(), std::move(work), std::move(answered)));
}

void FilesetProcessor::cancel() {
  stopping_ = true;
  room_.notify_all();
  wake_.notify_all();
}

net::Task<> FilesetProcessor::watch(std::shared_ptr<FilesetProcessor> self) {
  while (!self->under_way_.empty() && !self->stopping_) {
    const net::WaitEnd waited = co_await self->wake_.wait(net::in_ms(kCancelLookMs));
    if (waited != net::WaitEnd::TimedOut) continue;
    std::set<tree::JobId> jobs;
    for (const auto& [job, stop] : self->under_way_) jobs.insert(job);
    auto look = [jobs](Tx& tx) -> Result<std::vector<tree::JobId>> {
      std::vector<tree::JobId> canceled;
      for (const tree::JobId job : jobs) {
        TRY_ASSIGN(const bool wanted, is_wanted(tx, job));
        if (!wanted) canceled.push_back(job);
      }
      return canceled;
    };
    const Result<std::vector<tree::JobId>> canceled =
        co_await queue::read(self->parts_.loop, self->parts_.readers, std::move(look));
    if (!canceled.ok()) continue;  // the next look may see more
    for (const tree::JobId job : *canceled) self->set_marks(job);
  }
  self->watching_ = false;
}

void FilesetProcessor::set_marks(tree::JobId job) {
  const auto [first, last] = under_way_.equal_range(job);
  for (auto at = first; at != last; ++at) at->second->store(true);
}

net::Task<> FilesetProcessor::stop_job(tree::JobId job) {
  const auto self = shared_from_this();
  const net::Instant deadline = net::in_ms(kStopMsMax);
  set_marks(job);
  while (under_way_.contains(job) && net::in_ms(0) < deadline) co_await ended_.wait(deadline);
}

net::Task<> FilesetProcessor::run(std::shared_ptr<FilesetProcessor> self, queue::Work work,
                                  queue::Answered answered) {
  while (self->running_ >= self->parts_.at_once && !self->stopping_) co_await self->room_.wait();
  if (self->stopping_) {
    answered({.kind = Outcome::Kind::Canceled});
    co_return;
  }
  ++self->running_;
  Result<Outcome> outcome = co_await self->work_on(std::move(work));
  --self->running_;
  self->room_.notify_one();
  if (outcome.ok()) {
    answered(*std::move(outcome));
    co_return;
  }
  const Errc kind = outcome.error().kind();
  if (self->stopping_ || kind == Errc::Stale || kind == Errc::Canceled) {
    answered({.kind = Outcome::Kind::Canceled});
    co_return;
  }
  log_info("fileset.later", {{"error", outcome.error().message()}});
  // Nothing is wrong with the dataset: it goes back, and is tried again in a while.
  answered({.kind = Outcome::Kind::Refused, .delay_us = kBackUs});
}

net::Task<Result<Outcome>> FilesetProcessor::work_on(queue::Work work) {
  const std::optional<Order> order = parse_item(work.item.data);
  if (!order) co_return Outcome::complete();
  auto load = [order = *order, gate = work.item.gate](Tx& tx) -> Result<Step> {
    Step step;
    TRY_ASSIGN(step.row, load_request(tx, order.job));
    if (gate == kGateFiles) {
      TRY_ASSIGN(step.file, load_file(tx, order.job, order.number));
      // What nobody has told the size of counts when it is here.
      if (!step.file->file.size) {
        TRY_ASSIGN(step.kept_bytes, sum_kept_bytes(tx, order.job));
      }
    }
    // One of many files needs no other one.
    if (gate == kGateFinish || (gate == kGateFiles && order.number == kBundleNumber)) {
      TRY_ASSIGN(step.files, list_files(tx, order.job));
    }
    if (gate != kGateResolve) return step;
    std::optional<tree::JobId> before = step.row.retry_of;
    if (!before && !step.row.options.force_recrawl && !step.row.options.strict) {
      const NewRequest same{order.job, step.row.collection, step.row.request, {}, {}};
      TRY_ASSIGN(before, find_earlier(tx, same));
    }
    if (before) {
      TRY_ASSIGN(step.before, list_files(tx, *before));
    }
    return step;
  };
  Result<Step> loaded = co_await queue::read(parts_.loop, parts_.readers, std::move(load));
  // It was deleted.
  if (!loaded.ok() && loaded.error().kind() == Errc::Missing) co_return Outcome::complete();
  CO_TRY_ASSIGN(Step step, std::move(loaded));
  if (step.row.state == RequestState::Ended) co_return Outcome::complete();
  step.partition = work.partition;
  step.token = work.token;
  step.gate = work.item.gate;
  step.tries = work.item.retry_count + 1;
  step.outside = std::make_shared<MarkedOutside>(parts_.outside, step.stop);
  const ToolOrder wanted{archive_of(step.row), step.row.options.strict, step.records,
                         *step.outside};
  step.tools = parts_.tools(wanted);
  const UnderWay under_way(*this, step.row.job, step.stop);
  if (!std::exchange(watching_, true)) {
    parts_.loop.spawn("fileset.watch", watch(shared_from_this()));
  }
  if (step.gate == kGateFinish) co_return co_await finish(step);
  if (step.gate == kGateFiles) co_return co_await keep_file(step);
  co_return co_await resolve_request(step);
}

bool FilesetProcessor::may_try_again(const Step& step) const {
  return step.tries < parts_.tries_max && !step.row.canceled && !step.is_stopped();
}

// -- gate 0 --

net::Task<Result<Outcome>> FilesetProcessor::resolve_request(Step& step) {
  // Its files are rows already: only the item was not yet done.
  if (step.row.state != RequestState::Resolving) co_return Outcome::complete();
  Conclusion end;
  if (step.row.canceled) {
    end.status = "canceled";
    end.landed.hops.push_back(step.row.request.clean_url);
    co_return co_await conclude_with(step, std::move(end));
  }
  Resolution found = co_await resolve(step.row, step.tools, *step.outside, parts_.limits);
  if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
  if (step.is_stopped() && !found.status.empty()) {
    found.status = "canceled";
    found.message.clear();
  }
  if (found.status.empty()) co_return co_await begin_keeping(step, std::move(found));
  if (found.passing && may_try_again(step)) {
    co_return Outcome::failed(fmt::format("{}: {}", found.status, found.message));
  }
  end.status = std::move(found.status);
  end.message = std::move(found.message);
  end.landed = std::move(found.landed);
  end.item = std::move(found.item);
  end.strategy = std::move(found.strategy);
  end.records = std::move(*step.records);
  co_return co_await conclude_with(step, std::move(end));
}

net::Task<Result<Outcome>> FilesetProcessor::begin_keeping(Step& step, Resolution resolution) {
  auto found = std::make_shared<const Resolution>(std::move(resolution));
  step.row.strategy = found->strategy;
  auto row = std::make_shared<const RequestRow>(step.row);
  std::vector<FileRow> rows = rows_of(*found, step.before, step.row.retry_of.has_value());
  const bool one_by_one = is_item(found->strategy) && !is_bundled(found->strategy);
  if (one_by_one && !step.row.options.strict) refuse_twins(rows);
  auto files = std::make_shared<const std::vector<FileRow>>(std::move(rows));
  auto self = shared_from_this();
  auto write =
      store::Fenced{step.fence(),
                    [self, found, row, files, records = step.records,
                     partition = step.partition](Tx& tx) -> Result<bool> {
                      const Resolved resolved{found->landed, *found->item, found->strategy};
                      TRY_ASSIGN(const bool first, fileset::begin_keeping(tx, row->job, resolved));
                      if (!first) return false;
                      TRY(add_files(tx, row->job, *files));
                      TRY(note_records(tx, row->collection, *records));
                      std::vector<queue::NewItem> items;
                      const bool bundled = is_bundled(found->strategy);
                      for (const FileRow& file : *files) {
                        if (file.ended) TRY(self->add_root(tx, *row, file));
                        if (file.ended || (bundled && file.number != kBundleNumber)) continue;
                        const std::string name = fmt::format("file-{:08}", file.number + 1);
                        items.push_back(item_of(name, kGateFiles, row->job, file.number));
                      }
                      items.push_back(item_of("finish", kGateFinish, row->job, 0));
                      TRY(put_items(tx, partition, std::move(items)));
                      crash_point("fileset.resolved");
                      return true;
                    }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                               std::move(write)));
  parts_.changed(step.row.job);
  if (step.row.options.ingest) parts_.poke_job(step.row.job);
  co_return Outcome::complete();
}

// -- gate 1 --

std::filesystem::path FilesetProcessor::folder_of(tree::JobId job) const {
  return parts_.folder / fmt::format("{}", job);
}

std::filesystem::path FilesetProcessor::part_of(tree::JobId job, std::int64_t number) const {
  return folder_of(job) / part_name(number);
}

net::Task<Result<Outcome>> FilesetProcessor::keep_file(Step& step) {
  if (step.file->ended) co_return Outcome::complete();
  KeepEnd kept;
  const std::filesystem::path part = part_of(step.row.job, step.file->number);
  std::filesystem::path before;
  if (step.row.retry_of) before = part_of(*step.row.retry_of, step.file->number);
  auto make = [part, before]() -> Result<> {
    TRY(io::make_folders_durably(part.parent_path()));
    return before.empty() ? Result<>() : take_over(before, part);
  };
  CO_TRY(co_await queue::offload(parts_.loop, parts_.pool, std::move(make)));
  if (step.row.canceled) {
    kept.row = *step.file;
    kept.row.file.status = "canceled";
    co_return co_await store_file(step, std::move(kept));
  }
  const std::int64_t room = std::max<std::int64_t>(step.row.options.bytes_max - step.kept_bytes, 1);
  const KeepParts with{parts_.loop, parts_.pool, *step.outside,
                       std::min(parts_.file_bytes_max, room)};
  FileRow file = *step.file;
  kept = co_await keep(step.row, std::move(file), step.tools, with, part);
  if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
  if (step.is_stopped() && !is_kept(kept.row.file.status)) {
    kept.row.file.status = "canceled";
    kept.row.message.clear();
  }
  if (kept.passing && may_try_again(step)) {
    const std::string why = fmt::format("{}: {}", kept.row.file.status, kept.row.message);
    Outcome outcome = Outcome::failed(why);
    outcome.effect = [job = step.row.job, row = kept.row](Tx& tx) {
      return note_try(tx, job, row);
    };
    co_return outcome;
  }
  co_return co_await store_file(step, std::move(kept));
}

Result<> FilesetProcessor::add_root(Tx& tx, const RequestRow& row, const FileRow& file) const {
  if (!row.options.ingest || !is_kept(file.file.status) || row.shards.empty()) return {};
  TRY_ASSIGN(const FileRow stored, load_file(tx, row.job, file.number));
  if (!stored.blob) return {};
  tree::AddRoot root;
  root.job = row.job;
  root.collection = row.collection;
  root.shard = row.shards.front();
  root.index = file.number + 1;
  root.file.filename = file.file.path;
  root.file.content_type = model::kUnknownType;
  root.file.inherited = stored.blob;
  root.file.bytes = file.file.size.value_or(0);
  const json::object own{{"url", file.file.platform_url},
                         {"dataset", row.request.base_url},
                         {"fileset_status", file.file.status},
                         {"in_ia", is_item(row.strategy)}};
  root.file.metadata = json::serialize(own);
  const json::object options{
      {"ocr", false}, {"split_by_page", false}, {"language", "en"}, {"metadata", own}};
  root.file.options = json::serialize(options);
  TypeDecision decision = parts_.decide(root.file.content_type);
  root.file.step = std::move(decision.step);
  root.file.failure = std::move(decision.failure);
  const auto added = apply(tx, std::span<const tree::AddRoot>(&root, 1));
  // A job that was canceled takes no file.
  if (!added[0].ok() && added[0].error().kind() != Errc::Conflict) return added[0].error();
  return {};
}

net::Task<Result<Outcome>> FilesetProcessor::store_file(Step& step, KeepEnd kept) {
  auto end = std::make_shared<FileEnd>();
  end->row = std::move(kept.row);
  end->records = *step.records;
  const std::filesystem::path part = part_of(step.row.job, end->row.number);
  auto members = std::make_shared<std::vector<FileRow>>();
  if (end->row.number == kBundleNumber) {
    const BundleLimits limits{step.row.options.files_max, step.row.options.bytes_max};
    auto look = [end, part, files = step.files, has_bytes = kept.has_bytes, members, limits] {
      const std::filesystem::path zip = has_bytes ? part : std::filesystem::path();
      *members = bundle_members(end->row, files, zip, limits);
      return Result<>();
    };
    CO_TRY(co_await queue::offload(parts_.loop, parts_.pool, std::move(look)));
  }
  if (kept.has_bytes && is_kept(end->row.file.status)) {
    auto adopt = [blobs = &parts_.blobs, part] { return blobs->adopt_file(part); };
    CO_TRY_ASSIGN(end->put, co_await queue::offload(parts_.loop, parts_.pool, std::move(adopt)));
  }
  auto row = std::make_shared<const RequestRow>(step.row);
  auto self = shared_from_this();
  using Places = std::vector<std::string>;
  auto write = store::Fenced{
      step.fence(), [self, row, end, members](Tx& tx) -> Result<Places> {
        Places orphans;
        TRY_ASSIGN(const bool first, end_file(tx, row->job, row->collection, *end, orphans));
        if (!first) return orphans;
        TRY(self->add_root(tx, *row, end->row));
        TRY(add_files(tx, row->job, *members));
        for (const FileRow& member : *members) {
          TRY(end_file(tx, row->job, row->collection, {member, {}, {}}, orphans));
        }
        crash_point("fileset.file.kept");
        return orphans;
      }};
  CO_TRY_ASSIGN(
      const Places orphans,
      co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                            std::move(write)));
  for (const std::string& place : orphans) parts_.blobs.discard(place);
  // Nobody needs the part any more. What a death leaves here goes with the request's folder.
  if (!leaves_part(end->row.file.status)) {
    auto clear = [part] { return remove_part(part); };
    (void)co_await queue::offload(parts_.loop, parts_.pool, std::move(clear));
  }
  parts_.changed(step.row.job);
  if (step.row.options.ingest) parts_.poke_job(step.row.job);
  co_return Outcome::complete();
}

// -- gate 2 --

net::Task<Result<Outcome>> FilesetProcessor::finish(Step& step) {
  Conclusion end;
  end.landed = step.row.landed;
  end.item = step.row.item;
  end.strategy = step.row.strategy;
  end.files = step.files;
  std::string failed;
  const std::string so_far = status_of(step.row, step.files, "");
  const bool uploaded = is_item(step.row.strategy) && so_far.starts_with("success");
  if (uploaded && so_far != "success-existing" && step.tools.items) {
    PlatformItem item = *step.row.item;
    item.manifest.clear();
    for (const FileRow& file : step.files) {
      const bool there = is_bundled(step.row.strategy) == (file.number == kBundleNumber);
      if (there) item.manifest.push_back(file.file);
    }
    const Kept verified = co_await step.tools.items->verify(item);
    if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
    step.row.canceled = step.row.canceled || step.is_stopped();
    if (verified.passing && may_try_again(step)) {
      co_return Outcome::failed(fmt::format("{}: {}", verified.status, verified.message));
    }
    if (!is_kept(verified.status)) {
      failed = verified.status;
      end.message = verified.message;
    }
  }
  end.status = status_of(step.row, step.files, failed);
  co_return co_await conclude_with(step, std::move(end));
}

net::Task<Result<Outcome>> FilesetProcessor::conclude_with(Step& step, Conclusion conclusion) {
  auto end = std::make_shared<const Conclusion>(std::move(conclusion));
  auto row = std::make_shared<const RequestRow>(step.row);
  store::Fence fence = step.fence();
  fence.also = 0;
  auto write = store::Fenced{fence, [row, end, prefix = parts_.topic_prefix](Tx& tx) {
                               return conclude(tx, *row, *end, prefix);
                             }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                               std::move(write)));
  auto clear = [folder = folder_of(step.row.job), end] { return remove_parts(folder, end->files); };
  (void)co_await queue::offload(parts_.loop, parts_.pool, std::move(clear));
  parts_.poke_job(step.row.job);
  parts_.changed(step.row.job);
  co_return Outcome::complete();
}

}  // namespace quern::fileset

#include "api/removal.h"

#include <fmt/format.h>

#include "api/await.h"
#include "base/crash.h"
#include "base/log.h"
#include "crawl/removal.h"
#include "crawl/service.h"
#include "fileset/file_row.h"
#include "fileset/request_row.h"
#include "fileset/service.h"
#include "queue/locked_partitions.h"
#include "research/curation.h"
#include "search/service.h"
#include "step/import.h"
#include "tree/remove.h"

namespace quern::api {
namespace {

using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

constexpr std::int64_t kPatienceMs = 5000;
constexpr std::int64_t kRetryMs = 500;
constexpr int kSweepStepsMax = 10'000;
constexpr std::size_t kResumedAtOnce = 100;

// Its items and events go, then itself; from the first step on no owner's token is good.
net::Task<Result<>> remove_partition(PartsPtr parts, queue::PartitionId id) {
  while (true) {
    auto some = queue::change_partition(id, [id](Tx& tx) { return queue::delete_some(tx, id); });
    store::Lane& lane = parts->writer.lane(queue::lane_of(id));
    const Result<bool> gone = co_await write(parts->loop, lane, some);
    if (gone.ok() && *gone) co_return Result<>();
    if (gone.ok()) continue;
    const Errc kind = gone.error().kind();
    if (kind == Errc::Missing || kind == Errc::Stale) co_return Result<>();  // somebody was faster
    co_return gone.error();
  }
}

// Also those of shards whose making was interrupted.
net::Task<Result<>> remove_partitions(PartsPtr parts, tree::JobId job) {
  auto find = [job](Tx& tx) -> Result<std::vector<queue::PartitionId>> {
    std::vector<queue::PartitionId> found;
    const Result<tree::Job> row = tree::load_job(tx, job);
    if (!row.ok() && row.error().kind() == Errc::Missing) return found;
    if (!row.ok()) return row.error();
    for (std::int64_t number = 0; number < row->shards; ++number) {
      TRY_ASSIGN(const auto id, queue::find_partition(tx, step::shard_name(job, number)));
      if (id) found.push_back(*id);
    }
    for (const std::string& name :
         {fileset::partition_name(job), research::curation_partition(job)}) {
      TRY_ASSIGN(const auto id, queue::find_partition(tx, name));
      if (id) found.push_back(*id);
    }
    return found;
  };
  CO_TRY_ASSIGN(const std::vector<queue::PartitionId> partitions,
                co_await read(parts->loop, parts->readers, std::move(find)));
  for (const queue::PartitionId id : partitions) CO_TRY(co_await remove_partition(parts, id));
  co_return Result<>();
}

net::Task<Result<>> remove_once(PartsPtr parts, tree::JobId job) {
  CO_TRY(co_await remove_partitions(parts, job));
  crash_point("api.removal.partitions_gone");
  const crawl::RemovalParts crawled{parts->loop, parts->writer, parts->readers};
  CO_TRY(co_await crawl::remove_crawl(crawled, job));
  auto list = [job](Tx& tx) { return fileset::list_archives(tx, job); };
  CO_TRY_ASSIGN(const std::vector<std::string> archives,
                co_await read(parts->loop, parts->readers, std::move(list)));
  for (const std::string& archive : archives) {
    CO_TRY(co_await crawl::remove_archive(crawled, archive));
  }
  bool gone = false;
  while (!gone) {
    auto some = [job](Tx& tx) { return fileset::remove_fileset(tx, job); };
    CO_TRY_ASSIGN(gone, co_await write(parts->loop, parts->writer.lane({}), std::move(some)));
  }
  if (parts->filesets != nullptr) {
    CO_TRY(co_await parts->filesets->forget(job));
  }
  gone = false;
  while (!gone) {
    auto some = store::Alone{[job](Tx& tx) { return research::remove_curated_of_job(tx, job); }};
    CO_TRY_ASSIGN(gone, co_await write(parts->loop, parts->writer.lane({}), some));
  }
  gone = false;
  while (!gone) {
    auto some = [job](Tx& tx) { return research::remove_curation(tx, job); };
    CO_TRY_ASSIGN(gone, co_await write(parts->loop, parts->writer.lane({}), std::move(some)));
  }
  gone = false;
  while (!gone) {
    auto some = [job](Tx& tx) { return tree::remove_some(tx, job); };
    CO_TRY_ASSIGN(gone, co_await write(parts->loop, parts->writer.lane({}), std::move(some)));
  }
  CO_TRY(co_await crawl::remove_gone_collections(crawled));
  auto feeds = [](Tx& tx) { return research::remove_gone_feeds(tx); };
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), std::move(feeds)));
  co_return Result<>();
}

net::Task<> sweep(PartsPtr parts) {
  for (int step = 0; step < kSweepStepsMax; ++step) {
    auto sweep_some = [parts] { return blob::sweep(parts->blobs, tree::kDeleteUnreferenced); };
    const Result<blob::Swept> swept =
        co_await offload(parts->loop, parts->pool, std::move(sweep_some));
    if (!swept.ok()) {
      // What is in doubt stays so: the next sweep gets it.
      log_info("blob.sweep_later", {{"because", swept.error().message()}});
      co_return;
    }
    if (!swept->more) co_return;
  }
}

// WARC files that no capture names any more.
net::Task<> sweep_archive(PartsPtr parts) {
  if (parts->crawl == nullptr) co_return;
  const Result<> swept = co_await parts->crawl->sweep_archive();
  if (!swept.ok()) log_info("crawl.sweep_later", {{"because", swept.error().message()}});
}

// Jobs that are going, and who waits for them.
struct Removal {
  explicit Removal(net::Loop& loop) : changed(loop) {}
  std::vector<tree::JobId> jobs;
  bool gone = false;
  net::Event changed;
};

net::Task<> remove_all(PartsPtr parts, std::shared_ptr<Removal> removal) {
  for (const tree::JobId job : removal->jobs) {
    while (true) {
      const Result<> removed = co_await remove_once(parts, job);
      if (removed.ok()) break;
      // A stopping process leaves it to the next one.
      if (!is_retryable(removed.error().kind())) {
        log_warn("api.removal_left", {{"job", job.value}, {"error", removed.error().message()}});
        removal->changed.notify_all();
        co_return;
      }
      co_await parts->loop.sleep_until(net::in_ms(kRetryMs));
    }
  }
  co_await sweep(parts);
  co_await sweep_archive(parts);
  removal->gone = true;
  removal->changed.notify_all();
}

}  // namespace

net::Task<bool> wait_for_removals(PartsPtr parts, std::vector<tree::JobId> jobs) {
  auto removal = std::make_shared<Removal>(parts->loop);
  removal->jobs = std::move(jobs);
  // They are marked: their owners, who see that, let go before their partitions do.
  for (const tree::JobId job : removal->jobs) parts->pipeline.poke(job);
  parts->search->jobs_deleted(removal->jobs);
  if (parts->crawl != nullptr) parts->crawl->jobs_changed(removal->jobs);
  parts->loop.spawn("api.removal", remove_all(parts, removal));
  const net::Instant deadline = net::in_ms(kPatienceMs);
  while (!removal->gone) {
    const net::WaitEnd end = co_await removal->changed.wait(deadline);
    if (end != net::WaitEnd::Notified) break;
  }
  co_return removal->gone;
}

net::Task<> resume_removals(PartsPtr parts) {
  auto find = [](Tx& tx) { return tree::list_deleting(tx, kResumedAtOnce); };
  const Result<std::vector<tree::JobId>> jobs =
      co_await read(parts->loop, parts->readers, std::move(find));
  if (!jobs.ok() || jobs->empty()) {
    // A process that was killed may have left bytes that no row names.
    co_await sweep(parts);
    co_return;
  }
  log_info("api.removal_resumed", {{"jobs", jobs->size()}});
  auto removal = std::make_shared<Removal>(parts->loop);
  removal->jobs = *jobs;
  co_await remove_all(parts, removal);
}

}  // namespace quern::api

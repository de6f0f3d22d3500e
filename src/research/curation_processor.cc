#include "research/curation_processor.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <set>

#include "base/crash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "blob/digest.h"
#include "queue/await.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"
#include "queue/wake.h"
#include "research/curation_items.h"
#include "research/fenced_alone.h"
#include "research/pool.h"
#include "research/sound_type.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using queue::Outcome;
using store::Tx;

constexpr store::Sql kJobRuns{"SELECT 1 FROM job WHERE id = $1 AND state = 1 AND NOT deleting"};
constexpr std::int64_t kBackUs = 2'000'000;

// Somebody has asked for it again since: that job fetches it.
bool is_of_later_job(const Curated& row, const Curation& job) {
  return row.media == MediaState::Pending && row.job.value > job.job.value;
}

std::string say(const Media& media) {
  return fmt::format("{}: {}", media.problem, media.message);
}

}  // namespace

struct CurationProcessor::Step {
  Curation job;
  std::optional<SourceRow> source;
  std::optional<Curated> curated;
  bool has_media = false;  // it is here already
  queue::PartitionId partition;
  std::int64_t token = 0;
  std::int64_t gate = 0;
  std::int64_t tries = 1;

  store::Fence fence() const {
    store::Fence fence{partition.value, token};
    if (!job.shards.empty()) fence.also = job.shards.front().value;
    return fence;
  }
};

// Sound that is durable, and that nobody names yet.
struct CurationProcessor::Kept {
  std::string problem;  // it is none
  std::optional<blob::Put> put;
  std::string content_type;
  std::string url;  // that was asked for
};

void CurationProcessor::process(queue::Work work, queue::Answered answered) {
  parts_.loop.spawn("curation.step", run(shared_from_this(), std::move(work), std::move(answered)));
}

void CurationProcessor::cancel() {
  stopping_ = true;
  room_.notify_all();
}

net::Task<> CurationProcessor::run(std::shared_ptr<CurationProcessor> self, queue::Work work,
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
  log_info("curation.later", {{"error", outcome.error().message()}});
  // Nothing is wrong with what is curated: it goes back, and is tried again in a while.
  answered({.kind = Outcome::Kind::Refused, .delay_us = kBackUs});
}

net::Task<Result<Outcome>> CurationProcessor::work_on(queue::Work work) {
  const std::optional<CurationItem> order = parse_curation_item(work.item.data);
  if (!order) co_return Outcome::complete();
  auto load = [order = *order, gate = work.item.gate](Tx& tx) -> Result<Step> {
    Step step;
    TRY_ASSIGN(step.job, load_curation(tx, order.job));
    if (gate == kGateSources) {
      TRY_ASSIGN(step.source, load_source(tx, order.job, order.number));
    } else if (gate == kGateMedia) {
      TRY_ASSIGN(step.curated, load_curated(tx, step.job.kind, order.number));
      TRY_ASSIGN(step.has_media, has_media_of(tx, *step.curated, step.curated->url));
    }
    return step;
  };
  Result<Step> loaded = co_await queue::read(parts_.loop, parts_.readers, std::move(load));
  // It was deleted.
  if (!loaded.ok() && loaded.error().kind() == Errc::Missing) co_return Outcome::complete();
  CO_TRY_ASSIGN(Step step, std::move(loaded));
  if (step.job.ended_us != 0) co_return Outcome::complete();
  step.partition = work.partition;
  step.token = work.token;
  step.gate = work.item.gate;
  step.tries = work.item.retry_count + 1;
  if (step.gate == kGateSources) co_return co_await take_source(step);
  if (step.gate == kGateMedia) co_return co_await take_media(step);
  co_return co_await finish(step);
}

bool CurationProcessor::may_try_again(const Step& step) const {
  return step.tries < parts_.tries_max && !step.job.canceled;
}

// A job that is canceled while its item goes to sleep has looked for sleepers before, or will:
// both hold the partition.
std::optional<Outcome> CurationProcessor::again(const Step& step, const Media& media) const {
  if (!media.passing || !may_try_again(step)) return std::nullopt;
  Outcome outcome = Outcome::failed(say(media));
  outcome.delay_us = media.wait_ms * 1000;
  outcome.effect = [job = step.job.job, partition = step.partition](Tx& tx) -> Result<> {
    const Result<Curation> now = load_curation(tx, job);
    if (!now.ok()) return now.error().kind() == Errc::Missing ? Result<>() : now.error();
    if (now->canceled) TRY(queue::wake_items(tx, partition));
    return {};
  };
  return outcome;
}

// -- gate 0 --

net::Task<Result<Outcome>> CurationProcessor::take_source(Step& step) {
  if (step.source->ended) co_return Outcome::complete();
  if (step.job.canceled) {
    std::string problem = "canceled: its job was canceled";
    co_return co_await fail_source(step, std::move(problem));
  }
  const bool feed = step.source->source.what == SourceKind::Feed;
  MediaOrder order;
  order.url = step.source->source.url;
  order.bytes_max = feed ? kFeedBytesMax : parts_.media_bytes_max;
  order.total_ms = feed ? kFeedTotalMs : kMediaTotalMs;
  Media media = co_await parts_.fetcher.fetch(std::move(order));
  if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
  if (!media.problem.empty()) {
    if (std::optional<Outcome> later = again(step, media)) co_return *std::move(later);
    std::string problem = say(media);
    co_return co_await fail_source(step, std::move(problem));
  }
  auto look = [body = media.body]() -> Result<bool> {
    std::string head(kFeedSniffBytes, '\0');
    TRY_ASSIGN(const std::size_t got, body.read_at(0, head));
    head.resize(got);
    return is_feed(head);
  };
  CO_TRY_ASSIGN(const bool is_one,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(look)));
  if (is_one) co_return co_await take_page(step, std::move(media));
  if (!feed) co_return co_await take_address(step, std::move(media));
  std::string problem = fmt::format(
      "not-a-feed: what is at {} is neither RSS nor Atom; name its feed, or the sound itself",
      media.url);
  co_return co_await fail_source(step, std::move(problem));
}

net::Task<Result<Outcome>> CurationProcessor::fail_source(Step& step, std::string problem) {
  step.source->problem = std::move(problem);
  auto job = std::make_shared<const Curation>(step.job);
  auto source = std::make_shared<const SourceRow>(*step.source);
  const std::int64_t wait_us = parts_.feed_wait_us();
  auto write = FencedAlone{step.fence(), [job, source, wait_us](Tx& tx) {
                             return end_failed_source(tx, *job, *source, wait_us);
                           }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                               std::move(write)));
  parts_.changed(step.job.job);
  co_return Outcome::complete();
}

net::Task<Result<Outcome>> CurationProcessor::take_page(Step& step, Media media) {
  const Result<web::Url> at = web::Url::parse(media.url);
  if (!at.ok()) co_return at.error();
  const FeedSource from{*at, media.content_type};
  auto parse = [body = media.body, from]() -> Result<std::shared_ptr<const Feed>> {
    TRY_ASSIGN(const std::string bytes, body.whole(kFeedBytesMax));
    TRY_ASSIGN(Feed feed, parse_feed(bytes, from));
    std::set<std::string> ids;
    // Of those that call themselves the same, the first one is it.
    std::erase_if(feed.entries, [&](const FeedEntry& entry) {
      return !entry.id.empty() && !ids.insert(entry.id).second;
    });
    return std::make_shared<const Feed>(std::move(feed));
  };
  Result<std::shared_ptr<const Feed>> parsed =
      co_await queue::offload(parts_.loop, parts_.pool, std::move(parse));
  if (!parsed.ok() && parsed.error().kind() == Errc::TooLarge) {
    std::string problem =
        fmt::format("too-large: the feed has {} bytes, and {} are the most we read",
                    media.body.size(), kFeedBytesMax);
    co_return co_await fail_source(step, std::move(problem));
  }
  CO_TRY_ASSIGN(const std::shared_ptr<const Feed> feed, std::move(parsed));
  step.source->found = step.source->changed = 0;
  step.source->left_out = feed->left_out;
  // The newest ones stand first, and are curated last.
  for (std::size_t left = feed->entries.size(); left > 0;) {
    const std::size_t first = left > kCuratedAtOnce ? left - kCuratedAtOnce : 0;
    CO_TRY(co_await curate_piece(step, feed, first, left));
    if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
    left = first;
  }
  FeedChecked checked{media.etag, media.last_modified, digest_of(*feed), feed->title,
                      parts_.feed_wait_us()};
  co_return co_await end_page(step, feed, std::move(checked));
}

// From the first to before the last, in one transaction.
net::Task<Result<bool>> CurationProcessor::curate_piece(Step& step,
                                                        std::shared_ptr<const Feed> feed,
                                                        std::size_t first, std::size_t last) {
  struct Piece {
    std::optional<FeedId> feed;
    std::int64_t changed = 0;
  };
  auto job = std::make_shared<const Curation>(step.job);
  auto source = std::make_shared<const SourceRow>(*step.source);
  auto write = FencedAlone{
      step.fence(),
      [job, source, feed, first, last, partition = step.partition](Tx& tx) -> Result<Piece> {
        TRY(lock_pool(tx));
        Piece piece{source->feed, 0};
        if (!piece.feed) {
          TRY_ASSIGN(piece.feed, register_feed(tx, *job, source->source.url));
        }
        const Result<FeedRow> row = load_feed(tx, *piece.feed);
        if (!row.ok() && row.error().kind() == Errc::Missing) return piece;  // it was removed
        if (!row.ok()) return row.error();
        std::vector<queue::NewItem> items;
        for (std::size_t i = last; i > first; --i) {
          const CuratedOrder order = order_of(*job, row->url, feed->entries[i - 1]);
          const Result<CurateOutcome> outcome = curate(tx, order);
          if (!outcome.ok() && outcome.error().kind() == Errc::Invalid) continue;
          if (!outcome.ok()) return outcome.error();
          const bool fresh = outcome->change == CuratedChange::New;
          if (fresh && job->recheck && row->priority != 0) {
            TRY(set_priority(tx, job->kind, outcome->id, row->priority));
          }
          piece.changed += outcome->change != CuratedChange::Same;
          if (outcome->fetch) items.push_back(media_item(job->job, outcome->id));
        }
        TRY(put_items(tx, partition, std::move(items)));
        crash_point("curation.piece");
        return piece;
      }};
  CO_TRY_ASSIGN(
      const Piece piece,
      co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                            std::move(write)));
  step.source->feed = piece.feed;
  step.source->changed += piece.changed;
  step.source->found += static_cast<std::int64_t>(last - first);
  parts_.changed(step.job.job);
  co_return true;
}

net::Task<Result<Outcome>> CurationProcessor::end_page(Step& step, std::shared_ptr<const Feed> feed,
                                                       FeedChecked checked) {
  SourceRow& row = *step.source;
  if (row.page == 1 && feed->entries.empty()) {
    row.problem = feed->left_out > 0
                      ? fmt::format("no-sound: none of its {} entries has sound", feed->left_out)
                      : "no-sound: the feed has no entries";
  }
  if (feed->cut)
    row.problem = fmt::format("too-large: only the first {} entries were taken", kFeedEntriesMax);
  std::optional<SourceRow> next;
  const bool enough = step.job.recheck && row.changed == 0;
  if (!feed->next.empty() && row.page >= kFeedPagesMax) {
    row.problem = fmt::format("too-large: only the first {} pages were read", kFeedPagesMax);
  } else if (!feed->next.empty() && !enough && !step.job.canceled) {
    next.emplace();
    next->source.what = SourceKind::Feed;
    next->source.url = feed->next;
    next->page = row.page + 1;
  }
  auto job = std::make_shared<const Curation>(step.job);
  auto source = std::make_shared<const SourceRow>(row);
  auto write = FencedAlone{
      step.fence(),
      [job, source, next, checked, partition = step.partition,
       most = parts_.feed_entries_max](Tx& tx) -> Result<bool> {
        SourceRow ended = *source;
        if (!ended.feed) {
          TRY_ASSIGN(ended.feed, register_feed(tx, *job, ended.source.url));
        }
        TRY_ASSIGN(const std::int64_t before, count_found(tx, job->job, *ended.feed));
        const std::int64_t taken = before + ended.found;
        const bool full = taken >= most;
        if (next && full) {
          ended.problem =
              fmt::format("too-large: {} entries were taken, further pages were not read", taken);
        }
        TRY_ASSIGN(const bool first, end_source(tx, job->job, ended));
        if (!first) return false;
        if (ended.page == 1) TRY(note_checked(tx, *ended.feed, checked));
        if (next && !full) {
          SourceRow page = *next;
          page.feed = ended.feed;
          TRY_ASSIGN(const std::optional<std::int64_t> number, add_next_page(tx, job->job, page));
          if (number) TRY(put_items(tx, partition, {source_item(job->job, *number)}));
        }
        crash_point("curation.page");
        return true;
      }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                               std::move(write)));
  parts_.changed(step.job.job);
  co_return Outcome::complete();
}

net::Task<Result<Outcome>> CurationProcessor::take_address(Step& step, Media media) {
  CO_TRY_ASSIGN(Kept taken, co_await keep(media));
  auto kept = std::make_shared<Kept>(std::move(taken));
  kept->url = step.source->source.url;
  if (!kept->problem.empty()) {
    std::string problem = kept->problem;
    co_return co_await fail_source(step, std::move(problem));
  }
  auto job = std::make_shared<const Curation>(step.job);
  SourceRow row = *step.source;
  row.found = 1;
  auto source = std::make_shared<const SourceRow>(std::move(row));
  auto self = shared_from_this();
  using Places = std::vector<std::string>;
  auto write =
      FencedAlone{step.fence(), [self, job, source, kept](Tx& tx) -> Result<Places> {
                    TRY(lock_pool(tx));
                    TRY_ASSIGN(const CuratedOrder order, order_of(tx, *job, source->source));
                    TRY_ASSIGN(const CurateOutcome outcome, curate(tx, order));
                    SourceRow ended = *source;
                    ended.changed = outcome.change != CuratedChange::Same;
                    TRY_ASSIGN(const bool first, end_source(tx, job->job, ended));
                    if (!first) return Places{kept->put->place};
                    return self->attach(tx, *job, outcome.id, *kept);
                  }};
  CO_TRY_ASSIGN(
      const Places orphans,
      co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                            std::move(write)));
  for (const std::string& place : orphans) {
    if (!place.empty()) parts_.blobs.discard(place);
  }
  parts_.changed(step.job.job);
  parts_.poke_job(step.job.job);
  co_return Outcome::complete();
}

// -- gate 1 --

net::Task<Result<CurationProcessor::Kept>> CurationProcessor::keep(const Media& media) {
  auto work = [blobs = &parts_.blobs, body = media.body,
               said = media.content_type]() -> Result<Kept> {
    Kept kept;
    std::string head(kSoundHeadBytes, '\0');
    TRY_ASSIGN(const std::size_t got, body.read_at(0, head));
    head.resize(got);
    if (head.empty()) {
      kept.problem = "empty: there is nothing in it";
      return kept;
    }
    kept.content_type = sound_type_of(head);
    if (kept.content_type.empty()) {
      if (const std::string_view what = not_sound(head); !what.empty()) {
        kept.problem = fmt::format("not-sound: {} came instead of sound", what);
        return kept;
      }
      kept.content_type = said.substr(0, said.find(';'));
    }
    blob::Spool spool(*blobs);
    TRY(body.read([&spool](std::string_view piece) { return spool.write(piece); }));
    TRY_ASSIGN(kept.put, spool.finish());
    return kept;
  };
  co_return co_await queue::offload(parts_.loop, parts_.pool, std::move(work));
}

net::Task<Result<Outcome>> CurationProcessor::take_media(Step& step) {
  const Curated& row = *step.curated;
  // It is here already, whoever has brought it; or could not be had, by this job.
  const bool done = step.has_media || row.media == MediaState::Failed || row.url.empty();
  if (done || is_of_later_job(row, step.job)) co_return Outcome::complete();
  auto kept = std::make_shared<Kept>();
  kept->url = row.url;
  if (step.job.canceled) {
    kept->problem = "canceled: its job was canceled; curate it again to fetch it";
    co_return co_await store_media(step, std::move(kept));
  }
  MediaOrder order;
  order.url = row.url;
  order.bytes_max = parts_.media_bytes_max;
  const Media media = co_await parts_.fetcher.fetch(std::move(order));
  if (stopping_) co_return Error{Errc::Canceled, "the server is stopping"};
  if (!media.problem.empty()) {
    if (std::optional<Outcome> later = again(step, media)) co_return *std::move(later);
    kept->problem = say(media);
  } else {
    CO_TRY_ASSIGN(*kept, co_await keep(media));
    kept->url = row.url;
  }
  co_return co_await store_media(step, std::move(kept));
}

// The sound becomes a root file of the job, and that of the episode or clip. The pool is locked.
Result<std::vector<std::string>> CurationProcessor::attach(Tx& tx, const Curation& job,
                                                           CuratedId id, const Kept& kept) const {
  TRY_ASSIGN(const Curated row, load_curated(tx, job.kind, id));
  tree::AddRoot root = root_of(job, row, kept.url);
  root.file.blob = kept.put;
  root.file.bytes = kept.put->bytes;
  TypeDecision decision = parts_.decide(root.file.content_type);
  root.file.step = std::move(decision.step);
  root.file.failure = std::move(decision.failure);
  const auto added = apply(tx, std::span<const tree::AddRoot>(&root, 1));
  if (!added[0].ok()) {
    // A job that was canceled takes no file.
    if (added[0].error().kind() != Errc::Conflict) return added[0].error();
    TRY(media_failed(tx, id, "canceled: its job takes no file any more; curate it again"));
    return std::vector<std::string>{kept.put->place};
  }
  TRY(media_arrived(
      tx, id, {added[0]->id, blob::hex_of(kept.put->sha256), kept.put->bytes, kept.content_type}));
  crash_point("curation.media");
  return added[0]->orphans;
}

net::Task<Result<Outcome>> CurationProcessor::store_media(Step& step, std::shared_ptr<Kept> kept) {
  auto job = std::make_shared<const Curation>(step.job);
  auto self = shared_from_this();
  struct Stored {
    bool other = false;  // its address is another one by now
    std::vector<std::string> orphans;
  };
  auto write =
      FencedAlone{step.fence(), [self, job, kept, id = step.curated->id](Tx& tx) -> Result<Stored> {
                    TRY(lock_pool(tx));
                    Stored stored;
                    if (kept->put) stored.orphans.push_back(kept->put->place);
                    const Result<Curated> row = load_curated(tx, job->kind, id);
                    if (!row.ok() && row.error().kind() == Errc::Missing)
                      return stored;  // it was removed
                    if (!row.ok()) return row.error();
                    TRY_ASSIGN(const bool here, has_media_of(tx, *row, row->url));
                    if (here || is_of_later_job(*row, *job)) return stored;
                    stored.other = row->url != kept->url;
                    if (stored.other) return stored;
                    if (!kept->problem.empty()) {
                      TRY(media_failed(tx, id, kept->problem));
                      crash_point("curation.media.failed");
                      return stored;
                    }
                    TRY_ASSIGN(stored.orphans, self->attach(tx, *job, id, *kept));
                    return stored;
                  }};
  CO_TRY_ASSIGN(
      const Stored stored,
      co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                            std::move(write)));
  for (const std::string& place : stored.orphans) {
    if (!place.empty()) parts_.blobs.discard(place);
  }
  parts_.changed(step.job.job);
  parts_.poke_job(step.job.job);
  if (stored.other) co_return Error{Errc::Busy, "its address has changed meanwhile"};
  co_return Outcome::complete();
}

// -- gate 2 --

net::Task<Result<Outcome>> CurationProcessor::finish(Step& step) {
  store::Fence fence = step.fence();
  fence.also = 0;
  auto write = store::Fenced{fence, [job = step.job.job](Tx& tx) -> Result<bool> {
                               TRY_ASSIGN(const bool first, end_curation(tx, job));
                               if (!first) return false;
                               TRY_ASSIGN(const store::Rows running, tx.query(kJobRuns, job));
                               if (!running.empty()) TRY(tree::seal_job(tx, job, 0));
                               crash_point("curation.finished");
                               return true;
                             }};
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(step.partition)),
                               write));
  parts_.poke_job(step.job.job);
  parts_.changed(step.job.job);
  co_return Outcome::complete();
}

}  // namespace quern::research

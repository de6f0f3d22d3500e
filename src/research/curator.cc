#include "research/curator.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/check.h"
#include "base/crash.h"
#include "base/log.h"
#include "blob/digest.h"
#include "queue/await.h"
#include "queue/locked_partitions.h"
#include "queue/wake.h"
#include "research/curation_items.h"
#include "research/sound_type.h"
#include "tree/file.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Tx;

constexpr std::int64_t kTickMs = 1000;
constexpr std::int64_t kTickMsMax = 30'000;
constexpr std::size_t kCanceledAtOnce = 1000;  // that a server which died has left
constexpr int kWakesMax = 1000;                // of queue::kListMax items each

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

// The same request has the same `resumes`.
tree::NewJob job_for(const CurateRequest& request) {
  json::array sources;
  for (const Source& source : request.sources) {
    sources.push_back(json::array{source.url, source.title, source.description, source.aired});
  }
  json::object asked{{"collection", request.collection}, {"sources", std::move(sources)}};
  asked["metadata"] = request.metadata;
  asked["recheck"] = request.recheck;
  if (request.priority) asked["priority"] = *request.priority;
  const std::string digest = blob::hex_of(blob::sha256_of(json::serialize(asked)));
  tree::NewJob job;
  job.kind = std::string(job_kind_of(request.kind));
  job.collection = request.collection;
  job.resumes = fmt::format("{}:{}", job.kind, digest.substr(0, 16));
  job.key = fmt::format("{}:{:016x}", job.resumes, random_bits());
  job.source = request.sources.front().url.substr(0, tree::kSourceBytesMax);
  job.shards = 1;
  return job;
}

// "Show 12" of "talks/Show 12.mp3".
std::string stem_of(const std::string& filename) {
  std::string name = filename.substr(filename.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != name.npos && dot > 0) name.resize(dot);
  return name;
}

Result<CurateOutcome> curate_file(Tx& tx, const CurateRequest& request, const FileSource& source) {
  TRY_ASSIGN(const tree::File file, tree::load_file(tx, source.file));
  if (!file.blob) {
    return Error{Errc::Conflict, fmt::format("file {} has no bytes yet: try again soon", file.id)};
  }
  const std::string& type = file.detected_type.empty() ? file.content_type : file.detected_type;
  const bool sound = type.starts_with("audio/") || type.starts_with("video/");
  const bool unknown = file.detected_type.empty() && has_sound_suffix(file.filename);
  if (!sound && !unknown) {
    return Error{Errc::Invalid,
                 fmt::format("file {} ({}) is no sound: it is {}", file.id, file.filename, type)};
  }
  TRY_ASSIGN(const blob::Blob bytes, blob::load_blob(tx, *file.blob, blob::Data::Without));
  CuratedOrder order;
  order.kind = request.kind;
  order.key = "sha256:" + blob::hex_of(bytes.sha256);
  order.title = source.title.empty() ? stem_of(file.filename) : source.title;
  order.description = source.description;
  order.aired = source.aired;
  order.priority = request.priority;
  order.metadata = request.metadata;
  order.metadata["filename"] = file.filename;
  order.file = file.id;
  order.job = file.job;
  return curate(tx, order);
}

}  // namespace

Curator::Curator(CuratorParts parts, CuratorOptions options)
    : parts_(std::move(parts)), options_(std::move(options)), changed_(parts_.loop) {}

Curator::~Curator() {
  if (processor_) processor_->cancel();
  fetcher_.reset();
}

// Feeds of one minute do not stay together for ever: up to an eighth more or less.
std::int64_t Curator::wait_us() const {
  const std::int64_t whole = options_.feed_check_ms * 1000;
  const auto part = static_cast<std::int64_t>(random_bits() % 256);
  return std::max<std::int64_t>(whole - whole / 8 + whole / 4 * part / 256, 1000);
}

Result<> Curator::add_processors(queue::Processors& processors) {
  MediaFetcherOptions fetching{.user_agent = options_.user_agent,
                               .allow_private = options_.allow_private,
                               .connect_to = options_.connect_to,
                               .ca_file = options_.ca_file,
                               .spool = parts_.data / "spool",
                               .gap_ms = options_.gap_ms};
  TRY_ASSIGN(fetcher_, MediaFetcher::open(parts_.loop, std::move(fetching)));
  CurationParts parts{.loop = parts_.loop,
                      .writer = parts_.writer,
                      .readers = parts_.readers,
                      .pool = parts_.pool,
                      .blobs = parts_.blobs,
                      .fetcher = *fetcher_,
                      .decide = parts_.decide,
                      .at_once = options_.at_once,
                      .tries_max = options_.tries_max,
                      .media_bytes_max = options_.media_bytes_max,
                      .feed_entries_max = options_.feed_entries_max,
                      .feed_wait_us = [this] { return wait_us(); },
                      .changed = {},
                      .poke_job = parts_.poke_job};
  parts.changed = [this](tree::JobId job) {
    const json::object event{{"job", job.value}};
    parts_.publish("curation.changed", event);
    parts_.changed();
  };
  processor_ = std::make_shared<CurationProcessor>(std::move(parts));
  processors[kCuratePartitionKind] = processor_;
  return {};
}

void Curator::start() {
  if (!processor_) return;
  ++running_;
  parts_.loop.spawn("curator.time", keep_time(this));
}

net::Task<> Curator::stop() {
  stopping_ = true;
  if (processor_) processor_->cancel();
  if (fetcher_) fetcher_->close();
  changed_.notify_all();
  while (running_ > 0) co_await changed_.wait();
}

// -- beginning --

net::Task<Result<CurateReply>> Curator::begin(CurateRequest request) {
  auto shared = std::make_shared<const CurateRequest>(std::move(request));
  CurateReply reply;
  if (!shared->files.empty()) {
    CO_TRY_ASSIGN(reply.files, co_await curate_files(shared));
    parts_.changed();
  }
  if (!shared->sources.empty()) {
    CO_TRY_ASSIGN(reply.job, co_await begin_job(shared));
  }
  co_return reply;
}

net::Task<Result<std::vector<CurateOutcome>>> Curator::curate_files(
    std::shared_ptr<const CurateRequest> request) {
  auto write = store::Alone{[request](Tx& tx) -> Result<std::vector<CurateOutcome>> {
    std::vector<CurateOutcome> outcomes;
    for (const FileSource& file : request->files) {
      TRY_ASSIGN(const CurateOutcome outcome, curate_file(tx, *request, file));
      outcomes.push_back(outcome);
    }
    crash_point("curation.files");
    return outcomes;
  }};
  co_return co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(write));
}

net::Task<Result<tree::Job>> Curator::begin_job(std::shared_ptr<const CurateRequest> request) {
  struct Opened {
    tree::Job job;
    queue::PartitionId partition;
  };
  auto open = [this, request]() -> Result<Opened> {
    tree::NewJob order = job_for(*request);
    TRY_ASSIGN(std::optional<std::string> under_way,
               parts_.readers.run([&order](Tx& tx) { return find_under_way(tx, order.resumes); }));
    if (under_way) order.key = *std::move(under_way);
    order.resumes.clear();
    TRY_ASSIGN(tree::Job job, parts_.open_job(order));
    TRY_ASSIGN(const queue::PartitionId id,
               queue::ensure_partition(parts_.writer, parts_.readers, curation_partition(job.id)));
    return Opened{std::move(job), id};
  };
  CO_TRY_ASSIGN(const Opened opened,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(open)));
  const queue::PartitionId partition = opened.partition;
  auto note = queue::change_partition(
      partition,
      [request, job = opened.job, partition, at_once = options_.at_once](Tx& tx) -> Result<bool> {
        Curation curation;
        curation.job = job.id;
        curation.kind = request->kind;
        curation.collection = job.collection;
        curation.priority = request->priority;
        curation.metadata = request->metadata;
        curation.recheck = request->recheck;
        TRY(add_curation(tx, curation, request->sources));
        TRY(open_curation(tx, partition, job.id, request->sources.size(), at_once));
        return true;
      });
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(partition)),
                               std::move(note)));
  parts_.poke(partition);
  co_return opened.job;
}

// -- ending --

net::Task<> Curator::job_canceled(tree::JobId job) {
  const Result<> woken = co_await wake(job);
  if (!woken.ok()) {
    log_info("curator.later", {{"job", job.value}, {"error", woken.error().message()}});
  }
}

net::Task<Result<>> Curator::wake(tree::JobId job) {
  auto find = [name = curation_partition(job)](Tx& tx) { return queue::find_partition(tx, name); };
  CO_TRY_ASSIGN(const std::optional<queue::PartitionId> partition,
                co_await queue::read(parts_.loop, parts_.readers, std::move(find)));
  if (!partition) co_return Result<>();
  for (int i = 0; i < kWakesMax; ++i) {
    auto wake =
        queue::change_partition(*partition, [id = *partition](Tx& tx) -> Result<std::int64_t> {
          TRY_ASSIGN(const std::int64_t woken, queue::wake_items(tx, id));
          crash_point("curation.woken");
          return woken;
        });
    CO_TRY_ASSIGN(
        const std::int64_t woken,
        co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(*partition)), wake));
    if (woken == 0) break;
    parts_.poke(*partition);
  }
  co_return Result<>();
}

net::Task<Result<>> Curator::end_canceled() {
  auto find = [](Tx& tx) { return list_canceled(tx, kCanceledAtOnce); };
  CO_TRY_ASSIGN(const std::vector<tree::JobId> jobs,
                co_await queue::read(parts_.loop, parts_.readers, std::move(find)));
  for (const tree::JobId job : jobs) {
    if (stopping_) break;
    co_await job_canceled(job);
  }
  co_return Result<>();
}

// -- feeds, again and again --

net::Task<> Curator::keep_time(Curator* self) {
  const std::int64_t tick_ms =
      std::clamp(self->options_.feed_check_ms / 4, kTickMs / 10, kTickMsMax);
  const Result<> ended = co_await self->end_canceled();
  if (!ended.ok()) log_info("curator.later", {{"error", ended.error().message()}});
  while (!self->stopping_) {
    const Result<> checked = co_await self->check_feeds();
    if (!checked.ok()) log_info("curator.later", {{"error", checked.error().message()}});
    if (self->stopping_) break;
    co_await self->changed_.wait(net::in_ms(tick_ms));
  }
  --self->running_;
  self->changed_.notify_all();
}

net::Task<Result<>> Curator::check_feeds() {
  auto claim = [](Tx& tx) { return claim_due_feeds(tx, kFeedsAtOnce); };
  CO_TRY_ASSIGN(const std::vector<FeedRow> due,
                co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(claim)));
  for (const FeedRow& feed : due) {
    if (stopping_) break;
    FeedRow one = feed;
    CO_TRY(co_await check(std::move(one)));
  }
  co_return Result<>();
}

// A feed that says what it said before costs one request. Where it says something else, a job reads
// it.
net::Task<Result<>> Curator::check(FeedRow feed) {
  MediaOrder order;
  order.url = feed.url;
  order.bytes_max = kFeedBytesMax;
  order.total_ms = kFeedTotalMs;
  order.etag = feed.etag;
  order.last_modified = feed.last_modified;
  const Media media = co_await fetcher_->fetch(std::move(order));
  if (stopping_) co_return Result<>();
  FeedChecked checked{feed.etag, feed.last_modified, feed.digest, "", wait_us()};
  std::string problem;
  if (!media.problem.empty()) {
    problem = fmt::format("{}: {}", media.problem, media.message);
  } else if (!media.same) {
    const Result<web::Url> at = web::Url::parse(media.url);
    CO_TRY(at);
    const FeedSource from{*at, media.content_type};
    auto digest = [body = media.body, from]() -> Result<std::string> {
      TRY_ASSIGN(const std::string bytes, body.whole(kFeedBytesMax));
      TRY_ASSIGN(const Feed now, parse_feed(bytes, from));
      return digest_of(now);
    };
    const Result<std::string> now =
        co_await queue::offload(parts_.loop, parts_.pool, std::move(digest));
    if (!now.ok() && now.error().kind() != Errc::Invalid) co_return now.error();
    if (!now.ok()) {
      problem = "not-a-feed: " + now.error().message();
    } else if (*now != feed.digest) {
      CurateRequest request;
      request.kind = feed.kind;
      request.collection = feed.collection;
      request.metadata = feed.metadata;
      request.recheck = true;
      Source source;
      source.what = SourceKind::Feed;
      source.url = feed.url;
      source.feed = feed.id;
      request.sources.push_back(std::move(source));
      auto shared = std::make_shared<const CurateRequest>(std::move(request));
      CO_TRY(co_await begin_job(shared));
      co_return Result<>();  // the job notes it
    } else {
      checked.etag = media.etag;
      checked.last_modified = media.last_modified;
    }
  }
  auto note = [id = feed.id, checked, problem](Tx& tx) -> Result<bool> {
    if (problem.empty()) {
      TRY(note_checked(tx, id, checked));
    } else {
      TRY(note_feed_problem(tx, id, problem, checked.again_us));
    }
    return true;
  };
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane({}), std::move(note)));
  co_return Result<>();
}

}  // namespace quern::research

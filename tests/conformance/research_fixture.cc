#include "conformance/research_fixture.h"

namespace quern::research {
namespace {

constexpr store::Sql kExpiry{"SELECT expires_us FROM research_lease WHERE id = $1"};
constexpr int kRunsMax = 100'000;

}  // namespace

void ResearchTest::SetUp() {
  TreeTest::SetUp();
  job_ = open_job("research");
  media_ = media_of("some sound");
}

MediaArrived ResearchTest::media_of(const std::string& bytes) {
  const tree::AddRoot root = root_of(job_, next_root_++, file_of("sound.mp3", bytes, "Audio"));
  const tree::ShardId shard = shard_of(job_.id);
  const auto added = writer_->run({static_cast<std::uint64_t>(shard.value)}, root);
  CHECK_OK(added);
  return {added->id, blob::hex_of(blob::sha256_of(bytes)), std::ssize(bytes), "audio/mpeg"};
}

CuratedOrder ResearchTest::order_of(Kind kind, const std::string& title) {
  CuratedOrder order;
  order.kind = kind;
  order.source = "a curator";
  order.title = title;
  order.url = "https://sound.test/" + title;
  order.file = media_.file;
  order.job = job_.id;
  return order;
}

CurateOutcome ResearchTest::curate_one(const CuratedOrder& order) {
  const auto outcome = write([&](Tx& tx) { return curate(tx, order); });
  CHECK_OK(outcome);
  return *outcome;
}

CuratedId ResearchTest::add_episode(const std::string& title, std::int64_t priority) {
  CuratedOrder order = order_of(Kind::Episode, title);
  order.priority = priority;
  return curate_one(order).id;
}

CuratedId ResearchTest::add_clip(const std::string& title, std::int64_t priority) {
  CuratedOrder order = order_of(Kind::Clip, title);
  order.priority = priority;
  return curate_one(order).id;
}

std::vector<CuratedId> ResearchTest::add_many(Kind kind, int count) {
  const auto ids = write([&](Tx& tx) -> Result<std::vector<CuratedId>> {
    std::vector<CuratedId> added;
    for (int i = 0; i < count; ++i) {
      TRY_ASSIGN(const CurateOutcome outcome,
                 curate(tx, order_of(kind, fmt::format("{} {}", to_string(kind), i))));
      added.push_back(outcome.id);
    }
    return added;
  });
  CHECK_OK(ids);
  return *ids;
}

bool ResearchTest::bring(CuratedId id, const std::string& bytes) {
  const MediaArrived media = media_of(bytes);
  const auto changed = write([&](Tx& tx) { return media_arrived(tx, id, media); });
  CHECK_OK(changed);
  return *changed;
}

Curated ResearchTest::load_one(CuratedId id) {
  return *read([id](Tx& tx) { return load_curated(tx, id); });
}

Assigned ResearchTest::assign_once() {
  const auto assigned = write([&](Tx& tx) { return assign(tx, options_); });
  CHECK_OK(assigned);
  return *assigned;
}

std::int64_t ResearchTest::assign_all() {
  std::int64_t added = 0;
  for (int run = 0; run < kRunsMax; ++run) {
    const Assigned assigned = assign_once();
    added += assigned.added;
    if (!assigned.more) return added;
  }
  CHECK(false);
  return added;
}

std::optional<WorkItem> ResearchTest::take(const std::string& researcher) {
  const auto item = write([&](Tx& tx) { return take_work(tx, researcher, options_); });
  CHECK_OK(item);
  return *item;
}

std::vector<WorkItem> ResearchTest::take_everything() {
  std::vector<WorkItem> items;
  while (true) {
    assign_all();
    std::optional<WorkItem> item = take();
    if (!item) return items;
    items.push_back(*std::move(item));
  }
}

Report ResearchTest::report_of(const WorkItem& item, std::size_t clip,
                               std::vector<std::int64_t> offsets) {
  Report report;
  report.lease_id = item.lease.id;
  report.episode = item.episode.id;
  report.clip = item.clips.at(clip).id;
  report.clip_number = item.clips.at(clip).number;
  report.episode_duration_ns = 3'600'000'000'000;
  report.clip_duration_ns = 2'000'000'000;
  report.episode_hash = item.episode.sha256;
  report.clip_hash = item.clips.at(clip).sha256;
  for (const std::int64_t offset : offsets) report.found.push_back({offset, 0.9});
  return report;
}

Result<Reported> ResearchTest::try_send(const Report& sent) {
  return writer_->run({}, [&](Tx& tx) { return report(tx, sent, options_); });
}

Reported ResearchTest::send(const Report& report) {
  const Result<Reported> reported = try_send(report);
  CHECK_OK(reported);
  return *reported;
}

void ResearchTest::finish(const WorkItem& item) {
  for (std::size_t clip = 0; clip < item.clips.size(); ++clip) {
    Report report = report_of(item, clip);
    report.final = clip + 1 == item.clips.size();
    send(report);
  }
}

std::int64_t ResearchTest::finish_everything() {
  std::int64_t pairs = 0;
  while (true) {
    assign_all();
    const std::optional<WorkItem> item = take();
    if (!item) return pairs;
    pairs += std::ssize(item->clips);
    finish(*item);
  }
}

std::vector<ResultRow> ResearchTest::results(const ResultFilter& filter) {
  return *read([&](Tx& tx) { return list_results(tx, filter); });
}

ResearchStatus ResearchTest::status() {
  return *read([&](Tx& tx) { return load_status(tx, options_); });
}

std::int64_t ResearchTest::count_rows(const store::Sql& sql) {
  return *read([&](Tx& tx) { return tx.value<std::int64_t>(sql); });
}

std::int64_t ResearchTest::expiry_of(const std::string& lease) {
  const auto expiry = read([&](Tx& tx) { return tx.find_value<std::int64_t>(kExpiry, lease); });
  CHECK_OK(expiry);
  return expiry->value_or(0);
}

std::string ResearchTest::problems_of_research() {
  std::string text;
  for (const std::string& problem : *check_research(*readers_)) text += problem + "\n";
  return text;
}

void ResearchTest::script_now(const store::Sql& sql) {
  CHECK_OK(write([&](Tx& tx) { return tx.exec(sql); }));
}

Pairs ResearchTest::pairs_of(const WorkItem& item) {
  Pairs pairs;
  for (const Curated& clip : item.clips) pairs.emplace(item.episode.id, clip.id);
  return pairs;
}

}  // namespace quern::research

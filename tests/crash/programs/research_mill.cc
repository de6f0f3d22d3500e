// research_mill DATABASE COMMAND: a program for the tests that kill assigners and researchers.
//
//   setup   4 episodes and 6 clips, ready, once
//   assign  one run of the assigner
//   take    takes an item, and prints it
//   age     every lease has ended, as if its time were over
//   show    the leases: whether they wait, their episode and their clips
//   story   all of it: curates, then researches until nothing is left; prints what was found
//
// Each command goes on where a former one died. Ids are not printed but titles, and of a lease its
// id, with which a test tells it from others.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/crash.h"
#include "blob/digest.h"
#include "queue/locked_partitions.h"
#include "research/check.h"
#include "research/fingerprint.h"
#include "research/result.h"
#include "step/import.h"
#include "tree/child.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr int kEpisodes = 4;
constexpr int kClips = 6;
constexpr int kClipsPerItem = 4;  // so that an episode is two items

constexpr Sql kAge{"UPDATE research_lease SET offered_us = 1, expires_us = 2"};
constexpr Sql kLeases{
    "SELECT l.id, l.taken_us IS NULL, c.title, l.chosen FROM research_lease AS l"
    " JOIN curated AS c ON c.id = l.episode ORDER BY l.created_us, l.id"};
constexpr Sql kCounts{
    "SELECT (SELECT count(*) FROM curated), (SELECT count(*) FROM research_lease),"
    " (SELECT count(*) FROM research_result), (SELECT count(*) FROM research_offset),"
    " (SELECT count(*) FROM research_fingerprint), (SELECT max(number) FROM curated)"};

class Mill {
 public:
  Result<> open(const std::string& database) {
    TRY_ASSIGN(const store::DatabaseUrl url, store::DatabaseUrl::parse(database));
    TRY_ASSIGN(database_, store::Database::open(url, {}));
    store::WriterOptions options;
    options.guard = std::make_shared<queue::PartitionGuard>();
    options.batch_ops_max = 1;
    TRY_ASSIGN(writer_, store::Writer::open(*database_, options));
    TRY_ASSIGN(readers_, store::Readers::open(*database_, {}));
    options_.clips_per_item = kClipsPerItem;
    return {};
  }

  Result<std::string> run(const std::string& command) {
    if (command == "setup") return setup();
    if (command == "assign") return assign_once();
    if (command == "take") return take_one();
    if (command == "age") return age();
    if (command == "show") return show();
    if (command == "story") return story();
    return Error{Errc::Invalid, "no such command: " + command};
  }

 private:
  template <class Function>
  Result<store::Answer<Function>> alone(Function function) {
    return writer_->run({}, store::Alone<Function>{std::move(function)});
  }

  static blob::Put put(const std::string& bytes) {
    blob::Put put;
    put.bytes = std::ssize(bytes);
    put.sha256 = blob::sha256_of(bytes);
    put.sha1 = blob::sha1_of(bytes);
    put.data = bytes;
    return put;
  }

  Result<tree::FileId> add_media(const tree::Job& job) {
    TRY_ASSIGN(const tree::ShardId shard, step::shard_of_root(*readers_, job.id, 0));
    tree::AddRoot root;
    root.job = job.id;
    root.collection = job.collection;
    root.shard = shard;
    root.index = 0;
    root.file.filename = "sound.mp3";
    root.file.content_type = "audio/mpeg";
    root.file.blob = put("some sound");
    root.file.bytes = root.file.blob->bytes;
    root.file.step = "Audio";
    TRY_ASSIGN(const auto added,
               writer_->run({static_cast<std::uint64_t>(shard.value)}, std::move(root)));
    return added.id;
  }

  Result<std::string> setup() {
    tree::NewJob order;
    order.collection = "default";
    order.key = "research";
    order.source = "a test";
    TRY_ASSIGN(const tree::Job job,
               step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {}));
    TRY_ASSIGN(const tree::FileId file, add_media(job));
    for (int i = 0; i < kEpisodes; ++i) TRY(add(Kind::Episode, i, job.id, file));
    for (int i = 0; i < kClips; ++i) TRY(add(Kind::Clip, i, job.id, file));
    return std::string();
  }
  Result<> add(Kind kind, int number, tree::JobId job, tree::FileId file) {
    CuratedOrder order;
    order.kind = kind;
    order.title = fmt::format("{} {}", to_string(kind), number);
    order.url = "https://sound.test/" + order.title;
    order.file = file;
    order.job = job;
    TRY(alone([order](Tx& tx) { return curate(tx, order); }));
    return {};
  }

  Result<std::string> assign_once() {
    TRY_ASSIGN(const Assigned assigned, alone([this](Tx& tx) { return assign(tx, options_); }));
    return fmt::format("added {}\n", assigned.added);
  }

  Result<std::optional<WorkItem>> take() {
    return alone([this](Tx& tx) { return take_work(tx, "the mill", options_); });
  }
  Result<std::string> take_one() {
    TRY_ASSIGN(const std::optional<WorkItem> item, take());
    if (!item) return std::string("nothing waits\n");
    return fmt::format("{}: {}, {} clips\n", item->lease.id, item->episode.title,
                       item->clips.size());
  }

  Result<std::string> age() {
    TRY(alone([](Tx& tx) { return tx.exec(kAge); }));
    return std::string();
  }

  Result<std::string> show() {
    TRY_ASSIGN(const Rows rows, readers_->run([](Tx& tx) { return tx.query(kLeases); }));
    std::string text;
    for (const Row row : rows) {
      text += fmt::format("{} {}: {} {}\n", row.get<std::string>(0),
                          row.get<bool>(1) ? "waits" : "taken", row.get<std::string>(2),
                          row.get<std::string>(3));
    }
    return text;
  }

  Result<std::string> story() {
    TRY(setup());
    TRY(age());  // whoever held them is dead
    while (true) {
      TRY_ASSIGN(const Assigned assigned, alone([this](Tx& tx) { return assign(tx, options_); }));
      TRY_ASSIGN(const std::optional<WorkItem> item, take());
      if (item) {
        TRY(research(*item));
      } else if (!assigned.more) {
        break;
      }
    }
    return outcome();
  }

  Result<> research(const WorkItem& item) {
    const Fingerprint fingerprint{item.episode.id, item.episode.sha256, 1, "picture"};
    const std::string bytes = "fingerprint of " + item.episode.title;
    TRY(alone([&](Tx& tx) { return store_fingerprint(tx, fingerprint, put(bytes)); }));
    for (const Curated& clip : item.clips) {
      Report sent;
      sent.lease_id = item.lease.id;
      sent.episode = item.episode.id;
      sent.clip = clip.id;
      sent.clip_number = clip.number;
      sent.episode_duration_ns = 1000;
      // What is found follows from the titles alone.
      const std::string name = item.episode.title + clip.title;
      for (int i = 0; i < static_cast<unsigned char>(blob::sha256_of(name)[0]) % 4; ++i) {
        sent.found.push_back({100 * i, 0.5});
      }
      sent.final = clip.id == item.clips.back().id;
      TRY(writer_->run({}, [&](Tx& tx) { return report(tx, sent, options_); }));
    }
    return {};
  }

  Result<std::string> outcome() {
    TRY_ASSIGN(const auto results,
               readers_->run([](Tx& tx) { return list_results(tx, ResultFilter{}); }));
    std::vector<std::string> lines;
    for (const ResultRow& row : results) {
      lines.push_back(
          fmt::format("{} {}: {}\n", row.episode_title, row.clip_title, row.found.size()));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += line;
    TRY_ASSIGN(const Rows counts, readers_->run([](Tx& tx) { return tx.query(kCounts); }));
    const Row row = counts[0];
    text += fmt::format("{} curated, {} leases, {} results, {} offsets, {} prints, {} numbers\n",
                        row.get<int>(0), row.get<int>(1), row.get<int>(2), row.get<int>(3),
                        row.get<int>(4), row.get<int>(5));
    TRY_ASSIGN(const ResearchStatus status,
               readers_->run([this](Tx& tx) { return load_status(tx, options_); }));
    text += fmt::format("{} results, idle {}\n", status.results, status.idle);
    TRY_ASSIGN(const std::vector<std::string> problems, check_research(*readers_));
    for (const std::string& problem : problems) text += problem + "\n";
    return text;
  }

  Options options_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
};

int run(const std::string& database, const std::string& command) {
  const Result<> armed = arm_crash_from_environment();
  Mill mill;
  Result<> opened = armed.ok() ? mill.open(database) : armed;
  if (!opened.ok()) {
    fmt::print(stderr, "{}\n", opened.error().message());
    return 1;
  }
  const Result<std::string> said = mill.run(command);
  if (!said.ok()) {
    fmt::print(stderr, "{}\n", said.error().message());
    return 1;
  }
  fmt::print("{}", *said);
  return 0;
}

}  // namespace
}  // namespace quern::research

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: research_mill DATABASE COMMAND\n");
    return 2;
  }
  return quern::research::run(argv[1], argv[2]);
}

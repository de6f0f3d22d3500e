#include "research/curation_items.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>

#include "base/crash.h"
#include "base/utf8.h"
#include "blob/digest.h"
#include "queue/locked_partitions.h"
#include "research/curation_processor.h"
#include "research/pool.h"
#include "research/sound_type.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Tx;

constexpr std::int64_t kBackoffMs = 2000;
constexpr std::int64_t kBackoffMsMax = 60'000;
constexpr std::size_t kKeyBytesMax = 1000;
constexpr std::size_t kFilenameBytesMax = 200;

queue::NewItem item_of(std::string name, std::int64_t gate, tree::JobId job, std::int64_t number) {
  queue::NewItem item;
  item.name = std::move(name);
  item.gate = gate;
  const json::object data{{"job", job.value}, {"number", number}};
  item.data = json::serialize(data);
  return item;
}

queue::PartitionConfig config_of(std::int64_t at_once) {
  queue::PartitionConfig config;
  config.kind = kCuratePartitionKind;
  config.auto_close = true;
  config.max_retries = -1;  // how often is decided by step
  config.concurrency = at_once;
  config.backoff_ms = kBackoffMs;
  config.backoff_ms_max = kBackoffMsMax;
  return config;
}

constexpr store::Sql kByUrl{
    "SELECT id FROM curated WHERE kind = $1 AND collection = $2 AND url = $3 ORDER BY id LIMIT 1"};

}  // namespace

std::optional<CurationItem> parse_curation_item(const std::string& data) {
  boost::system::error_code failed;
  const json::value value = json::parse(data, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  const json::value* job = object->if_contains("job");
  const json::value* number = object->if_contains("number");
  if (job == nullptr || number == nullptr || !job->is_int64() || !number->is_int64()) return {};
  return CurationItem{{job->get_int64()}, number->get_int64()};
}

queue::NewItem source_item(tree::JobId job, std::int64_t number) {
  return item_of(fmt::format("source-{:08}", number), kGateSources, job, number);
}

queue::NewItem media_item(tree::JobId job, CuratedId id) {
  return item_of(fmt::format("media-{:010}", id), kGateMedia, job, id);
}

Result<> put_items(Tx& tx, queue::PartitionId partition, std::vector<queue::NewItem> items) {
  if (items.empty()) return {};
  const queue::PutItems put{partition, std::move(items)};
  const auto results = apply(tx, std::span<const queue::PutItems>(&put, 1));
  if (!results[0].ok()) return results[0].error();
  return {};
}

// "a%20b.mp3" at the end of an address is "a b.mp3".
std::string name_in(const std::string& url) {
  std::string path = url.substr(0, url.find_first_of("?#"));
  path.erase(0, path.rfind('/') + 1);
  std::string name;
  for (std::size_t i = 0; i < path.size(); ++i) {
    unsigned byte = 0;
    const char* digits = path.data() + i + 1;
    const bool escaped = path[i] == '%' && i + 2 < path.size() &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    name += escaped ? static_cast<char>(byte) : path[i];
    if (escaped) i += 2;
  }
  name = valid_utf8(name.substr(0, kFilenameBytesMax));
  std::erase_if(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '/'; });
  return name;
}

CuratedOrder order_of(const Curation& job, const std::string& feed, const FeedEntry& entry) {
  CuratedOrder order;
  order.kind = job.kind;
  order.key = key_of(feed, entry.id);
  order.url = entry.url;
  order.source = feed;
  order.title = entry.title.empty() ? name_in(entry.url) : entry.title;
  order.description = entry.description;
  order.aired = entry.aired;
  if (!job.recheck) order.priority = job.priority;
  order.metadata = entry.metadata;
  for (const auto& [key, value] : job.metadata) order.metadata[key] = value;
  order.job = job.job;
  return order;
}

// What is known of an address stays, where its curator says nothing else.
Result<CuratedOrder> order_of(Tx& tx, const Curation& job, const Source& source) {
  CuratedOrder order;
  order.kind = job.kind;
  order.url = source.url;
  order.priority = job.priority;
  order.job = job.job;
  TRY_ASSIGN(const auto known, tx.find_value<CuratedId>(kByUrl, static_cast<int>(job.kind),
                                                        job.collection, source.url));
  if (known) {
    TRY_ASSIGN(const Curated before, load_curated(tx, job.kind, *known));
    order.source = before.source;
    order.title = before.title;
    order.description = before.description;
    order.aired = before.aired;
    order.metadata = before.metadata;
  }
  if (!source.title.empty()) order.title = source.title;
  if (order.title.empty()) order.title = name_in(source.url);
  if (!source.description.empty()) order.description = source.description;
  if (!source.aired.empty()) order.aired = source.aired;
  for (const auto& [key, value] : job.metadata) order.metadata[key] = value;
  return order;
}

Result<FeedId> register_feed(Tx& tx, const Curation& job, const std::string& url) {
  const NewFeed fresh{job.kind, job.collection, url, job.priority, job.metadata};
  return put_feed(tx, fresh);
}

std::string key_of(const std::string& feed, const std::string& id) {
  if (id.empty()) return "";
  std::string key = fmt::format("guid:{} {}", feed, id);
  if (key.size() <= kKeyBytesMax) return key;
  return "guid:" + blob::hex_of(blob::sha256_of(key));
}

std::string digest_of(const Feed& feed) {
  std::string all = feed.next;
  for (const FeedEntry& entry : feed.entries) {
    for (const std::string* text :
         {&entry.id, &entry.url, &entry.title, &entry.aired, &entry.description}) {
      all += '\0';
      all += *text;
    }
  }
  return blob::hex_of(blob::sha256_of(all));
}

Result<> open_curation(Tx& tx, queue::PartitionId id, tree::JobId job, std::size_t sources,
                       std::int64_t at_once) {
  const queue::Partition* partition = queue::LockedPartitions::of(tx).find(id);
  if (partition != nullptr && partition->declared) return {};
  TRY(queue::put_partition(tx, id, {config_of(at_once), {}, {}}));
  std::vector<queue::NewItem> items;
  for (std::size_t i = 1; i <= sources; ++i) {
    items.push_back(source_item(job, static_cast<std::int64_t>(i)));
  }
  items.push_back(item_of("finish", kGateFinish, job, 0));
  return put_items(tx, id, std::move(items));
}

Result<bool> end_failed_source(Tx& tx, const Curation& job, const SourceRow& source,
                               std::int64_t feed_wait_us) {
  TRY(lock_pool(tx));
  TRY_ASSIGN(const bool first, end_source(tx, job.job, source));
  if (!first) return false;
  const Source& said = source.source;
  if (source.feed) TRY(note_feed_problem(tx, *source.feed, source.problem, feed_wait_us));
  // What is named like sound, or has a title, is one that could not be had; else nobody knows.
  const bool named = has_sound_suffix(said.url) || !said.title.empty();
  if (said.what == SourceKind::Address && named) {
    TRY_ASSIGN(const CuratedOrder order, order_of(tx, job, said));
    TRY_ASSIGN(const CurateOutcome outcome, curate(tx, order));
    if (outcome.fetch) TRY(media_failed(tx, outcome.id, source.problem));
  }
  crash_point("curation.source.failed");
  return true;
}

tree::AddRoot root_of(const Curation& job, const Curated& row, const std::string& url) {
  tree::AddRoot root;
  root.job = job.job;
  root.collection = job.collection;
  root.shard = job.shards.front();
  root.index = row.id;
  root.file.filename = name_in(url);
  if (root.file.filename.empty())
    root.file.filename = fmt::format("{}-{}", to_string(job.kind), row.id);
  root.file.content_type = model::kUnknownType;
  json::object own{{"title", row.title}, {"url", url}, {std::string(to_string(job.kind)), row.id}};
  if (!row.aired.empty()) own["date_aired"] = row.aired;
  if (!row.source.empty()) own["source"] = row.source;
  root.file.metadata = json::serialize(own);
  const json::object options{
      {"ocr", false}, {"split_by_page", false}, {"language", "en"}, {"metadata", own}};
  root.file.options = json::serialize(options);
  return root;
}

}  // namespace quern::research

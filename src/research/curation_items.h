// The items of a curation's partition, and what becomes of what a source says. Inside research
// only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "queue/item.h"
#include "research/curation.h"
#include "research/feed.h"
#include "tree/child.h"

namespace quern::research {

struct CurationItem {
  tree::JobId job;
  std::int64_t number = 0;  // of a source; of an episode or clip
};
std::optional<CurationItem> parse_curation_item(const std::string& data);
queue::NewItem source_item(tree::JobId job, std::int64_t number);
queue::NewItem media_item(tree::JobId job, CuratedId id);
// Behind the partition's lock.
Result<> put_items(store::Tx& tx, queue::PartitionId partition, std::vector<queue::NewItem> items);
// The partition of a job, and its first items. Behind its lock.
Result<> open_curation(store::Tx& tx, queue::PartitionId id, tree::JobId job, std::size_t sources,
                       std::int64_t at_once);

// "a b.mp3" of "https://a.test/x/a%20b.mp3?from=feed"; "" where it ends with a slash.
std::string name_in(const std::string& url);
// How an entry of a feed is recognised; "" where it has no id.
std::string key_of(const std::string& feed, const std::string& id);
// Of what its entries say: another one where there is something new.
std::string digest_of(const Feed& feed);

CuratedOrder order_of(const Curation& job, const std::string& feed, const FeedEntry& entry);
// What is known of an address stays, where its curator says nothing else.
Result<CuratedOrder> order_of(store::Tx& tx, const Curation& job, const Source& source);
// It could not be had, as its `problem` says. False where it has ended before. Alone.
Result<bool> end_failed_source(store::Tx& tx, const Curation& job, const SourceRow& source,
                               std::int64_t feed_wait_us);
// The root file that its media becomes, without the bytes.
tree::AddRoot root_of(const Curation& job, const Curated& row, const std::string& url);
Result<FeedId> register_feed(store::Tx& tx, const Curation& job, const std::string& url);

}  // namespace quern::research

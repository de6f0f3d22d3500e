// Outbox: messages of topics, in the order in which they were published.
//
// Guarantee: a message is in its topic if and only if the transaction that published it was
// committed, and once. How: it is a row of that transaction, with a key of its own. Whoever reads
// asks for what is behind the last id that it has seen, and misses nothing: ids become visible in
// their order, since publishers of one store wait for one another.
#pragma once

#include <string>
#include <vector>

#include "store/tx.h"

namespace quern::fileset {

inline constexpr std::int64_t kTopicPartitions = 6;
inline constexpr std::size_t kMessagesListed = 500;
inline constexpr std::size_t kTopicMessageBytesMax = 30 * 1024 * 1024;
inline constexpr char kFilesetResults[] = "ingest-fileset-results";
inline constexpr char kFileResults[] = "ingest-file-results";

struct TopicMessage {
  std::int64_t id = 0;
  std::int64_t partition = 0;
  std::string key;
  std::string body;  // JSON
  std::int64_t at_us = 0;
};

// Changes nothing where a message of that key is there. One that is too large is left out.
Result<> publish(store::Tx& tx, const std::string& topic, const std::string& key,
                 const std::string& body);
// Behind an id, of one partition (-1: of all).
Result<std::vector<TopicMessage>> list_messages(store::Tx& tx, const std::string& topic,
                                                std::int64_t after, std::int64_t partition,
                                                std::size_t limit);
struct Topic {
  std::string name;
  std::int64_t messages = 0;
  std::int64_t last = 0;
};
Result<std::vector<Topic>> list_topics(store::Tx& tx);

}  // namespace quern::fileset

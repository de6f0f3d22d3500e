#include "fileset/outbox.h"

#include "base/log.h"
#include "blob/digest.h"

namespace quern::fileset {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// SQLite has one writer.
constexpr Sql kWait{"SELECT 1", "LOCK TABLE topic_message IN SHARE ROW EXCLUSIVE MODE"};
constexpr Sql kPublish{
    "INSERT INTO topic_message (topic, partition, key, body, at_us) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (key) DO NOTHING"};
constexpr Sql kList{
    "SELECT id, partition, key, body, at_us FROM topic_message WHERE topic = $1 AND id > $2"
    " AND ($3 < 0 OR partition = $3) ORDER BY id LIMIT $4"};
constexpr Sql kTopics{
    "SELECT topic, count(*), max(id) FROM topic_message GROUP BY topic ORDER BY topic LIMIT 1000"};

std::int64_t partition_of(const std::string& key) {
  return static_cast<unsigned char>(blob::sha256_of(key)[0]) % kTopicPartitions;
}

}  // namespace

Result<> publish(Tx& tx, const std::string& topic, const std::string& key,
                 const std::string& body) {
  if (body.size() > kTopicMessageBytesMax) {
    log_warn("fileset.message_too_large", {{"topic", topic}, {"key", key}});
    return {};
  }
  TRY(tx.query(kWait));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const std::string own = topic + ":" + key;
  TRY(tx.exec(kPublish, topic, partition_of(key), own, body, now_us));
  return {};
}

Result<std::vector<TopicMessage>> list_messages(Tx& tx, const std::string& topic,
                                                std::int64_t after, std::int64_t partition,
                                                std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, topic, after, partition, limit));
  std::vector<TopicMessage> messages;
  for (const Row row : rows) {
    messages.push_back({row.get<std::int64_t>(0), row.get<std::int64_t>(1), row.get<std::string>(2),
                        row.get<std::string>(3), row.get<std::int64_t>(4)});
  }
  return messages;
}

Result<std::vector<Topic>> list_topics(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kTopics));
  std::vector<Topic> topics;
  for (const Row row : rows) {
    topics.push_back({row.get<std::string>(0), row.get<std::int64_t>(1), row.get<std::int64_t>(2)});
  }
  return topics;
}

}  // namespace quern::fileset

// Messages: the named queues of seed 003 (INDEX, CRAWL, TIMER, PACK, ORCH, SEARCHER-id), each a
// partition whose items are messages. The vocabulary is closed: what is not in it is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "queue/item.h"

namespace quern::queue {

inline constexpr std::size_t kMessageBytesMax = 64 * 1024;
inline constexpr std::size_t kMessagesListedMax = 100;
inline constexpr std::size_t kSiteBytesMax = 255;
// A message that was consumed is remembered so long, so that a repeated post of it is the same one.
inline constexpr std::int64_t kMessageRetainMs = 24 * 3600 * 1000LL;

// "INDEX" for HEAD, "SEARCHER-…" as it is; Missing where there is no such queue.
Result<std::string> canonical_queue(std::string_view name);
// The partition of a queue: "quern:queue:INDEX". Its kind is the same text without the id of a
// searcher: "queue:INDEX".
std::string partition_of_queue(const std::string& queue);
std::string kind_of_queue(const std::string& queue);

struct Message {
  std::string type;
  std::string body;  // canonical JSON, with the type
};
// Invalid where it is no object, its type is unknown or belongs to another queue, a field is
// unknown, missing or of the wrong type.
Result<Message> parse_message(const std::string& queue, std::string_view json);

// Invalid where it cannot be the name of an item, or belongs to the messages that timers post.
Result<> validate_message_key(std::string_view key);
// The item of a message; the idempotency key, where there is one, is its name.
NewItem message_item(const Message& message, const std::string& idempotency_key);
// The partition as every poster wants it: declared, never closing, keeping consumed messages for
// kMessageRetainMs. Blocks.
Result<PartitionId> ensure_queue(store::Writer& writer, store::Readers& readers,
                                 const std::string& queue);

// A page of a queue's messages by name, with their bodies, for people; none where nobody has posted
// yet. At most kMessagesListedMax.
Result<std::vector<Item>> list_messages(store::Tx& tx, const std::string& queue,
                                        const ItemFilter& filter);

}  // namespace quern::queue

// Many items in one request, and what putting one and putting many have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/service.h"
#include "queue/item.h"

namespace quern::api {

inline constexpr std::size_t kItemLineBytesMax = 2 * queue::kItemBytesMax;
// A group is put in one transaction.
inline constexpr std::size_t kItemGroupMax = 1000;
inline constexpr std::size_t kItemGroupBytesMax = 4 * 1024 * 1024;
inline constexpr std::int64_t kItemPriorityMax = 1'000'000;
inline constexpr std::int64_t kItemDelayMsMax = 366LL * 86'400'000 * 10;

// All or none, into a partition that need not exist before; then tells the engine. Errors as
// queue::PutItems has them.
net::Task<Result<queue::PutItems::Reply>> put_items(std::shared_ptr<const Parts> parts,
                                                    std::string partition,
                                                    std::vector<queue::NewItem> items);

// POST: JSON lines, put in order as they come, a group at a time. Memory is one group. What is
// wrong with a line is said with its number and with how many items were put before it; those stay.
net::Task<Result<>> put_lines(std::shared_ptr<const Parts> parts, Call call);

}  // namespace quern::api

// The limits that bench_store compares with: the same rows, the same durability, the driver's own C
// interface and nothing between.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace quern::bench {

class RawStore {
 public:
  virtual ~RawStore() = default;
  // Inserts rows [key, key + count) of the given text in one transaction, as fast as the store can.
  virtual void insert(std::int64_t key, int count, const std::string& text) = 0;
};

std::unique_ptr<RawStore> open_raw_sqlite(const std::string& path);
std::unique_ptr<RawStore> open_raw_postgres(const std::string& url);

}  // namespace quern::bench

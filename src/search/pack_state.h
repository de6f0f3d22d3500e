// What an opened pack holds. Inside search only.
#pragma once

#include <vector>

#include "search/columns.h"
#include "search/connection.h"
#include "search/pack.h"

namespace quern::search {

struct Pack::State {
  explicit State(const std::filesystem::path& path) : pool(path) {}

  Columns columns;
  std::int64_t length = 0;                // tokens of all documents
  std::vector<std::uint32_t> path_order;  // rows in the order of their paths
  mutable ConnectionPool pool;

  Result<PooledConnection> connection() const { return pool.take(); }
  Result<> load(Connection& connection);
};

}  // namespace quern::search

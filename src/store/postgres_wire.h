// PostgreSQL's binary format, for the types we use: bigint, double, boolean, text, bytea and
// arrays.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/sql.h"

struct pg_result;  // PGresult

namespace quern::store {

using Oid = unsigned int;  // as libpq has it

// The parameters of one execution, as libpq wants them. Numbers and arrays live in the arena.
class WireParams {
 public:
  explicit WireParams(std::span<const Param> params);
  explicit WireParams(const Bulk& bulk);

  int count() const { return static_cast<int>(types_.size()); }
  const Oid* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void add(Oid type, const char* data, int length);
  void finish();

  std::string arena_;
  std::vector<std::pair<int, std::size_t>> arena_values_;  // parameter, begin in the arena
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

// Appends the rows of a result; Internal where a column has a type that we do not read.
Result<> append_rows(const pg_result* result, Rows& rows);

}  // namespace quern::store

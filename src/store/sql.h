// Sql, Param, Bulk: what is handed to a session.
//
// An Sql is a constant of the program: its constructor runs at compile time only, so text can never
// be assembled from values, and its address identifies a prepared statement. Where the stores need
// different words, it holds one text for each. Parameters are $1, $2, ... in both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/id.h"

namespace quern::store {

enum class StoreKind { Sqlite, Postgres };

class Sql {
 public:
  consteval Sql(const char* both)
      : sqlite_(both), postgres_(both) {}  // NOLINT: implicit on purpose
  consteval Sql(const char* sqlite, const char* postgres) : sqlite_(sqlite), postgres_(postgres) {}

  const char* text(StoreKind kind) const { return kind == StoreKind::Sqlite ? sqlite_ : postgres_; }

 private:
  const char* sqlite_;
  const char* postgres_;
};

using Bytes = std::span<const std::byte>;

// A value to bind. It refers to text and bytes; they must outlive the call.
struct Param {
  enum class Type : std::uint8_t { Bool, Int, Real, Text, Blob };

  Type type = Type::Int;
  bool null = false;
  std::int64_t integer = 0;  // Bool, Int
  double real = 0;
  std::string_view bytes;  // Text, Blob

  Param(bool value) : type(Type::Bool), integer(value) {}  // NOLINT: all implicit on purpose
  template <std::integral Int>
  Param(Int value) : type(Type::Int), integer(static_cast<std::int64_t>(value)) {}  // NOLINT
  Param(double value) : type(Type::Real), real(value) {}                            // NOLINT
  Param(std::string_view text) : type(Type::Text), bytes(text) {}                   // NOLINT
  Param(const std::string& text) : type(Type::Text), bytes(text) {}                 // NOLINT
  Param(const char* text) : type(Type::Text), bytes(text) {}                        // NOLINT
  Param(Bytes blob)                                                                 // NOLINT
      : type(Type::Blob), bytes(reinterpret_cast<const char*>(blob.data()), blob.size()) {}
  template <class Tag>
  Param(Id<Tag> id) : type(Type::Int), integer(id.value) {}  // NOLINT
  // A missing value keeps its type: PostgreSQL prepares by types.
  template <class T>
  Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(T{})) {  // NOLINT
    null = !value.has_value();
  }
};

// Rows of values for one statement, applied as a whole.
//
// On PostgreSQL each column becomes one array parameter of one statement (unnest($1::bigint[],
// ...)); on SQLite the statement runs once per row. Rows that either returns come back in no
// promised order: match them by a key that the statement returns.
class Bulk {
 public:
  template <class... Values>
  void add(const Values&... values) {
    CHECK(width_ == 0 || width_ == sizeof...(Values));
    width_ = sizeof...(Values);
    (params_.emplace_back(values), ...);
  }

  std::size_t width() const { return width_; }
  std::size_t rows() const { return width_ == 0 ? 0 : params_.size() / width_; }
  std::span<const Param> row(std::size_t i) const {
    return std::span(params_).subspan(i * width_, width_);
  }
  const Param& at(std::size_t row, std::size_t column) const {
    return params_[row * width_ + column];
  }

 private:
  std::vector<Param> params_;  // row by row
  std::size_t width_ = 0;
};

}  // namespace quern::store

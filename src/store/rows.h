// Rows: what a statement returned, copied out of the driver, with typed access.
//
// Asking a cell for a type it does not have is our bug (CHECK): statement and reader are written
// together. A statement that could return much has a LIMIT; kRowsMax guards against one that
// forgot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/id.h"

namespace quern::store {

inline constexpr std::size_t kRowsMax = 100'000;

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

template <class T>
struct CellReader;

class Row {
 public:
  explicit Row(std::span<const Cell> cells) : cells_(cells) {}

  template <class T>
  T get(std::size_t column) const {
    CHECK(column < cells_.size());
    return CellReader<T>::read(cells_[column]);
  }
  bool is_null(std::size_t column) const {
    CHECK(column < cells_.size());
    return std::holds_alternative<std::monostate>(cells_[column]);
  }

 private:
  std::span<const Cell> cells_;
};

class Rows {
 public:
  explicit Rows(std::size_t width = 0) : width_(width) {}

  std::size_t size() const { return width_ == 0 ? 0 : cells_.size() / width_; }
  bool empty() const { return cells_.empty(); }
  Row operator[](std::size_t i) const {
    CHECK(i < size());
    return Row(std::span(cells_).subspan(i * width_, width_));
  }

  struct Iterator {
    const Rows* rows;
    std::size_t at;
    Row operator*() const { return (*rows)[at]; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  // Rows inserted, updated or deleted.
  std::int64_t changed() const { return changed_; }
  // Whether the statement may have written; a read never needs undoing.
  bool wrote() const { return wrote_; }

  // For drivers.
  void set_width(std::size_t width) {
    CHECK(width_ == 0 || width_ == width);
    width_ = width;
  }
  void add(Cell cell) { cells_.push_back(std::move(cell)); }
  void count(std::int64_t changed) { changed_ += changed; }
  void mark_written() { wrote_ = true; }

 private:
  std::size_t width_;
  std::vector<Cell> cells_;
  std::int64_t changed_ = 0;
  bool wrote_ = false;
};

template <class T>
  requires std::is_integral_v<T>
struct CellReader<T> {
  static T read(const Cell& cell) {
    const auto* value = std::get_if<std::int64_t>(&cell);
    CHECK(value != nullptr);
    return static_cast<T>(*value);
  }
};
template <>
struct CellReader<double> {
  static double read(const Cell& cell) {
    // SQLite gives back a whole number for a REAL expression that is one.
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    const auto* value = std::get_if<double>(&cell);
    CHECK(value != nullptr);
    return *value;
  }
};
template <>
struct CellReader<std::string> {
  static std::string read(const Cell& cell) {
    const auto* value = std::get_if<std::string>(&cell);
    CHECK(value != nullptr);
    return *value;
  }
};
template <class Tag>
struct CellReader<Id<Tag>> {
  static Id<Tag> read(const Cell& cell) { return {CellReader<std::int64_t>::read(cell)}; }
};
template <class T>
struct CellReader<std::optional<T>> {
  static std::optional<T> read(const Cell& cell) {
    if (std::holds_alternative<std::monostate>(cell)) return std::nullopt;
    return CellReader<T>::read(cell);
  }
};

}  // namespace quern::store

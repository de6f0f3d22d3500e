// Columns: what ranking, filters and orders need of each document, in memory: 32 bytes each.
//
// Row r stands at r - 1. The rows are in the order of days, so that days are ranges of rows; of one
// day those with greater ties come first, so that walking downward gives the order of Sort::Newest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/pack_builder.h"

namespace quern::search {

class SqliteFile;

inline constexpr std::size_t kTypeBytesMax = 255;

struct Columns {
  std::vector<std::int64_t> file;
  std::vector<std::uint32_t> length;  // tokens
  std::vector<std::uint32_t> type;    // place in `types`
  std::vector<std::int32_t> day;
  std::vector<std::uint32_t> path;  // its rank among all paths of the pack, from 0
  std::vector<std::uint32_t> job;   // place in `jobs`
  std::vector<std::uint32_t> tie;
  std::vector<std::string> types;
  std::vector<std::int64_t> jobs;

  std::size_t documents() const { return file.size(); }
  void reserve(std::size_t documents);
  // Rows from the first to the last, both inclusive; first > last: none.
  std::pair<std::uint32_t, std::uint32_t> rows_of_days(std::int32_t first, std::int32_t last) const;
  Result<> save(SqliteFile& pack) const;
  // Every number is checked; Corrupt where one makes no sense.
  static Result<Columns> load(SqliteFile& pack, std::int64_t documents);
};

// What filters of paths look at, folded: of a page the part of its address behind the host, of
// anything else its filename.
std::string document_path(std::string_view url, std::string_view filename);

// Gives each value its place, in the order in which they come.
template <class T>
class Places {
 public:
  std::uint32_t of(const T& value, std::vector<T>& values) {
    const auto [at, is_new] = places_.try_emplace(value, static_cast<std::uint32_t>(values.size()));
    if (is_new) values.push_back(value);
    return at->second;
  }

 private:
  std::map<T, std::uint32_t> places_;
};

}  // namespace quern::search

// The index of a web archive, made from its records alone: of ours, and of anybody's.
//
// Pure but for the reader. Memory: the head of one record.
#pragma once

#include <functional>
#include <string>

#include "web/warc.h"

namespace quern::web {

inline constexpr std::size_t kIndexedUrlBytesMax = 8 * 1024;

struct IndexCounts {
  std::int64_t records = 0;  // of any type
  std::int64_t lines = 0;
  // Captures without a line: no web address or one longer than kIndexedUrlBytesMax, no date, no
  // answer that can be read, or a place where nobody can begin to read (WarcRecord::shares_member).
  std::int64_t unreadable = 0;
};

// A line for each response and revisit, and each resource with a web address, in the order of the
// file. A digest that a record does not have is made. Errors are those of reading and of `take`;
// lines before them are right.
Result<IndexCounts> index_archive(WarcReader& reader, const std::string& filename,
                                  const std::function<Result<>(const CdxjLine&)>& take);

}  // namespace quern::web

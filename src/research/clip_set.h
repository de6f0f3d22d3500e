// ClipSet: a set of clip numbers, kept as ranges. Pure.
//
// 10,000 clips that were all researched are one range of three bytes: so what was researched of an
// episode costs next to nothing, however many clips there are.
//
//   encoded: for each range, how many numbers are left out before it (beyond the one that must be),
//   and how many it has besides its first; both as LEB128, in as few bytes as they need
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::research {

class ClipSet {
 public:
  // Invalid where it is not what encode() gives.
  static Result<ClipSet> decode(std::string_view bytes);
  std::string encode() const;  // "" of the empty set

  // Numbers are from 1 to kClipNumberMax.
  bool add(std::int64_t number);     // false where it was there
  bool remove(std::int64_t number);  // false where it was not
  void add_all(const ClipSet& other);
  bool contains(std::int64_t number) const;
  std::int64_t size() const;
  bool empty() const { return ranges_.empty(); }
  std::int64_t last() const { return ranges_.empty() ? 0 : ranges_.back().last; }
  std::vector<std::int64_t> numbers() const;

  friend bool operator==(const ClipSet&, const ClipSet&) = default;

 private:
  struct Range {
    std::int64_t first;
    std::int64_t last;

    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range>::const_iterator find(std::int64_t number) const;  // that ends at it or behind

  std::vector<Range> ranges_;  // ascending, with gaps between them
};

}  // namespace quern::research

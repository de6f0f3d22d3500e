// ClipSet: a set of clip numbers, kept as ranges. Pure.
//
// 10,000 clips that were all researched are one range of four bytes: so what was researched of an
// episode costs next to nothing, however many clips there are.
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

  bool add(std::int64_t number);     // false where it was there
  bool remove(std::int64_t number);  // false where it was not
  bool contains(std::int64_t number) const;
  std::int64_t size() const;
  bool empty() const { return ranges_.empty(); }
  std::vector<std::int64_t> numbers() const;

 private:
  struct Range {
    std::int64_t first;
    std::int64_t last;
  };
  std::vector<Range> ranges_;  // ascending, with gaps between them
};

}  // namespace quern::research

#include "research/clip_set.h"

#include <algorithm>

#include "base/check.h"
#include "research/options.h"

namespace quern::research {
namespace {

void append_number(std::string& out, std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(number);
  while (rest >= 0x80) {
    out.push_back(static_cast<char>((rest & 0x7f) | 0x80));
    rest >>= 7;
  }
  out.push_back(static_cast<char>(rest));
}

Error not_a_set() {
  return {Errc::Invalid, "these bytes are no set of clip numbers"};
}

// At most kClipNumberMax, which needs four bytes.
Result<std::int64_t> take_number(std::string_view& bytes) {
  constexpr int kShiftMax = 21;
  std::int64_t number = 0;
  for (int shift = 0; shift <= kShiftMax; shift += 7) {
    if (bytes.empty()) return not_a_set();
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::int64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    if (byte == 0 && shift > 0) return not_a_set();  // it could be shorter
    return number;
  }
  return not_a_set();
}

}  // namespace

Result<ClipSet> ClipSet::decode(std::string_view bytes) {
  ClipSet set;
  std::int64_t last = -1;  // so that the first range may begin with 1
  while (!bytes.empty()) {
    TRY_ASSIGN(const std::int64_t gap, take_number(bytes));
    TRY_ASSIGN(const std::int64_t more, take_number(bytes));
    const std::int64_t first = last + 2 + gap;
    last = first + more;
    if (last > kClipNumberMax) return not_a_set();
    set.ranges_.push_back({first, last});
  }
  return set;
}

std::string ClipSet::encode() const {
  std::string bytes;
  std::int64_t last = -1;
  for (const Range& range : ranges_) {
    append_number(bytes, range.first - last - 2);
    append_number(bytes, range.last - range.first);
    last = range.last;
  }
  return bytes;
}

std::vector<ClipSet::Range>::const_iterator ClipSet::find(std::int64_t number) const {
  return std::ranges::lower_bound(ranges_, number, {}, &Range::last);
}

bool ClipSet::add(std::int64_t number) {
  CHECK(number >= 1 && number <= kClipNumberMax);
  const auto at = ranges_.begin() + (find(number) - ranges_.begin());
  if (at != ranges_.end() && at->first <= number) return false;
  const bool joins_next = at != ranges_.end() && at->first == number + 1;
  const bool joins_before = at != ranges_.begin() && (at - 1)->last == number - 1;
  if (joins_next && joins_before) {
    (at - 1)->last = at->last;
    ranges_.erase(at);
  } else if (joins_next) {
    at->first = number;
  } else if (joins_before) {
    (at - 1)->last = number;
  } else {
    ranges_.insert(at, {number, number});
  }
  return true;
}

bool ClipSet::remove(std::int64_t number) {
  const auto at = ranges_.begin() + (find(number) - ranges_.begin());
  if (at == ranges_.end() || at->first > number) return false;
  const Range range = *at;
  if (range.first == range.last) {
    ranges_.erase(at);
  } else if (range.first == number) {
    at->first = number + 1;
  } else if (range.last == number) {
    at->last = number - 1;
  } else {
    at->last = number - 1;
    ranges_.insert(at + 1, {number + 1, range.last});
  }
  return true;
}

void ClipSet::add_all(const ClipSet& other) {
  std::vector<Range> both;
  std::ranges::merge(ranges_, other.ranges_, std::back_inserter(both), {}, &Range::first,
                     &Range::first);
  ranges_.clear();
  for (const Range& range : both) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool ClipSet::contains(std::int64_t number) const {
  const auto at = find(number);
  return at != ranges_.end() && at->first <= number;
}

std::int64_t ClipSet::size() const {
  std::int64_t size = 0;
  for (const Range& range : ranges_) size += range.last - range.first + 1;
  return size;
}

std::vector<std::int64_t> ClipSet::numbers() const {
  std::vector<std::int64_t> numbers;
  for (const Range& range : ranges_) {
    for (std::int64_t number = range.first; number <= range.last; ++number) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace quern::research

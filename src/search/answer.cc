#include <bit>
#include <cstring>
#include <tuple>

#include "search/pack.h"

namespace quern::search {

std::int64_t Mask::count() const {
  std::int64_t set = 0;
  std::size_t at = 0;
  // Eight bytes at a time: it is asked for with every question.
  for (std::uint64_t word = 0; at + sizeof word <= bits_.size(); at += sizeof word) {
    std::memcpy(&word, bits_.data() + at, sizeof word);
    set += std::popcount(word);
  }
  for (; at < bits_.size(); ++at) set += std::popcount(static_cast<unsigned char>(bits_[at]));
  return set;
}

void Frequencies::add(const Frequencies& other) {
  documents += other.documents;
  length += other.length;
  for (const auto& [token, found] : other.by_token) by_token[token] += found;
}

bool goes_before(Sort sort, const Place& a, const Place& b) {
  if (sort == Sort::Relevance && a.score != b.score) return a.score > b.score;
  if (sort == Sort::Newest && a.day != b.day) return a.day > b.day;
  if (sort == Sort::Oldest && a.day != b.day) {
    // Those without a day come last in either order.
    if (a.day == kNoDay || b.day == kNoDay) return b.day == kNoDay;
    return a.day < b.day;
  }
  return std::tie(a.tie, a.file) < std::tie(b.tie, b.file);
}

}  // namespace quern::search

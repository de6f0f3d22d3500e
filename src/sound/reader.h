// Reader: stretches of a source, each beginning where the one before did or later.
//
// What overlaps is read once; a long gap is jumped over, a short one read. Memory: the longest
// stretch. Before the first sample and behind the last there is silence.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sound/finder.h"

namespace quern::sound {

class Reader {
 public:
  // The end is unknown until it was reached.
  explicit Reader(Source& source) : source_(source) {}

  // Valid until the next call. It may begin before the stretch of the last call, too: that is only
  // slower.
  Result<std::span<const float>> window(std::int64_t begin, std::int64_t end) {
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    TRY(go_to(from));
    const auto want = static_cast<std::size_t>(std::max<std::int64_t>(end - from, 0));
    while (kept_.size() < want && !at_end_) TRY(read_more(want));
    const auto lead = static_cast<std::size_t>(std::min(from, end) - begin);
    const std::size_t have = std::min(want, kept_.size());
    padded_.assign(static_cast<std::size_t>(end - begin), 0.0F);
    std::copy_n(kept_.begin(), have, padded_.begin() + static_cast<std::ptrdiff_t>(lead));
    return std::span<const float>(padded_);
  }

  bool ended() const { return end_ >= 0; }
  // Where the source ends, once that is known; until then behind what was read.
  std::int64_t end() const { return end_ >= 0 ? end_ : begin_ + std::int64_t(kept_.size()); }

 private:
  static constexpr std::int64_t kJump = 15LL * kRate;
  static constexpr std::size_t kReadSamples = 1 << 16;

  Result<> go_to(std::int64_t from) {
    const std::int64_t behind = begin_ + static_cast<std::int64_t>(kept_.size());
    if (started_ && from >= begin_ && from <= behind + kJump) {
      while (begin_ + static_cast<std::int64_t>(kept_.size()) < from && !at_end_) {
        TRY(read_more(0));
        drop(std::min(from, begin_ + static_cast<std::int64_t>(kept_.size())));
      }
      drop(std::min(from, begin_ + static_cast<std::int64_t>(kept_.size())));
      return {};
    }
    TRY(source_.seek(from));
    started_ = true;
    at_end_ = false;
    begin_ = from;
    kept_.clear();
    return {};
  }

  void drop(std::int64_t until) {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(until - begin_));
    begin_ = until;
  }

  Result<> read_more(std::size_t want) {
    const std::size_t had = kept_.size();
    kept_.resize(std::max(want, had + kReadSamples));
    TRY_ASSIGN(const std::size_t got, source_.read(std::span(kept_).subspan(had)));
    kept_.resize(had + got);
    if (got > 0) return {};
    at_end_ = true;
    // A seek behind the end tells nothing of where it is.
    if (had > 0 || begin_ == 0) end_ = begin_ + static_cast<std::int64_t>(had);
    return {};
  }

  Source& source_;
  std::vector<float> kept_, padded_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = -1;
  bool started_ = false;
  bool at_end_ = false;
};

}  // namespace quern::sound

// Peaks: the loudest samples of equal stretches of a sound, however long it is, in little memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace quern::worker {

// Between count/2 and count stretches: whenever they are full, each two become one. Pure.
class Peaks {
 public:
  explicit Peaks(std::size_t count) : count_(count) {}

  void add(float sample) {
    loudest_ = std::max(loudest_, std::min(std::fabs(sample), 1.0F));
    if (++in_stretch_ < stretch_) return;
    peaks_.push_back(loudest_);
    loudest_ = 0;
    in_stretch_ = 0;
    if (peaks_.size() == count_) halve();
  }

  std::vector<float> finish() {
    if (in_stretch_ > stretch_ / 2) peaks_.push_back(loudest_);
    return std::move(peaks_);
  }

 private:
  void halve() {
    for (std::size_t i = 0; i < count_ / 2; ++i) {
      peaks_[i] = std::max(peaks_[2 * i], peaks_[2 * i + 1]);
    }
    peaks_.resize(count_ / 2);
    stretch_ *= 2;
  }

  std::size_t count_;
  std::uint64_t stretch_ = 1;
  std::uint64_t in_stretch_ = 0;
  float loudest_ = 0;
  std::vector<float> peaks_;
};

}  // namespace quern::worker

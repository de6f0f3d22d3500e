// Peaks: the shape of a sound of any length, in few points. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace quern::sound {

// Between count/2 and count points (fewer of a shorter sound): whenever they are full, each two
// become one.
class Peaks {
 public:
  explicit Peaks(std::size_t count) : count_(count / 2 * 2) {}

  void add(float sample) {
    loudest_ = std::max(loudest_, std::min(std::fabs(sample), 1.0F));
    if (++in_stretch_ < stretch_) return;
    peaks_.push_back(loudest_);
    loudest_ = 0;
    in_stretch_ = 0;
    if (peaks_.size() == count_) halve();
  }

  // One byte a point, 255 for a full scale.
  std::string finish() {
    if (in_stretch_ > stretch_ / 2) peaks_.push_back(loudest_);
    std::string points;
    for (const float peak : peaks_) points += static_cast<char>(std::lround(peak * 255));
    return points;
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
  std::uint64_t stretch_ = 64;
  std::uint64_t in_stretch_ = 0;
  float loudest_ = 0;
  std::vector<float> peaks_;
};

}  // namespace quern::sound

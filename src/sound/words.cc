#include "sound/words.h"

#include <algorithm>
#include <cmath>

#include "sound/finder.h"

namespace quern::sound {
namespace {

constexpr double kLowHz = 230;
constexpr double kHighHz = 3'700;

}  // namespace

BandMaker::BandMaker() : fft_(kFrame), shape_(kFrame), shaped_(kFrame), spectrum_(fft_.bins()) {
  for (std::size_t i = 0; i < kFrame; ++i) {
    shape_[i] = static_cast<float>(0.5 - 0.5 * std::cos(2 * M_PI * (double(i) + 0.5) / kFrame));
  }
  for (std::size_t band = 0; band <= kBands; ++band) {
    const double hz = kLowHz * std::pow(kHighHz / kLowHz, double(band) / kBands);
    edges_[band] = static_cast<std::size_t>(std::lround(hz * kFrame / kRate));
  }
}

void BandMaker::measure(const float* frame, Bands& bands) {
  for (std::size_t i = 0; i < kFrame; ++i) shaped_[i] = frame[i] * shape_[i];
  fft_.forward(shaped_.data(), spectrum_.data());
  for (std::size_t band = 0; band < kBands; ++band) {
    float sum = 0;
    for (std::size_t bin = edges_[band]; bin < edges_[band + 1]; ++bin) {
      sum += std::norm(spectrum_[bin]);
    }
    bands[band] = sum;
  }
}

void BandMaker::add(std::span<const float> samples, std::vector<Bands>& frames) {
  kept_.insert(kept_.end(), samples.begin(), samples.end());
  std::size_t at = 0;
  for (; at + kFrame <= kept_.size(); at += kHop) measure(kept_.data() + at, frames.emplace_back());
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::array<float, 32> gains(const Bands& from, const Bands& to, float floor) {
  std::array<float, 32> result;
  float before = std::log((to[0] + floor) / (from[0] + floor));
  for (std::size_t m = 0; m < 32; ++m) {
    const float after = std::log((to[m + 1] + floor) / (from[m + 1] + floor));
    result[m] = before - after;
    before = after;
  }
  return result;
}

std::uint32_t word_of(const std::array<float, 32>& gains) {
  std::uint32_t word = 0;
  for (std::size_t m = 0; m < 32; ++m) word |= std::uint32_t(gains[m] > 0) << m;
  return word;
}

}  // namespace quern::sound

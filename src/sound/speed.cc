#include "sound/speed.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace quern::sound {
namespace {

constexpr std::ptrdiff_t kTaps = 24;
constexpr std::size_t kPhases = 1024;

using Taps = std::array<float, kTaps>;

// For every phase, a sinc under a window of cosines; one more, to look up by rounding.
const std::vector<Taps>& table() {
  static const std::vector<Taps> made = [] {
    std::vector<Taps> taps(kPhases + 1);
    for (std::size_t phase = 0; phase <= kPhases; ++phase) {
      double sum = 0;
      for (std::ptrdiff_t k = 0; k < kTaps; ++k) {
        const double x = double(k - kTaps / 2 + 1) - double(phase) / kPhases;
        const double sinc = std::fabs(x) < 1e-9 ? 1 : std::sin(M_PI * x) / (M_PI * x);
        const double shape = std::cos(M_PI * x / (kTaps + 1));
        taps[phase][static_cast<std::size_t>(k)] = static_cast<float>(sinc * shape * shape);
        sum += sinc * shape * shape;
      }
      for (float& tap : taps[phase]) tap = static_cast<float>(double(tap) / sum);
    }
    return taps;
  }();
  return made;
}

}  // namespace

std::vector<float> at_speed(std::span<const float> samples, double speed) {
  if (speed == 1) return {samples.begin(), samples.end()};
  const std::vector<Taps>& taps = table();
  const auto size = static_cast<std::ptrdiff_t>(samples.size());
  const auto count = static_cast<std::size_t>(double(size) / speed);
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double at = double(i) * speed;
    const auto whole = static_cast<std::ptrdiff_t>(at);
    const Taps& phase = taps[static_cast<std::size_t>((at - double(whole)) * kPhases + 0.5)];
    const std::ptrdiff_t first = whole - kTaps / 2 + 1;
    float sum = 0;
    if (first >= 0 && first + kTaps <= size) {
      for (std::ptrdiff_t k = 0; k < kTaps; ++k) {
        sum += phase[static_cast<std::size_t>(k)] * samples[static_cast<std::size_t>(first + k)];
      }
    } else {
      for (std::ptrdiff_t k = 0; k < kTaps; ++k) {
        if (first + k < 0 || first + k >= size) continue;
        sum += phase[static_cast<std::size_t>(k)] * samples[static_cast<std::size_t>(first + k)];
      }
    }
    result[i] = sum;
  }
  return result;
}

}  // namespace quern::sound

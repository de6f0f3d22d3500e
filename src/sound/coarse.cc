#include "sound/coarse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "sound/correlate.h"

namespace quern::sound {
namespace {

// Taps on either side, every other of them: those between are zero.
constexpr std::size_t kTaps = 8;
constexpr std::int64_t kReach = 2 * kTaps - 1;
// So much of the clip's energy must be left, and so much of its likeness to itself between two
// samples.
constexpr double kEnergyMin = 0.75;
constexpr double kLikenessMin = 0.9;
constexpr double kSpare = 0.9;
constexpr std::size_t kCoarseMin = 64;  // samples
constexpr std::size_t kBlockMin = 1 << 13;
// Of a full scale of 1.
constexpr double kSilentLevel = 1e-5;

const std::array<float, kTaps>& taps() {
  static const std::array<float, kTaps> made = [] {
    std::array<float, kTaps> taps{};
    double sum = 0;
    for (std::size_t k = 0; k < kTaps; ++k) {
      const double x = 2 * double(k) + 1;
      const double shape = std::cos(M_PI * x / (4.0 * kTaps + 2));
      const double sinc = std::sin(M_PI * x / 2) / (M_PI * x / 2);
      taps[k] = static_cast<float>(sinc * shape * shape);
      sum += 2 * double(taps[k]);
    }
    for (float& tap : taps) tap = static_cast<float>(double(tap) / (2 * sum));
    return taps;
  }();
  return made;
}

double energy_of(std::span<const float> samples) {
  double energy = 0;
  for (const float sample : samples) energy += double(sample) * sample;
  return energy;
}

std::vector<float> lowered(std::span<const float> samples, int halvings) {
  std::vector<float> result(samples.begin(), samples.end());
  for (int i = 0; i < halvings; ++i) result = halve(result);
  return result;
}

// How many samples of the lower rate at either end depend on what is around.
std::int64_t edge_of(int halvings) {
  std::int64_t edge = 0;
  for (int i = 0; i < halvings; ++i) edge = (edge + kReach + 1) / 2;
  return edge;
}

// The clip when it was played half a sample of the lower rate later.
double likeness_between(std::span<const float> clip, const CoarseClip& coarse) {
  if (coarse.halvings == 0) return 1;
  const std::vector<float> later =
      lowered(clip.subspan(std::size_t(1) << (coarse.halvings - 1)), coarse.halvings);
  double best = 0;
  for (const std::int64_t lag : {coarse.skipped - 1, coarse.skipped}) {
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(lag, 0));
    if (begin + coarse.samples.size() > later.size()) continue;
    const Template shape{coarse.samples, coarse.norm};
    best = std::max(best, score_at(later, begin, shape));
  }
  return best;
}

}  // namespace

std::vector<float> halve(std::span<const float> samples) {
  const std::array<float, kTaps>& weights = taps();
  const auto size = static_cast<std::int64_t>(samples.size());
  std::vector<float> result((samples.size() + 1) / 2);
  const auto at = [&](std::int64_t i) {
    return i < 0 || i >= size ? 0.0F : samples[static_cast<std::size_t>(i)];
  };
  for (std::size_t n = 0; n < result.size(); ++n) {
    const auto middle = static_cast<std::int64_t>(2 * n);
    float sum = 0.5F * samples[2 * n];
    if (middle >= kReach && middle + kReach < size) {
      const float* around = samples.data() + middle;
      for (std::size_t k = 0; k < kTaps; ++k) {
        const auto off = static_cast<std::ptrdiff_t>(2 * k + 1);
        sum += weights[k] * (around[-off] + around[off]);
      }
    } else {
      for (std::size_t k = 0; k < kTaps; ++k) {
        const auto off = static_cast<std::int64_t>(2 * k + 1);
        sum += weights[k] * (at(middle - off) + at(middle + off));
      }
    }
    result[n] = sum;
  }
  return result;
}

CoarseClip make_coarse(std::span<const float> clip, double least) {
  CHECK(!clip.empty() && clip.size() <= kCoarseSamplesMax);
  const double whole = energy_of(clip);
  CoarseClip best;
  for (int halvings = 0; halvings <= kHalvingsMax; ++halvings) {
    CoarseClip coarse{.halvings = halvings, .samples = lowered(clip, halvings)};
    coarse.skipped = edge_of(halvings);
    const auto edge = static_cast<std::size_t>(coarse.skipped);
    if (coarse.samples.size() < 2 * edge + (halvings > 0 ? kCoarseMin : 0)) break;
    coarse.samples.resize(coarse.samples.size() - edge);
    coarse.samples.erase(coarse.samples.begin(), coarse.samples.begin() + std::ptrdiff_t(edge));
    coarse.norm = make_template(coarse.samples).norm;
    const double left = coarse.norm * coarse.norm * double(1 << halvings) / whole;
    const double likeness = likeness_between(clip, coarse);
    if (halvings > 0 && (left < kEnergyMin || likeness < kLikenessMin)) break;
    const double part = std::min(left, 1.0);
    const double here = std::sqrt(std::max((least * least - (1 - part)) / part, 0.0));
    coarse.least = kSpare * likeness * here;
    best = std::move(coarse);
  }
  return best;
}

void CoarseScanner::load(std::span<const float> window) {
  levels_.clear();
  levels_.emplace_back().samples.assign(window.begin(), window.end());
}

CoarseScanner::Level& CoarseScanner::level(int halvings) {
  while (levels_.size() <= std::size_t(halvings)) {
    std::vector<float> lower = halve(levels_.back().samples);
    levels_.emplace_back().samples = std::move(lower);
  }
  Level& level = levels_[std::size_t(halvings)];
  if (!level.sums.empty()) return level;
  level.sums.resize(level.samples.size() + 1);
  level.squares.resize(level.samples.size() + 1);
  for (std::size_t i = 0; i < level.samples.size(); ++i) {
    level.sums[i + 1] = level.sums[i] + level.samples[i];
    level.squares[i + 1] = level.squares[i] + double(level.samples[i]) * level.samples[i];
  }
  return level;
}

RealFft& CoarseScanner::fft(std::size_t size) {
  auto& made = ffts_[size];
  if (!made) made = std::make_unique<RealFft>(size);
  return *made;
}

// Of two blocks each, one block apart.
const std::vector<Complex>& CoarseScanner::spectra(Level& level, std::size_t block) {
  std::vector<Complex>& made = level.spectra[block];
  if (!made.empty()) return made;
  RealFft& transform = fft(2 * block);
  std::vector<float> samples(2 * block);
  for (std::size_t at = 0; at < level.samples.size(); at += block) {
    const std::size_t count = std::min(2 * block, level.samples.size() - at);
    std::copy_n(level.samples.begin() + std::ptrdiff_t(at), count, samples.begin());
    std::fill(samples.begin() + std::ptrdiff_t(count), samples.end(), 0.0F);
    made.resize(made.size() + transform.bins());
    transform.forward(samples.data(), made.data() + made.size() - transform.bins());
  }
  return made;
}

std::vector<Range> CoarseScanner::find(const CoarseClip& clip, std::int64_t apart, Range within) {
  std::vector<Range> found;
  Level& sound = level(clip.halvings);
  const std::size_t length = clip.samples.size();
  if (sound.samples.size() < length || length == 0) return found;
  const std::size_t places = sound.samples.size() - length + 1;
  const std::size_t block = std::max(std::bit_ceil(length), kBlockMin);
  const std::vector<Complex>& blocks = spectra(sound, block);
  RealFft& transform = fft(2 * block);
  std::vector<float> samples(2 * block);
  std::copy(clip.samples.begin(), clip.samples.end(), samples.begin());
  std::vector<Complex> shape(transform.bins()), product(transform.bins());
  transform.forward(samples.data(), shape.data());
  const double silent = kSilentLevel * kSilentLevel * double(length);
  const double least = clip.least * clip.least * clip.norm * clip.norm;
  const std::int64_t step = std::int64_t(1) << clip.halvings;
  const std::int64_t first_place = within.first / step + clip.skipped - 2;
  const std::int64_t last_place = within.last / step + clip.skipped + 2;
  for (std::size_t at = 0, row = 0; at < places; at += block, ++row) {
    if (std::int64_t(at + block) <= first_place || std::int64_t(at) > last_place) continue;
    const Complex* heard = blocks.data() + row * transform.bins();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const float re = heard[i].real() * shape[i].real() + heard[i].imag() * shape[i].imag();
      const float im = heard[i].imag() * shape[i].real() - heard[i].real() * shape[i].imag();
      product[i] = {re, im};
    }
    transform.inverse(product.data(), samples.data());
    const std::size_t end = std::min(at + block, places);
    for (std::size_t place = at; place < end; ++place) {
      const double sum = sound.sums[place + length] - sound.sums[place];
      const double energy =
          sound.squares[place + length] - sound.squares[place] - sum * sum / double(length);
      const double value = samples[place - at];
      if (value * value < least * energy || energy <= silent) continue;
      const std::int64_t first = (std::int64_t(place) - clip.skipped - 1) * step;
      const std::int64_t last = (std::int64_t(place) - clip.skipped + 1) * step;
      if (!found.empty() && first - found.back().last <= apart) {
        found.back().last = last;
      } else {
        found.push_back({first, last});
      }
    }
  }
  return found;
}

}  // namespace quern::sound

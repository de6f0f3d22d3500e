#include "sound/clip.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sound/peaks.h"
#include "sound/pursue.h"
#include "sound/speed.h"
#include "sound/words.h"

namespace quern::sound {
namespace {

// Energies below this part of the clip's mean are as good as silence.
constexpr double kQuiet = 0.05;
// Of a full scale of 1: what is below is silence, whatever a decoder makes of it.
constexpr double kSilentLevel = 1e-4;
// What else is heard where a clip must be recognised, below it.
constexpr double kNoiseDecibels = 10;
// Probes must be nearer than others by so much: noise is not always alike.
constexpr double kDistanceSpare = 0.01;
// How many of the bits are clear: the stronger half.
constexpr double kClear = 0.5;
constexpr std::size_t kReadSamples = 1 << 16;

using Gains = std::vector<std::array<float, 32>>;

Gains gains_of(std::span<const float> clip) {
  double energy = 0;
  for (const float sample : clip) energy += double(sample) * sample;
  const double mean = energy / double(clip.size());
  // The window lets 3/8 of the energy through; a band has about as much of it as any other.
  const auto floor = static_cast<float>(mean * kFrame * 0.75 * kQuiet) + kFloor;
  BandMaker maker;
  std::vector<Bands> frames;
  maker.add(clip, frames);
  Gains result;
  for (std::size_t n = 0; n + kLag < frames.size(); ++n) {
    result.push_back(gains(frames[n], frames[n + kLag], floor));
  }
  return result;
}

// The level that the clear ones are above.
float clear_level(std::span<const std::array<float, 32>> gains) {
  std::vector<float> sizes;
  for (const auto& word : gains) {
    for (const float gain : word) sizes.push_back(std::fabs(gain));
  }
  const auto middle =
      sizes.begin() + static_cast<std::ptrdiff_t>(double(sizes.size()) * (1 - kClear));
  std::nth_element(sizes.begin(), middle, sizes.end());
  return std::max(*middle, 1e-6F);
}

// Those with the most clear bits, apart from each other where there are enough.
void choose_first(Probe& probe) {
  std::vector<std::uint32_t> order(probe.words.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::popcount(probe.masks[a]) > std::popcount(probe.masks[b]);
  });
  const std::uint32_t apart = order.size() >= 4 * kFirstWords ? 3 : 1;
  for (const std::uint32_t k : order) {
    if (probe.first.size() == kFirstWords) break;
    const auto near = [&](std::uint32_t other) {
      return (k > other ? k - other : other - k) < apart;
    };
    if (std::any_of(probe.first.begin(), probe.first.end(), near)) continue;
    probe.first.push_back(k);
    probe.first_bits += static_cast<std::uint32_t>(std::popcount(probe.masks[k]));
  }
  std::sort(probe.first.begin(), probe.first.end());
}

Probe make_probe(std::span<const std::array<float, 32>> gains, std::size_t begin, double speed) {
  Probe probe;
  probe.speed = speed;
  probe.begin = static_cast<std::int64_t>(begin * kHop);
  const double middle = double(begin * kHop) + double((gains.size() - 1) * kHop + kWordSpan) / 2;
  probe.anchor = std::llround(middle * speed);
  const float level = clear_level(gains);
  for (const auto& word : gains) {
    probe.words.push_back(word_of(word));
    std::uint32_t mask = 0;
    for (std::size_t m = 0; m < 32; ++m) mask |= std::uint32_t(std::fabs(word[m]) >= level) << m;
    probe.masks.push_back(mask);
    probe.bits += static_cast<std::uint32_t>(std::popcount(mask));
  }
  choose_first(probe);
  return probe;
}

// Where the clearest stretch of so many words begins, between two words.
std::size_t clearest(const Gains& gains, std::size_t begin, std::size_t end, std::size_t count) {
  const auto clearness = [&](std::size_t n) {
    double sum = 0;
    for (const float gain : gains[n]) sum += std::min(std::fabs(gain), 3.0F);
    return sum;
  };
  double now = 0;
  for (std::size_t n = begin; n < begin + count; ++n) now += clearness(n);
  double most = now;
  std::size_t best = begin;
  for (std::size_t n = begin; n + count < end; ++n) {
    now += clearness(n + count) - clearness(n);
    if (now > most) {
      most = now;
      best = n + 1;
    }
  }
  return best;
}

Result<std::vector<float>> read_all(Source& clip, Waveform* waveform) {
  TRY(clip.seek(0));
  std::vector<float> samples;
  Peaks peaks(kWaveformPoints);
  constexpr auto kMost = static_cast<std::size_t>(kClipNsMax / 1'000'000'000 * kRate);
  while (true) {
    const std::size_t had = samples.size();
    samples.resize(had + kReadSamples);
    TRY_ASSIGN(const std::size_t got, clip.read(std::span(samples).subspan(had)));
    samples.resize(had + got);
    if (got == 0) break;
    if (samples.size() > kMost) {
      return Error(Errc::Invalid, "the clip is longer than ten minutes; cut it to what matters");
    }
    for (const float sample : std::span(samples).subspan(had)) peaks.add(sample);
  }
  if (waveform != nullptr) waveform->points = peaks.finish();
  return samples;
}

enum class Noise { Hiss, Murmur };

// The clip with some noise: white, or low and coming and going like talk. Always the same.
std::vector<float> with_noise(std::span<const float> clip, Noise noise) {
  std::vector<float> result(clip.size());
  std::uint32_t state = 1;
  double slow = 0, slower = 0, energy = 0, noise_energy = 0;
  for (std::size_t i = 0; i < clip.size(); ++i) {
    state = state * 1'664'525U + 1'013'904'223U;
    double value = double(static_cast<std::int32_t>(state)) / 2'147'483'648.0;
    if (noise == Noise::Murmur) {
      slow += (value - slow) * 0.15;
      slower += (slow - slower) * 0.03;
      value = (slow - slower) * (1.05 + std::sin(2 * M_PI * 5 * double(i) / kRate));
    }
    result[i] = static_cast<float>(value);
    noise_energy += value * value;
    energy += double(clip[i]) * clip[i];
  }
  const auto level =
      static_cast<float>(std::sqrt(energy / noise_energy * std::pow(10, -kNoiseDecibels / 10)));
  for (std::size_t i = 0; i < clip.size(); ++i) result[i] = clip[i] + level * result[i];
  return result;
}

bool is_recognised_under(std::span<const float> clip, const Probe& probe, Noise noise) {
  const std::vector<float> heard = with_noise(clip, noise);
  // Words begin half a hop beside those of the probe: as far off as can be.
  const auto from = static_cast<std::size_t>(probe.begin > 0 ? probe.begin - std::int64_t(kHop) / 2
                                                             : std::int64_t(kHop) / 2);
  BandMaker maker;
  std::vector<Bands> frames;
  maker.add(std::span(heard).subspan(from), frames);
  std::vector<std::uint32_t> differing;
  std::uint32_t all = 0, bits = 0;
  for (std::size_t n = 0; n + kLag < frames.size() && n < probe.words.size(); ++n) {
    const std::uint32_t word = word_of(gains(frames[n], frames[n + kLag], kFloor));
    differing.push_back(
        static_cast<std::uint32_t>(std::popcount((word ^ probe.words[n]) & probe.masks[n])));
    all += differing.back();
    bits += static_cast<std::uint32_t>(std::popcount(probe.masks[n]));
  }
  std::uint32_t first = 0;
  for (const std::uint32_t k : probe.first) first += k < differing.size() ? differing[k] : 0;
  return double(all) <= (distance_max(probe) - kDistanceSpare) * bits &&
         double(first) <= (kFirstDistanceMax - kDistanceSpare) * probe.first_bits;
}

}  // namespace

bool is_recognised(std::span<const float> clip, const Probe& probe) {
  return is_recognised_under(clip, probe, Noise::Hiss) &&
         is_recognised_under(clip, probe, Noise::Murmur);
}

std::vector<Probe> make_probes(std::span<const float> clip) {
  std::vector<Probe> probes;
  if (static_cast<std::int64_t>(clip.size()) < kProbedSamplesMin) return probes;
  for (const double speed : kSpeeds) {
    const std::vector<float> played = at_speed(clip, speed);
    const Gains all = gains_of(played);
    const std::size_t most = (kProbeSamplesMax - kWordSpan) / kHop + 1;
    const std::size_t count = std::min(all.size(), most);
    const std::size_t parts = all.size() >= kProbesPerSpeedMax * most ? kProbesPerSpeedMax : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = all.size() * part / parts;
      const std::size_t end = all.size() * (part + 1) / parts;
      const std::size_t from = clearest(all, begin, end, count);
      probes.push_back(make_probe(std::span(all).subspan(from, count), from, speed));
    }
  }
  return probes;
}

std::int64_t Clip::samples() const {
  return static_cast<std::int64_t>(parts_->samples.size());
}

std::int64_t Clip::duration_ns() const {
  return samples() * 1'000'000'000 / kRate;
}

std::size_t Clip::bytes() const {
  std::size_t bytes = parts_->samples.size() * sizeof(float);
  for (const Probe& probe : parts_->probes) bytes += probe.words.size() * 8;
  if (parts_->coarse) bytes += parts_->coarse->samples.size() * sizeof(float);
  return bytes;
}

Result<Clip> prepare(Source& clip, Waveform* waveform) {
  auto parts = std::make_shared<Clip::Parts>();
  TRY_ASSIGN(parts->samples, read_all(clip, waveform));
  std::vector<float>& samples = parts->samples;
  if (samples.size() * 1'000'000'000 / kRate < std::size_t(kClipNsMin)) {
    return Error(Errc::Invalid,
                 "the clip is shorter than 50 ms: too short to tell it from other sounds");
  }
  double sum = 0;
  for (const float sample : samples) sum += sample;
  const auto mean = static_cast<float>(sum / double(samples.size()));
  double energy = 0;
  for (float& sample : samples) {
    sample -= mean;
    energy += double(sample) * sample;
  }
  if (!(energy > kSilentLevel * kSilentLevel * double(samples.size()))) {
    return Error(Errc::Invalid, "the clip is silent: there is nothing to search for");
  }
  parts->norm = std::sqrt(energy);
  parts->probes = make_probes(samples);
  const auto is_enough = [&](const Probe& probe) {
    return probe.speed == 1 && is_recognised(samples, probe);
  };
  const bool wordy = samples.size() > kCoarseSamplesMax ||
                     std::any_of(parts->probes.begin(), parts->probes.end(), is_enough);
  parts->least = score_min(samples.size(), wordy ? Wordy::Yes : Wordy::No);
  if (!wordy) parts->coarse = make_coarse(samples, parts->least);
  return Clip(std::move(parts));
}

}  // namespace quern::sound

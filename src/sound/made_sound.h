// Made sounds for tests and benchmarks: like speech, like music, from a seed.
//
// Pure: the same seed gives the same samples. Not for the programs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "sound/finder.h"

namespace quern::sound {

using Samples = std::vector<float>;

// The same on every machine, unlike the distributions of the standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * double(random_() >> 11) * 0x1p-53;
  }
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  bool chance(double p) { return between(0, 1) < p; }
  double noise() { return between(-1, 1); }

 private:
  std::mt19937_64 random_;
};

// A resonance that moves.
class Formant {
 public:
  void aim(double hz, double width) {
    const double r = std::exp(-M_PI * width / kRate);
    a1_ = 2 * r * std::cos(2 * M_PI * hz / kRate);
    a2_ = -r * r;
    gain_ = (1 - r) * 2;
  }
  double step(double in) {
    const double out = gain_ * in + a1_ * y1_ + a2_ * y2_;
    y2_ = y1_;
    return y1_ = out;
  }

 private:
  double a1_ = 0, a2_ = 0, gain_ = 0, y1_ = 0, y2_ = 0;
};

// Pulses of a voice or noise, through three moving formants, with pauses.
inline Samples make_speech(std::uint64_t seed, std::size_t count) {
  Dice dice(seed * 2 + 1);
  const double voice = dice.between(90, 210);
  Samples out(count);
  std::array<Formant, 3> formants;
  std::array<double, 3> now{500, 1500, 2500}, aim = now;
  double pitch = voice, pitch_aim = voice, level = 0, level_aim = 0, phase = 0, hiss = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (left == 0) {
      left = static_cast<std::size_t>(dice.between(0.05, 0.16) * kRate);
      aim = {dice.between(250, 850), dice.between(850, 2300), dice.between(2200, 3400)};
      pitch_aim = voice * dice.between(0.8, 1.3);
      level_aim = dice.chance(0.15) ? 0 : dice.between(0.3, 1);
      hiss = dice.chance(0.25) ? dice.between(0.5, 1) : dice.between(0.01, 0.05);
    }
    --left;
    if (i % 32 == 0) {
      for (std::size_t f = 0; f < 3; ++f) {
        now[f] += (aim[f] - now[f]) * 0.06;
        formants[f].aim(now[f], 60 + 40 * double(f));
      }
    }
    pitch += (pitch_aim - pitch) * 0.0005;
    level += (level_aim - level) * 0.003;
    phase += pitch / kRate;
    double source = hiss * dice.noise() * 0.4;
    if (phase >= 1) {
      phase -= 1;
      source += (1 - hiss) * 8;
    }
    const double sound =
        formants[0].step(source) + 0.7 * formants[1].step(source) + 0.4 * formants[2].step(source);
    out[i] = static_cast<float>(0.5 * level * sound + 0.0005 * dice.noise());
  }
  return out;
}

// Notes of a scale over chords, with drums; nothing in it comes twice just so.
inline Samples make_music(std::uint64_t seed, std::size_t count) {
  Dice dice(seed * 2);
  Samples out(count);
  const double beat = 60 / dice.between(90, 150);
  const double root = dice.between(80, 160);
  constexpr std::array<int, 7> scale{0, 2, 4, 5, 7, 9, 11};
  const auto note = [&](double at, double seconds, double hz, double level) {
    const auto begin = static_cast<std::size_t>(at * kRate);
    const auto length = static_cast<std::size_t>(seconds * kRate);
    const double drift = dice.between(-0.004, 0.004), bright = dice.between(0.3, 0.7);
    double phase = dice.between(0, 1);
    for (std::size_t i = 0; i < length && begin + i < count; ++i) {
      const double t = double(i) / double(length);
      phase += hz * (1 + drift * t) / kRate;
      const double shape = std::min(1.0, t * 40) * std::exp(-3 * t);
      double sound = 0, part = 1;
      for (int h = 1; h <= 5 && hz * h < 9000; ++h, part *= bright) {
        sound += part * std::sin(2 * M_PI * phase * h);
      }
      out[begin + i] += static_cast<float>(level * shape * sound);
    }
  };
  const auto drum = [&](double at, bool low) {
    const auto begin = static_cast<std::size_t>(at * kRate);
    const double level = dice.between(0.1, 0.3), hz = dice.between(50, 90);
    for (std::size_t i = 0; i < std::size_t(kRate / 6) && begin + i < count; ++i) {
      const double t = double(i) / kRate;
      const double sound = low ? std::sin(2 * M_PI * hz * t * (1 - t)) : dice.noise();
      out[begin + i] += static_cast<float>(level * sound * std::exp(-t * (low ? 15 : 30)));
    }
  };
  int chord = 0;
  for (double at = 0; at * kRate < double(count); at += beat / 2) {
    const int half = static_cast<int>(std::lround(at / beat * 2));
    if (half % 8 == 0) {
      chord = dice.below(7);
      for (const int step : {0, 2, 4}) {
        const int tone = scale[std::size_t(chord + step) % 7] + 12 * ((chord + step) / 7);
        note(at, beat * 4, root * std::exp2(tone / 12.0), 0.12);
      }
    }
    if (dice.chance(0.7)) {
      const int tone = scale[std::size_t(dice.below(7))] + 12 * (1 + dice.below(2));
      note(at, beat * dice.between(0.4, 1.5), root * std::exp2(tone / 12.0), 0.15);
    }
    if (dice.chance(0.8)) drum(at, half % 4 == 0);
  }
  for (float& sample : out) sample += static_cast<float>(0.0005 * dice.noise());
  return out;
}

// A bell that was struck once: it hardly changes while it fades.
inline Samples make_bell(std::uint64_t seed, std::size_t count) {
  Dice dice(seed);
  Samples out(count);
  const double hz = dice.between(500, 1400);
  for (const double part : {0.5, 1.0, 2.76, 5.4}) {
    for (std::size_t i = 0; i < count; ++i) {
      const double t = double(i) / kRate;
      const double shape = std::min(1.0, t * 300) * std::exp(-t * (1.5 + part)) / (1 + part);
      out[i] += static_cast<float>(0.3 * shape * std::sin(2 * M_PI * hz * part * t));
    }
  }
  return out;
}

inline double energy_of(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += double(sample) * sample;
  return sum;
}

// White noise, so many decibels below the sound.
inline void add_noise(Samples& samples, double decibels, std::uint64_t seed) {
  Dice dice(seed);
  const double power = energy_of(samples) / double(samples.size());
  const double level = std::sqrt(3 * power * std::pow(10, -decibels / 10));
  for (float& sample : samples) sample += static_cast<float>(level * dice.noise());
}

// What is heard with the sound, so many decibels below it.
inline void mix(Samples& samples, std::span<const float> other, double decibels) {
  const double ratio = energy_of(samples) / energy_of(other.first(samples.size()));
  const auto level = static_cast<float>(std::sqrt(ratio * std::pow(10, -decibels / 10)));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += level * other[i];
}

// Puts the clip in place of what is there.
inline void plant(Samples& episode, std::span<const float> clip, std::size_t at, float gain = 1) {
  for (std::size_t i = 0; i < clip.size(); ++i) episode.at(at + i) = gain * clip[i];
}

// Sound in memory.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::span<const float> samples) : samples_(samples) {}
  Result<std::size_t> read(std::span<float> samples) override {
    const std::size_t from = std::min(at_, samples_.size());
    const std::size_t count = std::min(samples.size(), samples_.size() - from);
    std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(from), count, samples.begin());
    at_ = from + count;
    return count;
  }
  Result<> seek(std::int64_t sample) override {
    at_ = static_cast<std::size_t>(sample);
    return {};
  }

 private:
  std::span<const float> samples_;
  std::size_t at_ = 0;
};

}  // namespace quern::sound

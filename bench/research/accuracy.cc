// Recall and precision of the finder by kind of sound, length of clip and what was done to the
// episode. Found means: within 1 ms.
#include <cstdio>
#include <functional>

#include "bench/research/rig.h"

namespace quern::bench {
namespace {

using sound::kRate;
using sound::Samples;

struct Case {
  const char* name;
  std::function<Samples(const Samples&)> change;
  double speed = 1;
};

Samples encoded_again(const Samples& samples) {
  const worker::SoundForm form{"libmp3lame", "mp3", 44'100, 64'000};
  SoundFile file(worker::make_sound(form, {worker::at_rate(samples, form.rate)}));
  Samples result(samples.size());
  std::size_t got = 0;
  while (got < result.size()) {
    const std::size_t some = *file.source().read(std::span(result).subspan(got));
    if (some == 0) break;
    got += some;
  }
  result.resize(got);
  return result;
}

Samples noisy(const Samples& samples, double decibels) {
  Samples result = samples;
  sound::add_noise(result, decibels, 99);
  return result;
}

Samples talked_over(const Samples& samples, double decibels) {
  Samples result = samples;
  sound::mix(result, sound::make_speech(98, samples.size()), decibels);
  return result;
}

struct Tally {
  int planted = 0, right = 0, found = 0, candidates = 0, everywhere = 0;
  double worst_ms = 0, least_score = 1;
};

void try_clip(sound::Source& source, const sound::Fingerprint& print, const Samples& samples,
              double expected_s, Tally& tally) {
  const sound::Clip clip = clip_of(samples);
  const auto places = *sound::candidates(print, clip);
  for (const auto& place : places) ++(place.everywhere ? tally.everywhere : tally.candidates);
  bool hit = false;
  for (const auto& one : *sound::confirm(source, clip, places)) {
    ++tally.found;
    const double off_ms = std::fabs(double(one.offset_ns) / 1e9 - expected_s) * 1e3;
    if (expected_s < 0 || off_ms > 1 || hit) continue;
    hit = true;
    tally.worst_ms = std::max(tally.worst_ms, off_ms);
    tally.least_score = std::min(tally.least_score, one.score);
  }
  tally.planted += expected_s >= 0 ? 1 : 0;
  tally.right += hit ? 1 : 0;
}

}  // namespace

void measure_accuracy(const Plan& plan) {
  const Case cases[] = {
      {"clean", [](const Samples& s) { return s; }},
      {"-12 dB",
       [](const Samples& s) {
         Samples quiet = s;
         for (float& sample : quiet) sample *= 0.251F;
         return quiet;
       }},
      {"MP3 64 kbit/s", encoded_again},
      {"noise 10 dB", [](const Samples& s) { return noisy(s, 10); }},
      {"noise 5 dB", [](const Samples& s) { return noisy(s, 5); }},
      {"talk 10 dB", [](const Samples& s) { return talked_over(s, 10); }},
      {"talk 5 dB", [](const Samples& s) { return talked_over(s, 5); }},
      {"2 % faster", [](const Samples& s) { return sound::at_speed(s, 1.02); }, 1.02},
      {"3 % slower", [](const Samples& s) { return sound::at_speed(s, 0.97); }, 0.97},
  };
  const auto count = static_cast<std::size_t>(plan.accuracy_s) * kRate;
  for (const char* kind : {"speech", "music"}) {
    const auto make = kind[0] == 's' ? sound::make_speech : sound::make_music;
    const Samples episode = make(31, count);
    for (const Case& one : cases) {
      const Samples changed = one.change(episode);
      sound::MemorySource source(changed);
      const sound::Fingerprint print = *sound::make_fingerprint(source, nullptr);
      for (const double length_s : {0.5, 1.0, 2.0, 5.0}) {
        Tally tally;
        sound::Dice dice(17);
        for (int i = 0; i < plan.accuracy_clips; ++i) {
          const double from_s = dice.between(0, plan.accuracy_s - length_s - 0.1);
          try_clip(source, print, cut(episode, from_s, length_s), from_s / one.speed, tally);
          const auto other = static_cast<std::size_t>(length_s * kRate);
          try_clip(source, print, make(1000 + std::uint64_t(i), other), -1, tally);
        }
        std::printf(
            "%-7s %-14s %3.1f s  recall %5.3f  precision %5.3f  worst %6.3f ms  "
            "least score %4.2f  candidates %d  compared with everything %d\n",
            kind, one.name, length_s, double(tally.right) / tally.planted,
            tally.found > 0 ? double(tally.right) / tally.found : 1.0, tally.worst_ms,
            tally.least_score, tally.candidates, tally.everywhere);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace quern::bench

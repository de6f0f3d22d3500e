// Which places of an episode may be a clip, by words alone.
//
// Every place is compared, so nothing depends on a lucky word: the probe's clearest words first,
// all of them where those fit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sound/clip.h"
#include "sound/words.h"

namespace quern::sound {
namespace {

// Of two sounds that have nothing in common, half of the bits differ, give or take this many times
// the root of kBound / bits: neighbouring bits go together. Measured, see
// docs/research.md.
constexpr double kBound = 1.4;
// So far from chance a probe must be: about one false candidate in eight hours.
constexpr double kSigmas = 5;
// Copies are nearer than this, however long the probe is.
constexpr double kDistanceMax = 0.36;
// Candidates nearer than this are one.
constexpr std::int64_t kApartSamples = kRate / 10;

// Before the best of them are chosen.
constexpr std::size_t kUnsortedMax = 1'000'000;

struct Hit {
  std::uint32_t position = 0;
  double distance = 0;
};

constexpr std::size_t kLanes = 8;
using Lanes = std::uint32_t __attribute__((vector_size(kLanes * 4)));

struct First {
  const std::uint32_t* words;
  std::size_t places;  // a multiple of kLanes
  const Probe& probe;
  std::uint32_t limit;
};

// Calls found(place) where at most `limit` bits of the first words differ. Sums of bits are kept in
// nibbles, then bytes: 18 words of 8 bits a byte are 144.
template <class Found>
[[gnu::always_inline]] inline void compare_first(const First& in, const Found& found) {
  static_assert(kFirstWords % 3 == 0 && kFirstWords * 8 < 256);
  const std::size_t count = in.probe.first.size() / 3 * 3;
  for (std::size_t place = 0; place < in.places; place += kLanes) {
    Lanes bytes{};
    for (std::size_t i = 0; i < count; i += 3) {
      Lanes nibbles{};
      for (std::size_t k = i; k < i + 3; ++k) {
        const std::uint32_t at = in.probe.first[k];
        Lanes x;
        std::memcpy(&x, in.words + place + at, sizeof x);
        x = (x ^ in.probe.words[at]) & in.probe.masks[at];
        x -= (x >> 1) & 0x55555555U;
        nibbles += (x & 0x33333333U) + ((x >> 2) & 0x33333333U);
      }
      bytes += (nibbles & 0x0F0F0F0FU) + ((nibbles >> 4) & 0x0F0F0F0FU);
    }
    bytes = (bytes & 0x00FF00FFU) + ((bytes >> 8) & 0x00FF00FFU);
    bytes = (bytes + (bytes >> 16)) & 0xFFFFU;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (bytes[lane] <= in.limit) found(place + lane);
    }
  }
}

void compare_plain(const First& in, std::vector<std::uint32_t>& places) {
  compare_first(in,
                [&](std::size_t place) { places.push_back(static_cast<std::uint32_t>(place)); });
}

#if defined(__x86_64__)
// Whole numbers: every processor gives the same.
[[gnu::target("avx2")]] void compare_avx2(const First& in, std::vector<std::uint32_t>& places) {
  compare_first(in,
                [&](std::size_t place) { places.push_back(static_cast<std::uint32_t>(place)); });
}
#endif

void compare(const First& in, std::vector<std::uint32_t>& places) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return compare_avx2(in, places);
#endif
  compare_plain(in, places);
}

double distance_at(const std::uint32_t* words, const Probe& probe) {
  std::uint32_t differing = 0;
  for (std::size_t k = 0; k < probe.words.size(); ++k) {
    differing +=
        static_cast<std::uint32_t>(std::popcount((words[k] ^ probe.words[k]) & probe.masks[k]));
  }
  return double(differing) / std::max(probe.bits, 1U);
}

std::vector<Hit> find_probe(std::span<const std::uint32_t> words, const Probe& probe) {
  std::vector<Hit> hits;
  if (words.size() < probe.words.size()) return hits;
  const std::size_t places = words.size() - probe.words.size() + 1;
  const std::size_t whole = places / kLanes * kLanes;
  std::vector<std::uint32_t> near;
  compare({words.data(), whole, probe,
           static_cast<std::uint32_t>(probe.first_bits * kFirstDistanceMax)},
          near);
  for (std::size_t place = whole; place < places; ++place) {
    near.push_back(static_cast<std::uint32_t>(place));
  }
  const double most = distance_max(probe);
  for (const std::uint32_t place : near) {
    const double distance = distance_at(words.data() + place, probe);
    if (distance <= most) hits.push_back({place, distance});
  }
  return hits;
}

// The best of each cluster.
std::vector<Candidate> thin_out(std::vector<Candidate> all) {
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.sample < b.sample;
  });
  std::vector<Candidate> kept;  // ascending
  for (const Candidate& candidate : all) {
    if (kept.size() == kCandidatesMax) break;
    const auto next =
        std::lower_bound(kept.begin(), kept.end(), candidate.sample,
                         [](const Candidate& c, std::int64_t sample) { return c.sample < sample; });
    if (next != kept.end() && next->sample - candidate.sample < kApartSamples) continue;
    if (next != kept.begin() && candidate.sample - (next - 1)->sample < kApartSamples) continue;
    kept.insert(next, candidate);
  }
  return kept;
}

}  // namespace

double distance_max(const Probe& probe) {
  return std::min(kDistanceMax, 0.5 - kSigmas * std::sqrt(kBound / std::max(probe.bits, 1U)));
}

Result<std::vector<Candidate>> candidates(const Fingerprint& episode, const Clip& clip) {
  if (clip.samples() > episode.samples()) {
    return Error(Errc::Invalid, "the clip is longer than the episode: it cannot be in it");
  }
  std::vector<Candidate> all;
  for (const Probe& probe : clip.parts().probes) {
    for (const Hit& hit : find_probe(episode.words(), probe)) {
      const std::int64_t sample = std::int64_t(hit.position) * std::int64_t(kHop) - probe.begin;
      all.push_back({sample, probe.speed, probe.anchor, hit.distance, false});
      // Of a hum that goes on for hours every place is one.
      if (all.size() == kUnsortedMax) all = thin_out(std::move(all));
    }
  }
  std::vector<Candidate> kept = thin_out(std::move(all));
  if (!clip.parts().coarse) return kept;
  if (kept.size() == kCandidatesMax) kept.pop_back();
  kept.insert(kept.begin(), Candidate{.everywhere = true});
  return kept;
}

}  // namespace quern::sound

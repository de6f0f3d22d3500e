// What a clip is searched by.
//
// A probe is a part of the clip, at one speed, as words; the mask has those of its bits that are
// clear enough in the clip to be the same in any copy. Parts of the clip that are nearly silent
// have none. A clip that its own probes would not recognise under some noise has a coarse form
// as well: it is compared with everything. Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sound/coarse.h"
#include "sound/finder.h"

namespace quern::sound {

struct Probe {
  double speed = 1;
  std::int64_t begin = 0;   // sample of the clip (at that speed) where its first word begins
  std::int64_t anchor = 0;  // sample of the clip (at speed 1) at its middle
  std::vector<std::uint32_t> words, masks;
  std::vector<std::uint32_t> first;  // indexes of the words that are compared first
  std::uint32_t bits = 0;            // of all masks
  std::uint32_t first_bits = 0;      // of those compared first
};

struct Clip::Parts {
  std::vector<float> samples;  // without their mean
  double norm = 0;             // the root of their energy
  double least = 0;            // score
  std::vector<Probe> probes;   // none: too short for fingerprints
  std::optional<CoarseClip> coarse;
};

// Speeds of the probes; one that lies between is found by the nearest. Together they reach from
// 3 % slower to 3 % faster, with something to spare.
inline constexpr double kSpeeds[] = {0.975, 1, 1.025};
// Clips below this have no probes: their words are too few to be told from chance.
inline constexpr std::int64_t kProbedSamplesMin = kRate * 95 / 100;
// Longer clips have several probes of this length, so that one spoilt place loses nothing.
inline constexpr std::int64_t kProbeSamplesMax = kRate * 4;
inline constexpr std::size_t kProbesPerSpeedMax = 2;
// Words that are compared first, at every place.
inline constexpr std::size_t kFirstWords = 18;

std::vector<Probe> make_probes(std::span<const float> clip);
// Whether the clip is found by this probe (of speed 1) where something else is heard with it.
bool is_recognised(std::span<const float> clip, const Probe& probe);

// Bits that differ, of two sounds that may be the same.
double distance_max(const Probe& probe);
// The first words are fewer, so they prove less: what they reject is so far off.
inline constexpr double kFirstDistanceMax = 0.40;

}  // namespace quern::sound

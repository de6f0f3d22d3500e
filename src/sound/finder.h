// Finder: where a clip was played in an episode.
//
//   decode (worker/) -> Source -> make_fingerprint() -> kept, small, versioned
//                        Source -> prepare() a clip  -> candidates() by fingerprints alone -> confirm() on the sound
//
// Guarantee: what confirm() gives was compared sample by sample: its score is the normalized cross-correlation of the
// whole clip at that place, and its offset counts from the file's first sample. What candidates() leaves out is not
// looked at: docs/research.md says for which changes of the sound it leaves nothing out.
//
// Pure computing: no files, no threads, no clocks. The same input gives the same output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::sound {

// Raised with any change of what is found; results of older ones are researched again.
inline constexpr std::int64_t kAlgorithm = 1;
// Of the bytes of a fingerprint.
inline constexpr std::int64_t kFingerprintVersion = 1;

inline constexpr std::int64_t kClipNsMin = 50'000'000;                     // shorter ones say nothing
inline constexpr std::int64_t kClipNsMax = 10LL * 60 * 1'000'000'000;      // ten minutes
inline constexpr std::int64_t kEpisodeNsMax = 48LL * 3600 * 1'000'000'000; // two days

// Sound as one channel, at one rate for the whole file (kRate), from its first sample on.
inline constexpr int kRate = 22'050;

class Source {
 public:
  virtual ~Source() = default;
  // Up to so many samples from here on; 0 at the end. An error where the file is broken so that nothing more can be had.
  virtual Result<std::size_t> read(std::span<float> samples) = 0;
  // The next read begins at this sample.
  virtual Result<> seek(std::int64_t sample) = 0;
};

struct Waveform {
  std::string points;  // one byte each: 0 silence, 255 as loud as can be; kWaveformPoints at most
};
inline constexpr std::size_t kWaveformPoints = 2000;

class Fingerprint;  // of an episode
class Clip;         // with all that finding needs of it

struct Occurrence {
  std::int64_t offset_ns = 0;
  double score = 0;  // 0 to 1
  double speed = 1;  // 1.02: two percent faster than the clip
};

}  // namespace quern::sound

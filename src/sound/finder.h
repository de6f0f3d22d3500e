// Finder: where a clip was played in an episode.
//
//   decode (worker/) -> Source -> make_fingerprint() -> kept, small, versioned
//                       Source -> prepare() a clip -> candidates() by fingerprints alone
//                                                  -> confirm() on the sound
//
// Guarantee: what confirm() gives was compared sample by sample: its score is the normalized
// cross-correlation of the whole clip at that place, and its offset counts from the file's first
// sample. What candidates() leaves out is not looked at: docs/research.md says for which
// changes of the sound it leaves nothing out.
//
// Pure computing: no files, no threads, no clocks. The same input gives the same output.
// Errors: Invalid, with a sentence for people, where a clip or an episode cannot be searched for or
// in; it is about that one alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

inline constexpr std::int64_t kClipNsMin = 50'000'000;                 // shorter ones say nothing
inline constexpr std::int64_t kClipNsMax = 10LL * 60 * 1'000'000'000;  // ten minutes
inline constexpr std::int64_t kEpisodeNsMax = 48LL * 3600 * 1'000'000'000;  // two days

// Sound as one channel, at one rate for the whole file (kRate), from its first sample on.
inline constexpr int kRate = 22'050;

class Source {
 public:
  virtual ~Source() = default;
  // Up to so many samples from here on; 0 at the end. An error where the file is broken so that
  // nothing more can be had.
  virtual Result<std::size_t> read(std::span<float> samples) = 0;
  // The next read begins at this sample; behind the end it gives 0.
  virtual Result<> seek(std::int64_t sample) = 0;
};

struct Waveform {
  std::string points;  // one byte each: 0 silence, 255 as loud as can be; kWaveformPoints at most
};
inline constexpr std::size_t kWaveformPoints = 2000;

// Of an episode: a word of 32 bits for every kHop samples.
class Fingerprint {
 public:
  Fingerprint() = default;
  Fingerprint(std::int64_t samples, std::vector<std::uint32_t> words)
      : samples_(samples), words_(std::move(words)) {}

  std::int64_t samples() const { return samples_; }
  std::int64_t duration_ns() const;
  std::span<const std::uint32_t> words() const { return words_; }

  std::string encode() const;
  // Invalid where the bytes are damaged or of another version.
  static Result<Fingerprint> decode(std::string_view bytes);

 private:
  std::int64_t samples_ = 0;
  std::vector<std::uint32_t> words_;
};

// Reads the source from its beginning to its end. The waveform may be null.
Result<Fingerprint> make_fingerprint(Source& episode, Waveform* waveform);

// A clip with all that finding needs of it. Cheap to move; copies share what they hold.
class Clip {
 public:
  struct Parts;
  explicit Clip(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::int64_t samples() const;
  std::int64_t duration_ns() const;
  std::size_t bytes() const;  // of memory; whoever holds many adds them up
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

// Reads the source from its beginning to its end. Invalid where it is silent, too short or too
// long.
Result<Clip> prepare(Source& clip, Waveform* waveform = nullptr);

struct Candidate {
  std::int64_t sample = 0;  // of the episode, where the clip begins; may be a little below 0
  double speed = 1;         // roughly
  std::int64_t anchor = 0;  // of the clip: what it was recognised by has its middle there
  double distance = 0;      // bits that differ: 0 none, 0.5 as many as between any two sounds
  bool everywhere = false;  // words are not enough for this clip: it is compared with all places
};
// At most so many of one clip in one episode, the best.
inline constexpr std::size_t kCandidatesMax = 2'000;

// Where the clip may be, ascending; empty: nowhere, and the episode's sound is not needed. Invalid
// where the clip is longer than the episode.
Result<std::vector<Candidate>> candidates(const Fingerprint& episode, const Clip& clip);

struct Occurrence {
  std::int64_t offset_ns = 0;
  double score = 0;  // 0 to 1
  double speed = 1;  // 1.02: two percent faster than the clip
};
// At most so many of one clip in one episode, the best.
inline constexpr std::size_t kOccurrencesMax = 10'000;

// Ascending.
Result<std::vector<Occurrence>> confirm(Source& episode, const Clip& clip,
                                        std::span<const Candidate> candidates);

// Many clips in one pass over the episode, from its beginning to its end. Each is told as soon as
// it is done (`which` counts in `searches`), in no particular order; an error that it returns ends
// everything.
struct Search {
  const Clip* clip = nullptr;
  std::vector<Candidate> candidates;
};
using OnFound = std::function<Result<>(std::size_t which, std::vector<Occurrence> found)>;
Result<> confirm(Source& episode, std::span<const Search> searches, const OnFound& on_found);

}  // namespace quern::sound

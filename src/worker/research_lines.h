// What a researcher and its box say to each other: tasks, lines, fingerprints. Pure.
//
//   task    {"metadata":{"mode":"index"}}                       inputs: the episode
//           {"metadata":{"mode":"search","sound":true|false}}   inputs: its fingerprint, its sound,
//           clips
//   lines   {"begin":CLIP}                   it looks at this one now; where it dies is known so
//           {"pass":true}                    no particular one: it goes through the episode's sound
//           {"clip":CLIP,"needs_sound":true} the fingerprint alone cannot tell
//           {"clip":CLIP,"offsets_ns":[],…}  or {"clip":CLIP,"error":"…"}
//
// The child may have been broken into: a line that is not one of these is skipped, numbers are
// looked at, and nothing but numbers and one sentence goes on to the server.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "worker/research_item.h"

namespace quern::worker {

// As many as can be found in one episode; the server takes no more.
inline constexpr std::size_t kFoundMax = 100'000;
inline constexpr std::size_t kResearchLineBytesMax = 8 * 1024 * 1024;
inline constexpr std::size_t kFingerprintBytesMax = 64 * 1024 * 1024;
inline constexpr std::size_t kWaveformBytesMax = 4096;
inline constexpr std::size_t kClipErrorBytesMax = 1024;

// -- tasks --
enum class ResearchMode { Index, Search };
struct ResearchTask {
  ResearchMode mode = ResearchMode::Index;
  bool sound = false;  // the episode's sound is among the inputs
};
std::string research_task_json(const ResearchTask& task);
// Of a step's metadata. Invalid.
Result<ResearchTask> parse_research_task(std::string_view metadata);

// -- lines --
struct ResearchLine {
  enum class Kind { Begin, Pass, NeedsSound, Result };
  Kind kind = Kind::Begin;
  std::size_t clip = 0;  // its place among the inputs that are clips
  ClipResult result;
};
std::string line_of(const ResearchLine& line);  // with its end

class ResearchLines {
 public:
  explicit ResearchLines(std::size_t clips) : clips_(clips) {}

  void feed(std::string_view bytes);
  std::optional<ResearchLine> next();

 private:
  std::size_t clips_;
  std::string partial_;
  bool too_long_ = false;
  std::deque<ResearchLine> lines_;
};

// -- fingerprints --
struct MadeFingerprint {
  std::string waveform;
  std::int64_t duration_ns = 0;
  std::string bytes;
};
std::string framed(const MadeFingerprint& made);
// Corrupt where it is not whole.
Result<MadeFingerprint> parse_framed(std::string_view output);

}  // namespace quern::worker

// A file with sound in it, by the FFmpeg libraries: what it says of itself, and its shape.
//
// Only the given descriptor is read: no protocol is in use, and formats that name other files are
// not among those that are opened. One thread; no code for particular processors, so that every
// machine sees the same samples. For use in the box.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/step.h"

namespace quern::worker {

inline constexpr std::size_t kPeaksMax = 1'000;
inline constexpr std::size_t kTagsMax = 200;
inline constexpr std::size_t kTagBytesMax = 16 * 1024;
inline constexpr std::size_t kChaptersMax = 2'000;
inline constexpr std::size_t kSubtitlesMax = 100'000;
// What is decoded of one file, for its shape.
inline constexpr double kDecodedSecondsMax = 6 * 3600;

struct SoundChapter {
  double start_s = 0;
  std::string title;
};

struct Subtitle {
  double start_s = 0;
  std::string text;  // one line
};

struct SoundInfo {
  std::string format;  // "MP2/3 (MPEG audio layer 2/3)"
  double duration_s = 0;
  std::int64_t bits_per_second = 0;
  // Of the sound track; the codec is empty where there is none.
  std::string codec;
  int samples_per_second = 0;
  int channels = 0;
  std::string video;  // "h264, 1280 x 720"
  std::size_t pictures = 0;
  std::vector<std::pair<std::string, std::string>> tags;  // "Artist", its value
  std::vector<SoundChapter> chapters;
  std::vector<Subtitle> subtitles;  // of the first track that has any
  std::vector<float> peaks;         // 0..1, over the whole length; at most kPeaksMax
  bool was_cut = false;             // there was more than kDecodedSecondsMax
  std::size_t damaged = 0;          // pieces that could not be decoded
};

void warm_sound();
std::string sound_version();
std::optional<Failure> read_sound(const StepInput& input, SoundInfo& info);

}  // namespace quern::worker

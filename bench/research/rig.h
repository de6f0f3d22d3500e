// What the parts of bench_research share: sounds, files of them, seconds of the processor.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "worker/scratch_file.h"
#include "worker/sound_file.h"
#include "worker/sound_maker.h"
#include "worker/sound_source.h"

namespace quern::bench {

struct Plan {
  bool smoke = false;
  bool json = false;
  int episode_s = 3600;
  std::vector<int> clips = {1, 10, 100, 1000};
  int stored_hours = 1000;
  int direct_s = 3600;   // of the episode, searched directly
  int accuracy_s = 120;  // of every episode
  int accuracy_clips = 20;
};

// Of this process: other programs on the machine do not count.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

// A file in memory, open.
class SoundFile {
 public:
  explicit SoundFile(const std::string& bytes) : file_(*worker::make_memory_file(bytes)) {
    source_ = *worker::SoundSource::open({file_.get(), bytes.size(), 0, ""});
  }
  sound::Source& source() { return *source_; }

 private:
  io::Descriptor file_;
  std::unique_ptr<worker::SoundSource> source_;
};

inline sound::Clip clip_of(const sound::Samples& samples) {
  sound::MemorySource source(samples);
  return *sound::prepare(source);
}

inline sound::Samples cut(const sound::Samples& episode, double from_s, double length_s) {
  const auto begin = episode.begin() + static_cast<std::ptrdiff_t>(from_s * sound::kRate);
  return {begin, begin + static_cast<std::ptrdiff_t>(length_s * sound::kRate)};
}

void measure_accuracy(const Plan& plan);
// How many places the two-pass search of the seed's system finds.
std::size_t search_directly(const sound::Samples& episode, const sound::Samples& clip);

}  // namespace quern::bench

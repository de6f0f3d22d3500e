// Coarse search: where a clip may be in a stretch of sound, by comparing it with every place at a
// lower rate. For clips whose words say too little: short ones, and those that hardly change.
//
// Guarantee: a place where the clip correlates by its least score is in a range that is
// given. If the part `a` of the clip's energy is left at the lower rate, a score of s there is one
// of sqrt((s^2 - (1 - a)) / a) here at least, whatever else is heard; something is taken off for
// what a lower rate loses between its samples. The rate is lowered as far as enough is left.
//
// Pure. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sound/fft.h"

namespace quern::sound {

inline constexpr int kHalvingsMax = 3;

struct CoarseClip {
  int halvings = 0;            // of the rate
  std::vector<float> samples;  // without their mean, nor what depends on what is heard around it
  std::int64_t skipped = 0;    // samples of the lower rate that are missing at its beginning
  double norm = 0;             // the root of their energy
  double least = 0;            // score
};
// The clip may not be silent, nor longer than kCoarseSamplesMax.
CoarseClip make_coarse(std::span<const float> clip, double least);
inline constexpr std::size_t kCoarseSamplesMax = 441'000;  // 20 s

// Half the rate: every other sample, of what was below half the highest frequency.
std::vector<float> halve(std::span<const float> samples);

// Places of a window, both included; the first may be below 0.
struct Range {
  std::int64_t first = 0, last = 0;
};

class CoarseScanner {
 public:
  // What clips are looked for in, until the next call. It is copied.
  void load(std::span<const float> window);
  // All that have a place within those, and perhaps others. Ascending, apart from each other by
  // more than so many samples.
  std::vector<Range> find(const CoarseClip& clip, std::int64_t apart, Range within);

 private:
  struct Level {
    std::vector<float> samples;
    std::vector<double> sums, squares;                    // of all before a sample
    std::map<std::size_t, std::vector<Complex>> spectra;  // of its blocks, by their size
  };
  Level& level(int halvings);
  const std::vector<Complex>& spectra(Level& level, std::size_t block);
  RealFft& fft(std::size_t size);

  std::vector<Level> levels_;
  std::map<std::size_t, std::unique_ptr<RealFft>> ffts_;
};

}  // namespace quern::sound

// Normalized cross-correlation of a clip with every place of a stretch of sound, by FFT.
//
// Guarantee: score l is the correlation coefficient of the clip with window[l, l + clip): -1 to 1,
// whatever gain and offset; 0 where the window is silent. Sums of energies are kept in double.
// How: the clip is cut into blocks of B, spectra of 2B are multiplied and added up (overlap-save).
// Memory: about 8 bytes a sample of the clip and of the places.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sound/fft.h"

namespace quern::sound {

inline constexpr std::size_t kBlockMax = 1 << 15;

// A clip without its mean, with the root of its energy.
struct Template {
  std::span<const float> samples;
  double norm = 0;
};
// Takes the mean away.
Template make_template(std::vector<float>& samples);

class Correlator {
 public:
  // window.size() - clip.size() + 1 scores; none where the clip is longer.
  std::vector<float> scores(std::span<const float> window, const Template& clip);

 private:
  RealFft& fft(std::size_t size);
  void products(std::span<const float> window, std::span<const float> clip,
                std::vector<float>& sums);

  std::map<std::size_t, std::unique_ptr<RealFft>> ffts_;
};

// The same at one place, by its definition.
double score_at(std::span<const float> window, std::size_t place, const Template& clip);

}  // namespace quern::sound

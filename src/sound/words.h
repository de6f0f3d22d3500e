// Words: sound as 32 bits for every kHop samples, alike for sounds that are heard alike.
//
// A frame of kFrame samples gives the loudness of kBands bands, 230 to 3,700 Hz, each 8 to 9 %
// wide. Bit m of word n says whether band m gains on band m + 1 from frame n to frame n + kLag. So
// words do not change with the gain, with a constant equalizer or above 3.7 kHz.
//
// Pure. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sound/fft.h"

namespace quern::sound {

inline constexpr std::size_t kFrame = 2048;
inline constexpr std::size_t kHop = 512;
inline constexpr std::size_t kLag = 4;
inline constexpr std::size_t kBands = 33;
// From the first sample of a word to behind its last.
inline constexpr std::size_t kWordSpan = kLag * kHop + kFrame;

using Bands = std::array<float, kBands>;  // energies, not below 0

// The energies of one frame after the other.
class BandMaker {
 public:
  BandMaker();
  // Appends what is complete.
  void add(std::span<const float> samples, std::vector<Bands>& frames);

 private:
  void measure(const float* frame, Bands& bands);

  RealFft fft_;
  std::vector<float> shape_;  // of the window
  std::array<std::size_t, kBands + 1> edges_{};
  std::vector<float> kept_, shaped_;
  std::vector<Complex> spectrum_;
};

// How much each band gains on the next from one frame to the other; the bits of a word are where
// this is above 0. The floor is an energy below which nothing is heard.
std::array<float, 32> gains(const Bands& from, const Bands& to, float floor);
std::uint32_t word_of(const std::array<float, 32>& gains);

// As loud as a 16-bit file can be silent; of sources with more depth, what is below says nothing.
inline constexpr float kFloor = 1e-5F;

}  // namespace quern::sound

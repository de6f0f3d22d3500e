// The transform is what we take it for: scale, order of the bins, inverse.
#include "sound/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quern::sound {
namespace {

TEST(FftTest, IsTheSumOfItsDefinition) {
  constexpr std::size_t kSize = 64;
  RealFft fft(kSize);
  std::mt19937 random(1);
  std::vector<float> in(kSize);
  for (float& sample : in) sample = static_cast<float>(random()) / 4e9F - 0.5F;
  std::vector<Complex> out(fft.bins());
  fft.forward(in.data(), out.data());
  for (std::size_t bin = 0; bin < fft.bins(); ++bin) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      sum += std::polar(double(in[i]), -2 * M_PI * double(bin * i) / kSize);
    }
    EXPECT_NEAR(sum.real(), out[bin].real(), 1e-4) << bin;
    EXPECT_NEAR(sum.imag(), out[bin].imag(), 1e-4) << bin;
  }
}

TEST(FftTest, TheInverseGivesTheInputAgain) {
  for (const std::size_t size : {16U, 1024U, 65'536U}) {
    RealFft fft(size);
    std::mt19937 random(2);
    std::vector<float> in(size);
    for (float& sample : in) sample = static_cast<float>(random()) / 4e9F - 0.5F;
    std::vector<Complex> spectrum(fft.bins());
    std::vector<float> back(size);
    fft.forward(in.data(), spectrum.data());
    fft.inverse(spectrum.data(), back.data());
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(in[i], back[i], 1e-5) << size << " " << i;
  }
}

}  // namespace
}  // namespace quern::sound

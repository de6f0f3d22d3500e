// RealFft: the Fourier transform of real numbers, of one size, by FFmpeg's libavutil.
//
// The inverse of the forward transform is the input again (it is scaled). One thread at a time.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

struct AVTXContext;

namespace quern::sound {

using Complex = std::complex<float>;

class RealFft {
 public:
  explicit RealFft(std::size_t size);  // a power of two, kFftSizeMax at most
  ~RealFft();
  RealFft(const RealFft&) = delete;
  RealFft& operator=(const RealFft&) = delete;

  std::size_t size() const { return size_; }
  std::size_t bins() const { return size_ / 2 + 1; }
  void forward(const float* samples, Complex* spectrum);
  void inverse(const Complex* spectrum, float* samples);

 private:
  using Transform = void (*)(AVTXContext*, void*, void*, std::ptrdiff_t);

  std::size_t size_;
  AVTXContext* forward_context_ = nullptr;
  AVTXContext* inverse_context_ = nullptr;
  Transform forward_ = nullptr;
  Transform inverse_ = nullptr;
  float* real_ = nullptr;
  float* complex_ = nullptr;
};

inline constexpr std::size_t kFftSizeMax = 1 << 20;

}  // namespace quern::sound

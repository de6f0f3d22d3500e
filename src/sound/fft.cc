#include "sound/fft.h"

#include <bit>
#include <cstring>

#include "base/check.h"

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/tx.h>
}

namespace quern::sound {

RealFft::RealFft(std::size_t size) : size_(size) {
  CHECK(std::has_single_bit(size) && size >= 16 && size <= kFftSizeMax);
  const float forward_scale = 1;
  const float inverse_scale = 1.0F / static_cast<float>(size);
  const int length = static_cast<int>(size);
  CHECK(::av_tx_init(&forward_context_, &forward_, AV_TX_FLOAT_RDFT, 0, length, &forward_scale,
                     0) >= 0);
  CHECK(::av_tx_init(&inverse_context_, &inverse_, AV_TX_FLOAT_RDFT, 1, length, &inverse_scale,
                     0) >= 0);
  // Aligned, as the library demands it.
  real_ = static_cast<float*>(::av_malloc((size + 2) * sizeof(float)));
  complex_ = static_cast<float*>(::av_malloc((size + 2) * sizeof(float)));
  CHECK(real_ != nullptr && complex_ != nullptr);
}

RealFft::~RealFft() {
  ::av_tx_uninit(&forward_context_);
  ::av_tx_uninit(&inverse_context_);
  ::av_free(real_);
  ::av_free(complex_);
}

void RealFft::forward(const float* samples, Complex* spectrum) {
  std::memcpy(real_, samples, size_ * sizeof(float));
  forward_(forward_context_, complex_, real_, sizeof(float));
  std::memcpy(static_cast<void*>(spectrum), complex_, bins() * sizeof(Complex));
  // Both are real; libavutil 57 leaves rounding in the one and whatever was there in the other.
  spectrum[0].imag(0);
  spectrum[bins() - 1].imag(0);
}

void RealFft::inverse(const Complex* spectrum, float* samples) {
  // Its own copy: the transform may write to its input.
  std::memcpy(complex_, static_cast<const void*>(spectrum), bins() * sizeof(Complex));
  inverse_(inverse_context_, real_, complex_, sizeof(Complex));
  std::memcpy(samples, real_, size_ * sizeof(float));
}

}  // namespace quern::sound

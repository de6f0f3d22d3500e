#include "sound/correlate.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quern::sound {
namespace {

constexpr std::size_t kBlockMin = 1 << 10;
// Windows so far below the loudest one are silent: there, rounding of the transforms is louder.
constexpr double kSilent = 1e-10;
// Of a full scale of 1.
constexpr double kSilentLevel = 1e-5;

void multiply_add(const std::vector<Complex>& sound, const std::vector<Complex>& clip,
                  std::vector<Complex>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const float re = sound[i].real() * clip[i].real() + sound[i].imag() * clip[i].imag();
    const float im = sound[i].imag() * clip[i].real() - sound[i].real() * clip[i].imag();
    sum[i] = {sum[i].real() + re, sum[i].imag() + im};
  }
}

// Samples from a place on, with silence behind the end.
void copy_padded(std::span<const float> samples, std::size_t at, std::span<float> out) {
  const std::size_t from = std::min(at, samples.size());
  const std::size_t count = std::min(out.size(), samples.size() - from);
  std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(from), count, out.begin());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 0.0F);
}

// Of every window of so many samples: its energy without that of its mean.
std::vector<double> energies(std::span<const float> window, std::size_t length) {
  std::vector<double> result(window.size() - length + 1);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    sum += window[i];
    squares += double(window[i]) * window[i];
    if (i + 1 < length) continue;
    const std::size_t first = i + 1 - length;
    result[first] = squares - sum * sum / double(length);
    sum -= window[first];
    squares -= double(window[first]) * window[first];
  }
  return result;
}

}  // namespace

Template make_template(std::vector<float>& samples) {
  double sum = 0;
  for (const float sample : samples) sum += sample;
  const auto mean = static_cast<float>(sum / double(std::max<std::size_t>(samples.size(), 1)));
  double energy = 0;
  for (float& sample : samples) {
    sample -= mean;
    energy += double(sample) * sample;
  }
  return {samples, std::sqrt(energy)};
}

RealFft& Correlator::fft(std::size_t size) {
  auto& made = ffts_[size];
  if (!made) made = std::make_unique<RealFft>(size);
  return *made;
}

void Correlator::products(std::span<const float> window, std::span<const float> clip,
                          std::vector<float>& sums) {
  const std::size_t block = std::bit_ceil(std::clamp(sums.size(), kBlockMin, kBlockMax));
  RealFft& transform = fft(2 * block);
  const std::size_t parts = (clip.size() + block - 1) / block;
  const std::size_t rows = (sums.size() + block - 1) / block;
  std::vector<float> samples(2 * block);
  std::vector<std::vector<Complex>> clips(parts, std::vector<Complex>(transform.bins()));
  for (std::size_t k = 0; k < parts; ++k) {
    copy_padded(clip.first(std::min((k + 1) * block, clip.size())), k * block, samples);
    transform.forward(samples.data(), clips[k].data());
  }
  std::vector<Complex> sound(transform.bins());
  std::vector<std::vector<Complex>> totals(rows);
  for (std::size_t j = 0; j < rows + parts - 1; ++j) {
    copy_padded(window, j * block, samples);
    transform.forward(samples.data(), sound.data());
    if (j < rows) totals[j].assign(transform.bins(), {});
    const std::size_t first = j + 1 < parts ? 0 : j + 1 - parts;
    for (std::size_t row = first; row <= std::min(j, rows - 1); ++row) {
      multiply_add(sound, clips[j - row], totals[row]);
    }
    if (j + 1 < parts) continue;  // the row is not complete yet
    const std::size_t row = j + 1 - parts;
    transform.inverse(totals[row].data(), samples.data());
    totals[row] = {};
    const std::size_t count = std::min(block, sums.size() - row * block);
    std::copy_n(samples.begin(), count, sums.begin() + static_cast<std::ptrdiff_t>(row * block));
  }
}

std::vector<float> Correlator::scores(std::span<const float> window, const Template& clip) {
  if (clip.samples.empty() || window.size() < clip.samples.size()) return {};
  std::vector<float> result(window.size() - clip.samples.size() + 1);
  products(window, clip.samples, result);
  const std::vector<double> energy = energies(window, clip.samples.size());
  const double loudest = *std::max_element(energy.begin(), energy.end());
  const double silent =
      std::max(loudest * kSilent, kSilentLevel * kSilentLevel * double(clip.samples.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool heard = energy[i] > silent && clip.norm > 0;
    const double score = heard ? result[i] / (clip.norm * std::sqrt(energy[i])) : 0;
    result[i] = static_cast<float>(std::clamp(score, -1.0, 1.0));
  }
  return result;
}

double score_at(std::span<const float> window, std::size_t place, const Template& clip) {
  const std::size_t length = clip.samples.size();
  double sum = 0, squares = 0, product = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const double sample = window[place + i];
    sum += sample;
    squares += sample * sample;
    product += sample * clip.samples[i];
  }
  const double energy = squares - sum * sum / double(length);
  if (energy <= kSilentLevel * kSilentLevel * double(length) || clip.norm <= 0) return 0;
  return std::clamp(product / (clip.norm * std::sqrt(energy)), -1.0, 1.0);
}

}  // namespace quern::sound

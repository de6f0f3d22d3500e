// The direct search that the seed's system used, for comparison: at every sample, the cosine of 50
// samples of the clip's loudest place, then of 500 where that is high.
#include "bench/research/rig.h"

namespace quern::bench {
namespace {

constexpr std::size_t kAnchor = 2756;
constexpr std::size_t kFirst = 50;
constexpr std::size_t kSecond = 500;
constexpr double kFirstMin = 0.60;
constexpr double kSecondMin = 0.90;

double cosine(const float* a, const float* b, std::size_t count) {
  float product = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    product += a[i] * b[i];
    left += a[i] * a[i];
    right += b[i] * b[i];
  }
  return left > 0 && right > 0 ? product / std::sqrt(double(left) * right) : 0;
}

std::size_t loudest(const sound::Samples& clip) {
  double now = sound::energy_of(std::span(clip).first(kAnchor));
  double most = now;
  std::size_t best = 0;
  for (std::size_t i = 0; i + kAnchor + kSecond < clip.size(); ++i) {
    now += double(clip[i + kAnchor]) * clip[i + kAnchor] - double(clip[i]) * clip[i];
    if (now > most) {
      most = now;
      best = i + 1;
    }
  }
  return best;
}

}  // namespace

std::size_t search_directly(const sound::Samples& episode, const sound::Samples& clip) {
  const float* anchor = clip.data() + loudest(clip);
  std::size_t found = 0, last = 0;
  for (std::size_t i = 0; i + kSecond <= episode.size(); ++i) {
    if (cosine(episode.data() + i, anchor, kFirst) < kFirstMin) continue;
    if (cosine(episode.data() + i, anchor, kSecond) < kSecondMin) continue;
    if (found == 0 || i > last + clip.size()) ++found;
    last = i;
  }
  return found;
}

}  // namespace quern::bench

#include "sound/pursue.h"

#include <algorithm>
#include <cmath>

#include "sound/finder.h"

namespace quern::sound {
namespace {

// Places nearer than this are one.
constexpr std::size_t kApart = kRate / 40;
// What is left of an explained window is below this part of its energy.
constexpr double kLeft = 0.05;
// Where an occurrence covers half of another, this is what the other has at least; taking the one
// away brings it back to 0.7.
constexpr double kCoveredScore = 0.3;
// For longer clips, and for more of such places, that takes too long.
constexpr std::size_t kCoveredSamplesMax = 60 * std::size_t(kRate);
constexpr std::size_t kCoveredMax = 200;
// Tops that are looked at in one window.
constexpr std::size_t kTopsMax = 20'000;

struct Top {
  std::size_t place = 0;
  float score = 0;
};

std::vector<Top> tops_of(std::span<const float> scores, std::size_t apart, double least) {
  std::vector<Top> tops;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const float score = std::fabs(scores[i]);
    if (score < least) continue;
    if (i > 0 && std::fabs(scores[i - 1]) > score) continue;
    if (i + 1 < scores.size() && std::fabs(scores[i + 1]) >= score) continue;
    // Of those near each other the best, as they come.
    if (!tops.empty() && i - tops.back().place < apart) {
      if (score > tops.back().score) tops.back() = {i, score};
    } else {
      tops.push_back({i, score});
    }
  }
  std::stable_sort(tops.begin(), tops.end(),
                   [](const Top& a, const Top& b) { return a.score > b.score; });
  if (tops.size() > kTopsMax) tops.resize(kTopsMax);
  return tops;
}

// What is left of the window once occurrences are taken away.
class Rest {
 public:
  Rest(std::span<const float> window, const Template& clip)
      : window_(window), rest_(window.begin(), window.end()), clip_(clip) {}

  bool explains(std::size_t place, double least) const {
    const double left = energy(rest_, place);
    if (left < kLeft * energy(window_, place)) return true;
    return std::fabs(product(place)) < least * clip_.norm * std::sqrt(left);
  }

  void take(std::size_t place) {
    const auto gain = static_cast<float>(product(place) / (clip_.norm * clip_.norm));
    for (std::size_t i = 0; i < clip_.samples.size(); ++i) {
      rest_[place + i] -= gain * clip_.samples[i];
    }
  }

 private:
  double energy(std::span<const float> sound, std::size_t place) const {
    double sum = 0;
    for (const float sample : sound.subspan(place, clip_.samples.size())) {
      sum += double(sample) * sample;
    }
    return sum;
  }
  double product(std::size_t place) const {
    double sum = 0;
    for (std::size_t i = 0; i < clip_.samples.size(); ++i) {
      sum += double(rest_[place + i]) * clip_.samples[i];
    }
    return sum;
  }

  std::span<const float> window_;
  std::vector<float> rest_;
  const Template& clip_;
};

Place refine(std::span<const float> window, const Template& clip, std::size_t place) {
  const double middle = score_at(window, place, clip);
  double top = 0;
  if (place > 0 && place + clip.samples.size() < window.size()) {
    const double before = score_at(window, place - 1, clip);
    const double after = score_at(window, place + 1, clip);
    const double sign = middle < 0 ? -1 : 1;
    top = parabola_top(sign * before, sign * middle, sign * after);
  }
  return {double(place) + top, std::fabs(middle)};
}

}  // namespace

double score_min(std::size_t samples) {
  if (samples >= std::size_t(kRate)) return 0.6;
  return samples >= std::size_t(kRate) / 4 ? 0.7 : 0.9;
}

double parabola_top(double before, double middle, double after) {
  const double bend = before - 2 * middle + after;
  if (bend >= 0) return 0;
  return std::clamp(0.5 * (before - after) / bend, -0.5, 0.5);
}

std::vector<Place> pursue(std::span<const float> window, const Template& clip,
                          std::span<const float> scores) {
  const std::size_t length = clip.samples.size();
  const std::size_t apart = std::min(kApart, length / 4);
  const double least = score_min(length);
  const double lowest = length <= kCoveredSamplesMax ? kCoveredScore : least;
  std::vector<Place> found;
  const std::vector<Top> tops = tops_of(scores, apart, lowest);
  if (tops.empty() || tops.front().score < least) return found;
  Rest rest(window, clip);
  std::vector<std::size_t> taken;
  std::size_t covered = 0;
  for (const Top& top : tops) {
    const auto distance = [&](std::size_t other) {
      return other > top.place ? other - top.place : top.place - other;
    };
    const auto is_near = [&](std::size_t other) { return distance(other) < apart; };
    const auto overlaps = [&](std::size_t other) { return distance(other) < length; };
    if (std::any_of(taken.begin(), taken.end(), is_near)) continue;
    const bool touched = std::any_of(taken.begin(), taken.end(), overlaps);
    if (!touched && top.score < least) continue;
    if (touched && (++covered > kCoveredMax || rest.explains(top.place, least))) continue;
    rest.take(top.place);
    taken.push_back(top.place);
    found.push_back(refine(window, clip, top.place));
    if (found.size() == kOccurrencesMax) break;
  }
  std::sort(found.begin(), found.end(),
            [](const Place& a, const Place& b) { return a.sample < b.sample; });
  return found;
}

}  // namespace quern::sound

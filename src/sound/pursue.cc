#include "sound/pursue.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "sound/finder.h"

namespace quern::sound {
namespace {

// Places nearer than this are one.
constexpr std::size_t kApart = kRate / 40;
// What is left of an explained window is below this part of its energy.
constexpr double kLeft = 0.05;
// Where an occurrence covers half of another, this is what the other has at least; taking the one
// away brings it back to 0.7 where it was cut into, and to 1 where both are heard.
constexpr double kCoveredScore = 0.3;
// For longer clips there are too many of such places.
constexpr std::size_t kCoveredSamplesMax = 60 * std::size_t(kRate);
// Samples that are looked at once more because something was taken away near them, in one window.
constexpr std::size_t kSecondLooksMax = 200 * kCoveredSamplesMax;
// Tops that are looked at in one window.
constexpr std::size_t kTopsMax = 20'000;

struct Top {
  std::size_t place = 0;
  float score = 0;
};

// Ascending.
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
  if (tops.size() <= kTopsMax) return tops;
  std::stable_sort(tops.begin(), tops.end(),
                   [](const Top& a, const Top& b) { return a.score > b.score; });
  tops.resize(kTopsMax);
  std::sort(tops.begin(), tops.end(), [](const Top& a, const Top& b) { return a.place < b.place; });
  return tops;
}

std::size_t first_behind(const std::vector<Top>& tops, std::size_t place) {
  const auto at = std::lower_bound(tops.begin(), tops.end(), place,
                                   [](const Top& top, std::size_t p) { return top.place < p; });
  return static_cast<std::size_t>(at - tops.begin());
}

// What is left of the window once occurrences are taken away.
class Rest {
 public:
  Rest(std::span<const float> window, const Template& clip)
      : window_(window), rest_(window.begin(), window.end()), clip_(clip) {}

  // Of what is left; 0 where nothing is.
  double score(std::size_t place) const {
    const double left = energy(rest_, place);
    if (left < kLeft * energy(window_, place)) return 0;
    return std::fabs(product(place)) / (clip_.norm * std::sqrt(left));
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

double score_min(std::size_t samples, Wordy wordy) {
  if (wordy == Wordy::Yes) return 0.6;
  return samples >= std::size_t(kRate) / 4 ? 0.8 : 0.9;
}

double parabola_top(double before, double middle, double after) {
  const double bend = before - 2 * middle + after;
  if (bend >= 0) return 0;
  return std::clamp(0.5 * (before - after) / bend, -0.5, 0.5);
}

std::vector<Place> pursue(std::span<const float> window, const Template& clip,
                          std::span<const float> scores, double least) {
  const std::size_t length = clip.samples.size();
  const double lowest = length <= kCoveredSamplesMax ? kCoveredScore : least;
  std::vector<Place> found;
  const auto is_alone = [&](const Top& top) { return top.score >= least; };
  std::vector<Top> tops = tops_of(scores, std::min(kApart, length / 4), lowest);
  if (std::none_of(tops.begin(), tops.end(), is_alone)) return found;
  Rest rest(window, clip);
  // The best first; an entry whose score is no longer that of its top says nothing.
  std::priority_queue<std::pair<float, std::size_t>> best;
  for (std::size_t i = 0; i < tops.size(); ++i) best.emplace(tops[i].score, i);
  std::size_t looks_left = kSecondLooksMax;
  while (!best.empty() && found.size() < kOccurrencesMax) {
    const auto [score, which] = best.top();
    best.pop();
    if (score < least) break;
    if (score != tops[which].score) continue;
    const std::size_t place = tops[which].place;
    tops[which].score = 0;
    rest.take(place);
    found.push_back(refine(window, clip, place));
    // Those that overlap it count by what is left of them.
    for (std::size_t i = first_behind(tops, place < length ? 0 : place - length + 1);
         i < tops.size() && tops[i].place < place + length; ++i) {
      if (tops[i].score == 0) continue;
      const bool looked = looks_left >= length;
      looks_left -= looked ? length : 0;
      const auto now = looked ? static_cast<float>(rest.score(tops[i].place)) : 0.0F;
      tops[i].score = now;
      if (now >= least) best.emplace(now, i);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Place& a, const Place& b) { return a.sample < b.sample; });
  return found;
}

}  // namespace quern::sound

// Finds: the places of one clip, as they are found. The best of them are kept.
//
// Guarantee: whatever is added, memory holds kFindsHeld at most, and take() gives at most
// kOccurrencesMax that are apart from each other: of two that are not, the better one. Pure.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "sound/finder.h"

namespace quern::sound {

struct Found {
  double sample = 0;
  double score = 0;
  double speed = 1;
};

// A hum that goes on for days is found in every place.
inline constexpr std::size_t kFindsHeld = 8 * kOccurrencesMax;

class Finds {
 public:
  // Places nearer than this are one.
  explicit Finds(double apart) : apart_(apart) {}

  void add(const Found& found) {
    all_.push_back(found);
    if (all_.size() >= kFindsHeld) keep_best();
  }
  std::size_t held() const { return all_.size(); }

  // Ascending. Those that are not wanted take nobody's place.
  template <class Unwanted>
  std::vector<Found> take(const Unwanted& unwanted) {
    std::erase_if(all_, unwanted);
    keep_best();
    std::sort(all_.begin(), all_.end(),
              [](const Found& a, const Found& b) { return a.sample < b.sample; });
    return std::exchange(all_, {});
  }

 private:
  void keep_best() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Found& a, const Found& b) { return a.score > b.score; });
    std::set<double> places;
    std::erase_if(all_, [&](const Found& found) {
      if (places.size() == kOccurrencesMax) return true;
      const auto next = places.lower_bound(found.sample);
      if (next != places.end() && *next - found.sample < apart_) return true;
      if (next != places.begin() && found.sample - *std::prev(next) < apart_) return true;
      places.insert(next, found.sample);
      return false;
    });
  }

  double apart_;
  std::vector<Found> all_;
};

}  // namespace quern::sound

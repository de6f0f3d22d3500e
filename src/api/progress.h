// Estimates: how fast a job goes and when it may end, from what was seen of it lately. Pure.
//
// Honest: nothing is said before there is something to go by, and nothing of a job that stands
// still. What counts is the time just past: a job that began with small files and has come to large
// ones is as slow as it is now.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace quern::api {

class Estimate {
 public:
  // Seconds on any clock that does not go back; progress from 0 to 1; files that are done.
  void add(double at_seconds, double progress, std::int64_t files_done);

  // Files per second. Nothing before kSecondsMin have been seen.
  std::optional<double> rate() const;
  std::optional<double> seconds_left() const;

 private:
  struct Sample {
    double at;
    double progress;
    std::int64_t files;
  };
  // The first and the last sample, where they are far enough apart.
  const Sample* first() const;

  std::deque<Sample> samples_;
};

// The window that counts, and how much of it must be there.
inline constexpr double kEstimateSecondsMax = 30;
inline constexpr double kEstimateSecondsMin = 2;

}  // namespace quern::api

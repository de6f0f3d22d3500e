// What bench_queue prints: one line per figure, a table for people or JSON, as it goes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace quern::bench {

using Instant = std::chrono::steady_clock::time_point;

inline Instant now() {
  return std::chrono::steady_clock::now();
}
inline double seconds_since(Instant begin) {
  return std::chrono::duration<double>(now() - begin).count();
}
inline double ms_between(Instant begin, Instant end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// The value that a part of the samples does not exceed: 0.5 is the median.
double percentile(std::vector<double> samples, double part);

struct Figure {
  std::string store;
  std::string name;
  double value = 0;
  std::string unit;
  std::string against;  // empty: it stands alone
  double ratio = 0;
};

class Report {
 public:
  enum class Format { Table, Json };
  explicit Report(Format format) : format_(format) {}
  void add(const Figure& figure) const;

 private:
  Format format_;
};

}  // namespace quern::bench

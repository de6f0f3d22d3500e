#include "bench/search/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

namespace quern::bench {
namespace {

double part_of(std::vector<double> samples, double part) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const auto at = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(at, samples.size() - 1)];
}

// Since it was made.
struct Clocks {
  double begin_ns = now_ns();
  double begin_cpu = cpu_seconds();
};

Times times_of(const std::vector<double>& ms, const Clocks& clocks, std::size_t found) {
  const auto count = static_cast<double>(ms.size());
  return {part_of(ms, 0.5), part_of(ms, 0.99), count / seconds_of(clocks.begin_ns),
          count / (cpu_seconds() - clocks.begin_cpu),
          static_cast<double>(found) / std::max(1.0, count)};
}

double seconds_in(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

double now_ns() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

double seconds_of(double begin_ns) {
  return (now_ns() - begin_ns) / 1e9;
}

double cpu_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    sum += seconds_in(usage.ru_utime) + seconds_in(usage.ru_stime);
  }
  return sum;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Times measure(Engine& engine, const std::vector<std::string>& queries) {
  // A tenth of them warms what a server would have warm.
  for (std::size_t i = 0; i < queries.size() / 10; ++i) (void)engine.search(queries[i]);
  std::vector<double> ms;
  std::size_t found = 0;
  const Clocks clocks;
  for (const std::string& query : queries) {
    const double asked = now_ns();
    found += engine.search(query).empty() ? 0 : 1;
    ms.push_back((now_ns() - asked) / 1e6);
  }
  return times_of(ms, clocks, found);
}

Times measure_at(Engine& engine, const std::vector<std::string>& queries, double per_second,
                 double seconds) {
  std::vector<double> ms;
  std::size_t found = 0;
  const Clocks clocks;
  const double begin = clocks.begin_ns;
  const auto count = static_cast<std::size_t>(per_second * seconds);
  // What cannot keep up would go on for long after the last one has come.
  for (std::size_t i = 0; i < count && seconds_of(begin) < 2 * seconds; ++i) {
    const double due = begin + static_cast<double>(i) / per_second * 1e9;
    const double wait = due - now_ns();
    if (wait > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(std::llround(wait)));
    found += engine.search(queries[i % queries.size()]).empty() ? 0 : 1;
    ms.push_back((now_ns() - due) / 1e6);
  }
  return times_of(ms, clocks, found);
}

double overlap(const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& ideal) {
  if (ideal.empty()) return 1;
  const auto common = std::ranges::count_if(
      got, [&](std::int64_t file) { return std::ranges::find(ideal, file) != ideal.end(); });
  return static_cast<double>(common) / static_cast<double>(ideal.size());
}

double graded_ndcg(const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& ideal) {
  if (ideal.empty()) return 1;
  double best = 0;
  double sum = 0;
  for (std::size_t i = 0; i < ideal.size(); ++i) {
    const double discount = 1 / std::log2(static_cast<double>(i) + 2);
    best += discount * static_cast<double>(10 - i);
    if (i >= got.size()) continue;
    const auto at = std::ranges::find(ideal, got[i]) - ideal.begin();
    if (at < static_cast<std::ptrdiff_t>(ideal.size())) {
      sum += discount * static_cast<double>(10 - at);
    }
  }
  return sum / best;
}

}  // namespace quern::bench

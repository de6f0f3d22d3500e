// How long answers take, and how good they are.
#pragma once

#include <string>
#include <vector>

#include "bench/search/engine.h"

namespace quern::bench {

struct Times {
  double p50_ms = 0;
  double p99_ms = 0;
  double per_second = 0;
  double per_cpu_second = 0;  // what a core does alone; the same on a busy machine
  double found = 0;           // the share of queries that found something
};

// One after the other, as fast as they go.
Times measure(Engine& engine, const std::vector<std::string>& queries);
// They come at this rate, whether the one before is answered or not: what waits is part of the
// time. At most so many seconds.
Times measure_at(Engine& engine, const std::vector<std::string>& queries, double per_second,
                 double seconds);

// Of ten hits against those that should be there. The gain of `ideal[i]` is 10 - i.
double overlap(const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& ideal);
double graded_ndcg(const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& ideal);
double mean(const std::vector<double>& values);
double seconds_of(double begin_ns);
double now_ns();
// Of this process and those that it has waited for.
double cpu_seconds();

}  // namespace quern::bench

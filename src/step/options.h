// What the pipeline may be told. Every limit has a name, a default and a test.
#pragma once

#include <cstdint>
#include <set>

#include "model/steps.h"

namespace quern::step {

struct Limits {
  std::int64_t depth_max = 32;
  std::int64_t members_max = 1'000'000;  // of one file
  std::int64_t files_per_root_max = 10'000'000;
  std::int64_t bytes_per_root_max = std::int64_t{1} << 40;  // expanded
  // A child may have so many times the bytes of its parent, once it is large.
  std::int64_t ratio_max = 1000;
  std::int64_t ratio_bytes_min = 100 * 1024 * 1024;
  // Of web pages that are shown on paper: bytes of a PDF, and how many may be wanted at once.
  std::int64_t rendering_bytes_max = 256 * 1024 * 1024;
  std::int64_t renderings_wanted_max = 1000;
};

struct PipelineOptions {
  std::int64_t poll_hold_ms = 15'000;
  std::int64_t task_idle_ms = 15'000;
  std::int64_t post_ms_max = 6 * 3600 * 1000LL;  // one fragment POST of a worker
  std::int64_t window_files = 64;                // per shard and step
  std::int64_t flags_ms = 1000;      // how often we look whether a job was sealed or canceled
  std::int64_t lent_mark_ms = 5000;  // a task that runs for longer is written down
  Limits limits;
  // Steps that this machine can serve itself; empty where it has no worker program.
  std::set<model::StepId> installed;
  // A known type that nobody serves waits for a worker to come; otherwise it is an error.
  bool waits_for_workers = false;
};

}  // namespace quern::step

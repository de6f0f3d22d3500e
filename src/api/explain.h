// Explaining a file: why it is where it is, in words. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "step/pipeline.h"
#include "tree/file.h"

namespace quern::api {

// What the server knows of a file beside its row.
struct Surroundings {
  tree::Job job;
  std::string owner;                    // of its shard; empty: nobody works on it
  bool held_here = false;               // this process has some shard in hand
  std::optional<std::int64_t> lent_ms;  // to a worker of ours, for so long
  std::string lent_to;
  double fraction = 0;     // that the worker says it has done
  step::StepStats stats;   // of its step
  bool installed = false;  // its step, on this machine
};

// "lent to archive-1 for 12 s", "waits for a worker of Office: none is installed or connected";
// empty where it waits for nothing.
std::string waits_for(const tree::File& file, const Surroundings& around);

// One sentence: "it became a document", "it failed: …".
std::string outcome_of(const tree::File& file);

}  // namespace quern::api

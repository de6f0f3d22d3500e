// The programs of a worker: the broker, and the boxes that it starts.
//
// The broker has no converter code. Each box program has the code of a few steps, and links the
// libraries of those only: a fork of a process with two hundred libraries costs more than a text.
#pragma once

#include <span>
#include <string_view>

#include "worker/step.h"

namespace quern::worker {

// Where a step's code is: a program beside this one; "" for this one.
struct StepPlace {
  std::string_view step;
  std::string_view program;
};

// The broker.
int worker_main(int argc, char** argv, std::span<const StepPlace> places);
// A box program: `PROGRAM --box STEP`.
int box_main(int argc, char** argv, std::span<const Step> steps);

}  // namespace quern::worker

// The command line of quern-steps, for whichever steps a program has.
#pragma once

#include <span>

#include "worker/step.h"

namespace quern::worker {

// Exit codes: 0 done, 2 usage, 3 could not finish.
int worker_main(int argc, char** argv, std::span<const Step> steps);

}  // namespace quern::worker

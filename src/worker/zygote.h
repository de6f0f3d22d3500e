// The zygote: the process that has a step's libraries loaded and forks a child for each task.
//
// Guarantee: no task sees another's memory, and none can harm the zygote, which itself never reads
// a byte of anybody's file. How: it confines itself first (worker/confine.h), then warms the step,
// then forks: the child limits and filters itself before it looks at its task. It ends with the
// broker, and its children with it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "worker/step.h"

namespace quern::worker {

// Where the channel lies in the zygote.
inline constexpr int kZygoteChannel = 3;

// How a child ends that could not allocate, or met an exception of ours.
inline constexpr int kExitOutOfMemory = 71;
inline constexpr int kExitException = 72;

// The whole life of `quern-steps --box STEP`; the exit code.
int run_zygote(const Step& step);

// What the child reads of its task. Invalid where it is no task.
Result<StepTask> parse_step_task(std::string_view json);

// What the child writes into its end pipe, and the broker reads there.
inline constexpr std::size_t kEndBytesMax = 8 * 1024;
std::string end_text(const StepEnd& end);
// Invalid where the child has not said how it ended.
Result<StepEnd> parse_end(std::string_view text);

}  // namespace quern::worker

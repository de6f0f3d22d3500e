// Detect: what kind of file each of many is.
#include <fmt/format.h>
#include <magic.h>
#include <unistd.h>

#include "worker/magic.h"
#include "worker/sniff.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

constexpr std::int64_t kWallMs = 60'000;

std::string version() {
  return fmt::format("1 libmagic {}", ::magic_version());
}

void warm() {
  warm_magic();
}

StepEnd run(StepContext& context) {
  for (const StepInput& input : context.inputs) {
    const Sample sample(input);
    context.out.raw(fmt::format("{} {}\n", input.file, sniffed_type(sample, magic_type(input))));
    // One that kills us must not take the others' types along.
    context.out.flush();
  }
  return std::nullopt;
}

}  // namespace

Step detect_step() {
  return {"Detect", version, warm, run, 64, kWallMs};
}

}  // namespace quern::worker

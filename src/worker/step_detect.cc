// Detect: what kind of file each of many is.
#include <fmt/format.h>
#include <magic.h>
#include <unistd.h>

#include "worker/sniff.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

constexpr std::int64_t kWallMs = 60'000;

magic_t cookie() {
  static magic_t made = [] {
    magic_t opened =
        ::magic_open(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_TOKENS);
    if (opened != nullptr && ::magic_load(opened, nullptr) != 0) {
      std::fprintf(stderr, "libmagic: %s\n", ::magic_error(opened));
    }
    return opened;
  }();
  return made;
}

// From the descriptor rather than a piece: the directory of an OLE file may lie anywhere.
std::string magic_type(const StepInput& input) {
  ::lseek(input.descriptor, 0, SEEK_SET);
  const char* type = ::magic_descriptor(cookie(), input.descriptor);
  return type != nullptr ? type : "";
}

std::string version() {
  return fmt::format("1 libmagic {}", ::magic_version());
}

void warm() {
  cookie();
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

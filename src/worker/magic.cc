#include "worker/magic.h"

#include <magic.h>
#include <unistd.h>

#include <cstdio>

namespace quern::worker {
namespace {

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

}  // namespace

void warm_magic() {
  cookie();
}

std::string magic_type(const StepInput& input) {
  ::lseek(input.descriptor, 0, SEEK_SET);
  const char* type = ::magic_descriptor(cookie(), input.descriptor);
  return type != nullptr ? type : "";
}

}  // namespace quern::worker

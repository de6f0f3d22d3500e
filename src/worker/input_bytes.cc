#include "worker/input_bytes.h"

#include <sys/mman.h>

namespace quern::worker {

InputBytes::InputBytes(const StepInput& input) {
  if (input.bytes == 0) return;
  void* mapped = ::mmap(nullptr, input.bytes, PROT_READ, MAP_SHARED, input.descriptor, 0);
  if (mapped == MAP_FAILED) {
    copied_ = read_input(input, input.bytes);
    view_ = copied_;
    return;
  }
  mapped_ = mapped;
  view_ = {static_cast<const char*>(mapped), input.bytes};
}

InputBytes::~InputBytes() {
  if (mapped_ != nullptr) ::munmap(mapped_, view_.size());
}

}  // namespace quern::worker

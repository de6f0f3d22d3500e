// InputBytes: all of an input, as if it were in memory. Its pages are read when they are looked at
// and count for no limit on memory.
#pragma once

#include <string>
#include <string_view>

#include "worker/step.h"

namespace quern::worker {

class InputBytes {
 public:
  explicit InputBytes(const StepInput& input);
  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  std::string_view view() const { return view_; }

 private:
  void* mapped_ = nullptr;
  std::string copied_;  // where it cannot be mapped
  std::string_view view_;
};

}  // namespace quern::worker

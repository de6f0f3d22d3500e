// ChildWriter: children of a container, one after the other, each with its blob or its error.
//
// A blob up to kHeldBytesMax is held back until it is known to be whole; of a larger one the part
// may have begun when it breaks off, and N.error then stands behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worker/mail_message.h"
#include "worker/step.h"

namespace quern::worker {

struct Child {
  std::string filename;
  std::string content_type = "application/octet-stream";
  std::string metadata;  // a JSON object; empty: the task's
};

class ChildWriter {
 public:
  explicit ChildWriter(StepContext& context) : context_(context) {}

  void whole(const Child& child, std::string_view blob);
  void failed(const Child& child, const Failure& failure);
  // As much as comes; N.error where it breaks off.
  void stream(const Child& child, const ByteSource& source);
  // Behind each child, which is whole then.
  void progress_of_children(std::uint64_t processed, std::uint64_t total);
  void progress_of_bytes(std::uint64_t processed, std::uint64_t total);

  std::uint64_t count() const { return count_; }

 private:
  std::string part_name(std::string_view kind) const;
  void begin(const Child& child);

  StepContext& context_;
  std::uint64_t count_ = 0;
};

}  // namespace quern::worker

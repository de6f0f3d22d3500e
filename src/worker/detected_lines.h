// DetectedLines: what a boxed Detect writes, "FILE TYPE" a line, as it comes in. Pure.
//
// The child may have been broken into: a line that is no number and no type is skipped.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace quern::worker {

inline constexpr std::size_t kDetectedLineBytesMax = 512;

class DetectedLines {
 public:
  void feed(std::string_view bytes, std::map<std::int64_t, std::string>& types);

 private:
  std::string line_;
};

// "application/zip": lower case, no parameters.
bool is_plain_type(std::string_view type);

}  // namespace quern::worker

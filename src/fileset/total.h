// Sums of what platforms and bundles say, who may say what they like.
#pragma once

#include <cstdint>

namespace quern::fileset {

// The largest number where there is none so large.
inline std::int64_t total_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace quern::fileset

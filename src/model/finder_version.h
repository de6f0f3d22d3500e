// Which version of the search for clips a server asks for, and a worker has. Both programs are
// built with this; worker/step_research.cc holds it to be that of the finder.
#pragma once

#include <cstdint>

namespace quern::model {

inline constexpr std::int64_t kFinderAlgorithm = 1;
inline constexpr std::int64_t kFinderFingerprint = 1;

}  // namespace quern::model

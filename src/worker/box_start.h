// How whoever has boxes starts them: with the broker's limits, and with a look at how confined they
// are.
#pragma once

#include <string>

#include "base/result.h"
#include "worker/box.h"
#include "worker/broker.h"

namespace quern::worker {

inline constexpr int kBoxFailuresMax = 3;  // at starts, one after the other

BoxOptions box_options(const BrokerOptions& options, const std::string& step);
// Whoever runs this should know what its box lacks: a line in the log. Unavailable where tests run:
// there, less than all is not enough.
Result<> judge_confinement(const Box& box, const std::string& step);

}  // namespace quern::worker

#include "worker/box_start.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/log.h"

namespace quern::worker {

BoxOptions box_options(const BrokerOptions& options, const std::string& step) {
  BoxOptions box;
  box.program = options.program;
  box.step = step;
  box.limits = options.limits;
  box.look_ms = options.look_ms;
  return box;
}

Result<> judge_confinement(const Box& box, const std::string& step) {
  const std::string lacks = box.lacks();
  if (lacks.empty()) return {};
  const char* ci = std::getenv("CI");
  if (ci != nullptr && std::string_view(ci) == "true") {
    return Error{Errc::Unavailable, fmt::format("the box of {} lacks {}", step, lacks)};
  }
  log_warn("steps.box_is_not_full", {{"step", step}, {"lacks", lacks}});
  return {};
}

}  // namespace quern::worker

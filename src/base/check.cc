#include "base/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace quern {

void check_failed(std::string_view condition, std::string_view detail, const char* file, int line) {
  // No logger here: it may be what is broken. One write, so that lines of threads do not mix.
  const std::string text =
      fmt::format("quern: broken invariant at {}:{}: {} {}\n", file, line, condition, detail);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace quern

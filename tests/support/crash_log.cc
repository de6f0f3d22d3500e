#include "support/crash_log.h"

#include <cstdlib>

namespace quern::support {
namespace {

// Cuts off and returns what stands before the separator, or everything.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

}  // namespace

std::map<std::string, int> CrashLog::writes_by_kind() const {
  std::map<std::string, int> counts;
  for (const LoggedWrite& write : writes) ++counts[write.kind];
  return counts;
}

CrashLog parse_crash_log(std::string_view text) {
  CrashLog log;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view what = take(line, ' ');
    if (what == "point") ++log.visits[std::string(line)];
    if (what != "write") continue;
    const int number = std::atoi(std::string(take(line, ' ')).c_str());
    const std::string kind(take(line, ' '));
    log.writes.push_back({number, kind, std::string(line)});
  }
  return log;
}

}  // namespace quern::support

// What a program wrote to QUERN_CRASH_LOG (base/crash.h): the durable writes and crash points it
// reached.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern::support {

struct LoggedWrite {
  int number;
  std::string kind;    // "commit", "fsync", "rename", …
  std::string detail;  // what was written
};

struct CrashLog {
  std::vector<LoggedWrite> writes;
  std::map<std::string, int> visits;  // by crash point

  std::map<std::string, int> writes_by_kind() const;
};

CrashLog parse_crash_log(std::string_view text);

}  // namespace quern::support

// Commands: what `quern WORD …` does once the command line is understood.
//
// A command is a coroutine on the loop; it returns the program's exit code or an error. Exit codes:
// 0 done; 1 done, but something among it is wrong; 2 usage; 3 could not finish.
#pragma once

#include <functional>
#include <string>

#include "app/config.h"
#include "app/door.h"
#include "base/result.h"
#include "net/loop.h"

namespace quern::app {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFoundWrong = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnfinished = 3;

enum class OutputFormat { Human, Json };

// What every command gets.
struct Command {
  net::Loop& loop;
  const Config& config;
  OutputFormat format;
};

// What the command line decided to do.
using Run = std::function<net::Task<Result<int>>(Command)>;

struct CounterAddition {
  std::string name;
  std::int64_t amount = 1;
  int times = 1;
  std::string key;  // empty: a random one
};
inline constexpr int kTimesMax = 1'000'000;

net::Task<Result<int>> serve(Command command);
net::Task<Result<int>> add_to_counter(Command command, CounterAddition addition);
net::Task<Result<int>> snapshot_counter(Command command, std::string name);
net::Task<Result<int>> list_counters(Command command);
net::Task<Result<int>> check(Command command);

}  // namespace quern::app

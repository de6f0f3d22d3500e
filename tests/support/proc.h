// What /proc tells tests about processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace quern::support {

// RssAnon: memory that is the process's own and not a view of a file. 0 where the process is gone.
std::int64_t rss_anon_kb(pid_t pid);

// Direct children, at this instant.
std::vector<pid_t> children_of(pid_t parent);

// Whether a process of that number runs; a zombie does not.
bool is_running(pid_t pid);

// Waits on a pidfd of any process, ours or not. Aborts where it still runs after that long.
void wait_for_end(int pidfd, std::chrono::milliseconds longest);

}  // namespace quern::support

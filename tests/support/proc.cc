#include "support/proc.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/check.h"
#include "io/file.h"

namespace quern::support {
namespace {

constexpr std::size_t kProcFileBytesMax = 64 * 1024;

struct Stat {
  char state;
  pid_t parent;
};

// /proc/PID/stat: "12 (a name) with) S 11 …"; only the last parenthesis ends the name.
std::optional<Stat> read_stat(pid_t pid) {
  const Result<std::string> text =
      io::read_file(fmt::format("/proc/{}/stat", pid), kProcFileBytesMax);
  if (!text.ok()) return std::nullopt;
  const std::size_t end = text->rfind(')');
  Stat stat{};
  if (end == std::string::npos ||
      std::sscanf(text->c_str() + end, ") %c %d", &stat.state, &stat.parent) != 2)
    return std::nullopt;
  return stat;
}

}  // namespace

std::int64_t rss_anon_kb(pid_t pid) {
  const std::string text =
      io::read_file(fmt::format("/proc/{}/status", pid), kProcFileBytesMax).value_or("");
  const std::size_t at = text.find("RssAnon:");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + 8);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::optional<Stat> stat = read_stat(pid);
    if (stat && stat->parent == parent) children.push_back(pid);
  }
  return children;
}

bool is_running(pid_t pid) {
  const std::optional<Stat> stat = read_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

void wait_for_end(int pidfd, std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    CHECK(left.count() > 0);
    pollfd wanted{pidfd, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(left.count())) > 0) return;
  }
}

}  // namespace quern::support

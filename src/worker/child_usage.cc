#include "worker/child_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "io/file.h"

namespace quern::worker {
namespace {

constexpr std::size_t kProcBytesMax = 64 * 1024;

std::optional<std::int64_t> number_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

std::uint64_t kib_of(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  return static_cast<std::uint64_t>(number_at(status.substr(at + name.size())).value_or(0));
}

}  // namespace

// The name of the program, the second field, may hold anything; counting begins behind it.
std::optional<std::int64_t> cpu_ticks_of(std::string_view stat) {
  constexpr int kUserField = 14;  // from 1; the system's time follows
  std::size_t at = stat.rfind(')');
  if (at == std::string_view::npos) return std::nullopt;
  ++at;
  for (int field = 3; field < kUserField; ++field) {
    at = stat.find(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
  }
  const auto user = number_at(stat.substr(at));
  const std::size_t next = stat.find(' ', at + 1);
  if (!user || next == std::string_view::npos) return std::nullopt;
  const auto system = number_at(stat.substr(next));
  if (!system) return std::nullopt;
  return *user + *system;
}

std::uint64_t memory_bytes_of(std::string_view status) {
  return (kib_of(status, "RssAnon:") + kib_of(status, "RssShmem:")) * 1024;
}

std::optional<ChildUsage> read_child_usage(pid_t pid) {
  const auto stat = io::read_file(fmt::format("/proc/{}/stat", pid), kProcBytesMax);
  const auto status = io::read_file(fmt::format("/proc/{}/status", pid), kProcBytesMax);
  if (!stat || !status) return std::nullopt;
  const auto ticks = cpu_ticks_of(*stat);
  if (!ticks) return std::nullopt;
  static const std::int64_t per_second = ::sysconf(_SC_CLK_TCK);
  return ChildUsage{*ticks * 1000 / per_second, memory_bytes_of(*status)};
}

}  // namespace quern::worker

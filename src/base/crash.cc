#include "base/crash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace quern {
namespace {

struct Order {
  bool at_write = false;  // else at a point
  bool before = false;
  std::string point;
  int number = 0;  // of the write, or of the visit to the point; 0: no order
  int signal = SIGKILL;
};

struct State {
  std::mutex mutex;
  Order order;
  int log = -1;
  int writes = 0;
  int visits = 0;  // to order.point
};

State& state() {
  static State* const the_state = new State;  // never destroyed: threads may reach points at exit
  return *the_state;
}

void act(int signal) {
  // To this thread: a signal to the process may be taken by another one, and this one would run on
  // for a while.
  ::raise(signal);
  // SIGKILL may take an instant to arrive; nothing may happen after it.
  if (signal == SIGKILL) {
    while (true) ::pause();
  }
}

void append_log(int descriptor, const std::string& line) {
  if (descriptor < 0) return;
  [[maybe_unused]] const auto written = ::write(descriptor, line.data(), line.size());
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool parse_positive(std::string_view text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out > 0;
}

Result<Order> parse_order(std::string_view text) {
  const Error bad{Errc::Invalid,
                  fmt::format("{}={}: expected write:K:before, write:K:after or point:NAME[:N]",
                              kCrashVariable, text)};
  std::vector<std::string_view> parts = split(text, ':');
  Order order;
  if (parts.size() > 1 && parts.back() == "stop") {
    order.signal = SIGSTOP;
    parts.pop_back();
  }
  if (parts.size() == 3 && parts[0] == "write") {
    order.at_write = true;
    order.before = parts[2] == "before";
    if (!order.before && parts[2] != "after") return bad;
    if (!parse_positive(parts[1], order.number)) return bad;
    return order;
  }
  if ((parts.size() == 2 || parts.size() == 3) && parts[0] == "point" && !parts[1].empty()) {
    order.point = parts[1];
    order.number = 1;
    if (parts.size() == 3 && !parse_positive(parts[2], order.number)) return bad;
    return order;
  }
  return bad;
}

}  // namespace

Result<> arm_crash_from_environment() {
  const char* order = std::getenv(kCrashVariable);
  const char* log = std::getenv(kCrashLogVariable);
  if (order == nullptr && log == nullptr) return {};
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  if (order != nullptr) {
    TRY_ASSIGN(s.order, parse_order(order));
  }
  if (log != nullptr) {
    s.log = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (s.log < 0) return Error{Errc::Invalid, fmt::format("cannot open {}", log)};
  }
  internal::crash_armed = true;
  return {};
}

void internal::crash_point_reached(std::string_view name) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  append_log(s.log, fmt::format("point {}\n", name));
  if (s.order.point == name && ++s.visits == s.order.number) act(s.order.signal);
}

int internal::durable_write_begins(std::string_view what, std::string_view detail) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const int number = ++s.writes;
  append_log(s.log, fmt::format("write {} {} {}\n", number, what, detail));
  const Order& order = s.order;
  if (order.at_write && order.before && order.number == number) act(order.signal);
  return number;
}

void internal::durable_write_ended(int number) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const Order& order = s.order;
  if (order.at_write && !order.before && order.number == number) act(order.signal);
}

}  // namespace quern

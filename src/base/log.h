// Structured log lines on standard error: an event name and fields, for people or as JSON.
//
// log_warn("writer.reconnect", {{"lane", 2}, {"error", error.message()}});
// A line is one write(2) of at most kLogLineBytesMax bytes, so lines of threads never mix.
// Safe from any thread. Never log the contents of people's files or secrets.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace quern {

inline constexpr std::size_t kLogLineBytesMax = 8 * 1024;

enum class LogLevel { Debug, Info, Warn, Error, Off };
enum class LogFormat { Human, Json };

struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view> value;

  LogField(std::string_view n, std::string_view v) : name(n), value(v) {}
  LogField(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
  LogField(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
  LogField(std::string_view n, double v) : name(n), value(v) {}
  template <class Int>
    requires std::is_integral_v<Int>
  LogField(std::string_view n, Int v) : name(n), value(static_cast<std::int64_t>(v)) {}
};
using LogFields = std::initializer_list<LogField>;

void set_log(LogLevel level, LogFormat format);
// Any thread may log while tests point the log elsewhere; -1 restores standard error.
void set_log_descriptor(int descriptor);

void log_event(LogLevel level, std::string_view event, LogFields fields);
inline void log_debug(std::string_view event, LogFields fields = {}) {
  log_event(LogLevel::Debug, event, fields);
}
inline void log_info(std::string_view event, LogFields fields = {}) {
  log_event(LogLevel::Info, event, fields);
}
inline void log_warn(std::string_view event, LogFields fields = {}) {
  log_event(LogLevel::Warn, event, fields);
}
inline void log_error(std::string_view event, LogFields fields = {}) {
  log_event(LogLevel::Error, event, fields);
}

// The text between JSON quotes: quotes, backslashes and controls escaped, bad UTF-8 replaced.
std::string json_escaped(std::string_view text);

}  // namespace quern

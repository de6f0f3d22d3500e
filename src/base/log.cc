#include "base/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/utf8.h"

namespace quern {
namespace {

std::atomic<LogLevel> g_level{LogLevel::Info};
std::atomic<LogFormat> g_format{LogFormat::Human};
std::atomic<int> g_descriptor{STDERR_FILENO};

constexpr std::string_view kLevelNames[] = {"debug", "info", "warn", "error", "off"};

void append_value(fmt::memory_buffer& out, const LogField& field) {
  auto to = fmt::appender(out);
  if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
    fmt::format_to(to, "{}", *integer);
  } else if (const auto* real = std::get_if<double>(&field.value)) {
    fmt::format_to(to, "{:.6g}", *real);
  } else {
    fmt::format_to(to, "\"{}\"", json_escaped(std::get<std::string_view>(field.value)));
  }
}

fmt::memory_buffer render(LogLevel level, std::string_view event, LogFields fields) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto millis = (now - seconds).count();
  const std::string_view name = kLevelNames[static_cast<int>(level)];

  fmt::memory_buffer out;
  auto to = fmt::appender(out);
  if (g_format.load(std::memory_order_relaxed) == LogFormat::Json) {
    fmt::format_to(to, R"({{"time":"{:%FT%T}.{:03}Z","level":"{}","event":"{}")", seconds, millis,
                   name, event);
    for (const LogField& field : fields) {
      fmt::format_to(to, ",\"{}\":", field.name);
      append_value(out, field);
    }
    fmt::format_to(to, "}}");
  } else {
    fmt::format_to(to, "{:%T}.{:03} {:<5} {}", seconds, millis, name, event);
    for (const LogField& field : fields) {
      fmt::format_to(to, " {}=", field.name);
      append_value(out, field);
    }
  }
  return out;
}

}  // namespace

void set_log(LogLevel level, LogFormat format) {
  g_level = level;
  g_format = format;
}

void set_log_descriptor(int descriptor) {
  g_descriptor = descriptor < 0 ? STDERR_FILENO : descriptor;
}

void log_event(LogLevel level, std::string_view event, LogFields fields) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  fmt::memory_buffer line = render(level, event, fields);
  if (line.size() > kLogLineBytesMax - 1) line.resize(kLogLineBytesMax - 1);
  line.push_back('\n');
  [[maybe_unused]] const auto written = ::write(g_descriptor.load(), line.data(), line.size());
}

std::string json_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace quern

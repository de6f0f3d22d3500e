#include "worker/detected_lines.h"

#include <algorithm>
#include <charconv>

namespace quern::worker {
namespace {

void take_line(std::string_view line, std::map<std::int64_t, std::string>& types) {
  std::int64_t file = 0;
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), file);
  if (failed != std::errc{} || end == line.data() + line.size() || *end != ' ') return;
  const std::string_view type = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
  if (is_plain_type(type)) types.emplace(file, type);
}

}  // namespace

void DetectedLines::feed(std::string_view bytes, std::map<std::int64_t, std::string>& types) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      take_line(line_, types);
      line_.clear();
    } else if (line_.size() < kDetectedLineBytesMax) {
      line_ += byte;
    }
  }
}

bool is_plain_type(std::string_view type) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' ||
           c == '_' || c == '/';
  };
  const std::size_t slash = type.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < type.size() &&
         type.find('/', slash + 1) == std::string_view::npos && type.size() <= 255 &&
         std::all_of(type.begin(), type.end(), allowed);
}

}  // namespace quern::worker

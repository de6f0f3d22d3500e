#include "web/warc_lines.h"

namespace quern::web {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

HeaderList take_headers(std::string_view& text) {
  HeaderList headers;
  bool folds = false;  // whether a folded line would belong to the last header
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (folds) headers.back().second.append(" ").append(trimmed(line));
      continue;
    }
    const std::size_t colon = line.find(':');
    folds = colon != std::string_view::npos && colon > 0;
    if (folds)
      headers.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return headers;
}

std::size_t head_end(std::string_view bytes) {
  const std::size_t long_end = bytes.find("\n\r\n");
  const std::size_t short_end = bytes.find("\n\n");
  if (long_end == std::string_view::npos && short_end == long_end) return long_end;
  return long_end < short_end ? long_end + 3 : short_end + 2;
}

}  // namespace quern::web

#include "web/fetcher_head.h"

#include <strings.h>

#include <algorithm>

#include "web/url_escape.h"

namespace quern::web {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<> ResponseHead::take(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > kResponseHeadBytesMax) {
    return over_limit("the head of the answer", static_cast<std::int64_t>(bytes_),
                      kResponseHeadBytesMax, "web.response_head_bytes_max");
  }
  if (is_complete) return {};
  if (line.starts_with("HTTP/")) {
    begin(line);
    return {};
  }
  if (trimmed(line).empty()) {
    is_complete = status >= 200 || status == 101;
    return {};
  }
  if ((line[0] == ' ' || line[0] == '\t') && !headers.empty()) {  // a folded line
    headers.back().second.append(" ").append(trimmed(line));
    return {};
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  if (headers.size() == kResponseHeadersMax) {
    return over_limit("the answer's headers", kResponseHeadersMax + 1, kResponseHeadersMax,
                      "web.response_headers_max");
  }
  headers.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return {};
}

// "HTTP/1.1 200 OK".
void ResponseHead::begin(std::string_view line) {
  headers.clear();
  line = trimmed(line.substr(5));
  const std::size_t blank = std::min(line.find(' '), line.size());
  version = line.substr(0, blank);
  line = trimmed(line.substr(blank));
  status = 0;
  for (std::size_t i = 0; i < 3 && i < line.size() && is_digit(line[i]); ++i) {
    status = status * 10 + (line[i] - '0');
  }
  reason = trimmed(line.substr(std::min<std::size_t>(3, line.size())));
}

std::string joined_header(const HeaderList& headers, std::string_view name) {
  std::string out;
  for (const auto& [key, value] : headers) {
    if (key.size() != name.size() || ::strncasecmp(key.data(), name.data(), name.size()) != 0) {
      continue;
    }
    if (!out.empty()) out += ", ";
    out += value;
  }
  return out;
}

}  // namespace quern::web

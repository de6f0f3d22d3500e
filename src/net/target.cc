#include "net/target.h"

#include <algorithm>

namespace quern::net {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// The part of the text before the separator, which goes too.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

Result<> parse_path(std::string_view path, Target& target) {
  if (path == "/") return {};
  for (std::size_t begin = 1; begin <= path.size();) {
    if (target.segments.size() == kTargetSegmentsMax) {
      return over_limit("path segments", kTargetSegmentsMax + 1, kTargetSegmentsMax,
                        "net.target_segments_max");
    }
    const std::size_t end = std::min(path.find('/', begin), path.size());
    TRY_ASSIGN(std::string segment, percent_decoded(path.substr(begin, end - begin), Plus::IsPlus));
    target.segments.push_back(std::move(segment));
    begin = end + 1;
  }
  return {};
}

Result<> parse_query(std::string_view query, Target& target) {
  while (!query.empty()) {
    std::string_view pair = take_until(query, '&');
    if (pair.empty()) continue;
    if (target.parameters.size() == kTargetParametersMax) {
      return over_limit("query parameters", kTargetParametersMax + 1, kTargetParametersMax,
                        "net.target_parameters_max");
    }
    TRY_ASSIGN(std::string name, percent_decoded(take_until(pair, '='), Plus::IsBlank));
    TRY_ASSIGN(std::string value, percent_decoded(pair, Plus::IsBlank));
    target.parameters.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

// "http://host/path" becomes "/path"; a target in any other form is refused.
Result<std::string_view> path_and_query(std::string_view target) {
  if (target.starts_with('/')) return target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const auto path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  return Error{Errc::Invalid, "the target does not begin with a slash"};
}

}  // namespace

const std::string* Target::find(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Target> parse_target(std::string_view text) {
  if (text.size() > kTargetBytesMax) {
    return over_limit("target", static_cast<std::int64_t>(text.size()), kTargetBytesMax,
                      "net.target_bytes_max");
  }
  Target target;
  if (text == "*") return target;
  TRY_ASSIGN(std::string_view rest, path_and_query(text));
  if (rest.find('#') != std::string_view::npos) {
    return Error{Errc::Invalid, "a fragment in the target"};
  }
  const std::string_view path = take_until(rest, '?');
  TRY(parse_path(path, target));
  TRY(parse_query(rest, target));
  return target;
}

Result<std::string> percent_decoded(std::string_view text, Plus plus) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::IsBlank) {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return Error{Errc::Invalid, "a malformed escape in the target"};
      if (high + low == 0) return Error{Errc::Invalid, "a NUL in the target"};
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return result;
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return result;
}

void append_segment(std::string& target, std::string_view segment) {
  if (!target.ends_with('/')) target += '/';
  target += percent_encoded(segment);
}

void append_query(std::string& target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  target += percent_encoded(name) + "=" + percent_encoded(value);
}

}  // namespace quern::net

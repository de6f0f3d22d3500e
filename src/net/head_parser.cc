#include "net/head_parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace quern::net {
namespace {

constexpr std::uint64_t kLengthMax = 0x7fff'ffff'ffff'ffff;

Error malformed(std::string_view what) {
  return Error{Errc::Invalid, std::string(what)};
}

// Takes the next line off the text; a head consists of lines ended by CRLF.
Result<std::string_view> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos || end == 0 || text[end - 1] != '\r') {
    return malformed("a line of the head does not end in CRLF");
  }
  const std::string_view line = text.substr(0, end - 1);
  text.remove_prefix(end + 1);
  return line;
}

bool is_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
  });
}

Result<> parse_field(std::string_view line, Headers& headers) {
  if (headers.size() >= kHeadersMax) {
    return over_limit("header fields", static_cast<std::int64_t>(headers.size()) + 1, kHeadersMax,
                      "net.headers_max");
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return malformed("a header line has no colon");
  const std::string_view name = line.substr(0, colon);
  // This also refuses folded lines and blanks before the colon.
  if (!is_token(name)) return malformed("a header name is not a token");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) return malformed("a header value has control characters");
  headers.add(name, value);
  return {};
}

Result<> parse_fields(std::string_view text, Headers& headers) {
  while (!text.empty()) {
    TRY_ASSIGN(const std::string_view line, take_line(text));
    TRY(parse_field(line, headers));
  }
  return {};
}

Result<int> parse_version(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  return malformed("the version is not HTTP/1.0 or HTTP/1.1");
}

bool is_target(std::string_view target) {
  return !target.empty() && std::all_of(target.begin(), target.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

Result<> parse_request_line(std::string_view line, RequestHead& head) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return malformed("the request line has not three parts");
  }
  head.method_text = line.substr(0, first);
  if (!is_token(head.method_text)) return malformed("the method is not a token");
  head.method = method_of(head.method_text);
  head.target = line.substr(first + 1, last - first - 1);
  if (!is_target(head.target)) return malformed("the target is empty or has blanks in it");
  TRY_ASSIGN(head.version_minor, parse_version(line.substr(last + 1)));
  return {};
}

// All values of Content-Length, also "5, 5", must agree.
Result<std::optional<std::uint64_t>> declared_length(const Headers& headers) {
  std::optional<std::uint64_t> length;
  for (std::string_view value : headers.find_all("Content-Length")) {
    for (bool more = true; more;) {
      const auto comma = value.find(',');
      const auto number = parse_decimal(trimmed(value.substr(0, comma)));
      if (!number) return malformed("Content-Length is not a number");
      if (length && *length != *number) return malformed("two Content-Lengths disagree");
      length = number;
      more = comma != std::string_view::npos;
      if (more) value.remove_prefix(comma + 1);
    }
  }
  return length;
}

// Chunked, or a coding we do not know; nothing where there is no transfer coding.
Result<bool> is_chunked(const Headers& headers) {
  const auto codings = headers.find_all("Transfer-Encoding");
  if (codings.empty()) return false;
  if (codings.size() == 1 && equals_ignoring_case(trimmed(codings[0]), "chunked")) return true;
  return malformed("the only transfer coding understood is chunked");
}

}  // namespace

std::size_t find_head_end(std::string_view bytes, std::size_t scanned) {
  const auto at = bytes.find("\r\n\r\n", scanned < 3 ? 0 : scanned - 3);
  return at == std::string_view::npos ? at : at + 4;
}

Result<RequestHead> parse_request_head(std::string_view text) {
  RequestHead head;
  TRY_ASSIGN(const std::string_view line, take_line(text));
  TRY(parse_request_line(line, head));
  TRY(parse_fields(text, head.headers));
  if (head.version_minor == 1 && head.headers.find_all("Host").size() != 1) {
    return malformed("HTTP/1.1 demands one Host header");
  }
  return head;
}

Result<ParsedResponseHead> parse_response_head(std::string_view text) {
  ParsedResponseHead parsed;
  TRY_ASSIGN(const std::string_view line, take_line(text));
  TRY_ASSIGN(parsed.version_minor, parse_version(line.substr(0, line.find(' '))));
  const std::string_view rest = line.substr(std::min<std::size_t>(line.size(), 9));
  const auto status = parse_decimal(rest.substr(0, 3));
  if (!status || *status < 100 || (rest.size() > 3 && rest[3] != ' ')) {
    return malformed("the status line has no status");
  }
  parsed.head.status = static_cast<int>(*status);
  TRY(parse_fields(text, parsed.head.headers));
  return parsed;
}

Result<Framing> request_framing(const RequestHead& head) {
  TRY_ASSIGN(const bool chunked, is_chunked(head.headers));
  TRY_ASSIGN(const auto length, declared_length(head.headers));
  if (chunked && length) return malformed("both Content-Length and Transfer-Encoding");
  if (chunked && head.version_minor == 0) return malformed("chunks in HTTP/1.0");
  if (chunked) return Framing{Framing::Kind::Chunked, 0};
  if (length && *length > 0) return Framing{Framing::Kind::Length, *length};
  return Framing{};
}

Result<Framing> response_framing(const ResponseHead& head, Method of_request) {
  if (of_request == Method::Head || head.status < 200 || head.status == 204 || head.status == 304) {
    return Framing{};
  }
  TRY_ASSIGN(const bool chunked, is_chunked(head.headers));
  TRY_ASSIGN(const auto length, declared_length(head.headers));
  if (chunked && length) return malformed("both Content-Length and Transfer-Encoding");
  if (chunked) return Framing{Framing::Kind::Chunked, 0};
  if (!length) return Framing{Framing::Kind::UntilClose, 0};
  return *length > 0 ? Framing{Framing::Kind::Length, *length} : Framing{};
}

bool wants_keep_alive(const Headers& headers, int version_minor) {
  if (headers.has_token("Connection", "close")) return false;
  return version_minor >= 1 || headers.has_token("Connection", "keep-alive");
}

void append_head(std::string& out, std::string_view first_line, const Headers& headers) {
  out += first_line;
  out += "\r\n";
  for (const Header& header : headers) {
    out += header.name;
    out += ": ";
    out += header.value;
    out += "\r\n";
  }
  out += "\r\n";
}

std::string response_line(int status) {
  return fmt::format("HTTP/1.1 {} {}", status, reason_phrase(status));
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value <= kLengthMax ? std::optional(value) : std::nullopt;
}

}  // namespace quern::net

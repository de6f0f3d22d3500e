#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "web/warc.h"
#include "web/warc_lines.h"

namespace quern::web {
namespace {

constexpr std::string_view kOriginal = "X-Archive-Orig-";

// HTTP/2 sends no phrase, and readers of archives want one.
constexpr std::array<std::pair<int, std::string_view>, 20> kPhrases{{
    {200, "OK"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {410, "Gone"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

std::string_view phrase_of(int status) {
  const auto* const found = std::find_if(kPhrases.begin(), kPhrases.end(),
                                         [status](const auto& row) { return row.first == status; });
  return found == kPhrases.end() ? "Unknown" : found->second;
}

bool is(std::string_view name, std::string_view other) {
  return name.size() == other.size() && ::strncasecmp(name.data(), other.data(), name.size()) == 0;
}

// Nothing that was in a field ends a line.
void append_clean(std::string& text, std::string_view field) {
  for (const char c : field) text += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
}

// "HTTP/1.1 200 OK", "HTTP/2 204"; 0 where there is no number.
int status_of(std::string_view line, std::string& reason) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  line = trimmed(line.substr(space));
  int status = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && digits < 3 && line[digits] >= '0' && line[digits] <= '9';
       ++digits) {
    status = status * 10 + (line[digits] - '0');
  }
  reason = trimmed(line.substr(digits));
  return digits == 3 ? status : 0;
}

}  // namespace

std::string archived_head(const Fetched& fetched) {
  const bool old = fetched.version == "1.0";
  std::string head = fmt::format("HTTP/{} {:03} ", old ? "1.0" : "1.1", fetched.status);
  append_clean(head, fetched.reason.empty() ? phrase_of(fetched.status) : fetched.reason);
  head += "\r\n";
  const std::string size = std::to_string(fetched.raw.size());
  for (const auto& [name, value] : fetched.headers) {
    const bool untrue =
        is(name, "Transfer-Encoding") || (is(name, "Content-Length") && trimmed(value) != size);
    if (untrue) head += kOriginal;
    append_clean(head, name);
    head += ": ";
    append_clean(head, value);
    head += "\r\n";
  }
  return head + "\r\n";
}

Result<ArchivedHead> parse_archived_head(std::string_view bytes) {
  if (!bytes.starts_with("HTTP/")) {
    return Error{Errc::Corrupt, "an archived answer does not begin with HTTP/"};
  }
  std::string_view rest = bytes.substr(0, kWarcHeadBytesMax);
  ArchivedHead head;
  head.status = status_of(take_line(rest), head.reason);
  if (head.status == 0) return Error{Errc::Corrupt, "an archived answer has no status"};
  head.headers = take_headers(rest);
  head.bytes = std::min(bytes.size(), kWarcHeadBytesMax) - rest.size();
  if (head.bytes == kWarcHeadBytesMax && !bytes.substr(0, kWarcHeadBytesMax).ends_with("\n\r\n")) {
    return over_limit("archived head", static_cast<std::int64_t>(bytes.size()), kWarcHeadBytesMax,
                      "web.warc_head_bytes_max");
  }
  return head;
}

}  // namespace quern::web

#include <boost/json.hpp>
#include <charconv>

#include "base/utf8.h"
#include "web/warc.h"

namespace quern::web {
namespace {

namespace json = boost::json;

constexpr std::size_t kCdxjLineBytesMax = 64 * 1024;

std::string text_of(const json::object& fields, std::string_view name) {
  const json::value* const value = fields.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

// Some write numbers, some write them in quotes; "-" where there is none.
std::int64_t number_of(const json::object& fields, std::string_view name) {
  const json::value* const value = fields.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->get_int64();
  if (!value->is_string()) return 0;
  const json::string& text = value->get_string();
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string CdxjLine::text() const {
  json::object fields;
  fields["url"] = valid_utf8(url);
  fields["mime"] = valid_utf8(mime);
  fields["status"] = status;
  fields["digest"] = valid_utf8(digest);
  fields["length"] = length;
  fields["offset"] = offset;
  fields["filename"] = valid_utf8(filename);
  return surt + " " + timestamp + " " + json::serialize(fields);
}

Result<CdxjLine> parse_cdxj(std::string_view line) {
  if (line.size() > kCdxjLineBytesMax) {
    return over_limit("index line", static_cast<std::int64_t>(line.size()), kCdxjLineBytesMax,
                      "web.cdxj_line_bytes_max");
  }
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) {
    return Error{Errc::Corrupt, "an index line has three parts: key, timestamp, JSON"};
  }
  boost::system::error_code error;
  const json::value value = json::parse(line.substr(second + 1), error);
  if (error || !value.is_object()) {
    return Error{Errc::Corrupt, "an index line ends with a JSON object"};
  }
  const json::object& fields = value.get_object();
  CdxjLine parsed;
  parsed.surt = line.substr(0, first);
  parsed.timestamp = line.substr(first + 1, second - first - 1);
  if (const auto at = parse_timestamp14(parsed.timestamp); !at.ok()) return at.error();
  parsed.url = text_of(fields, "url");
  parsed.mime = text_of(fields, "mime");
  parsed.digest = text_of(fields, "digest");
  parsed.filename = text_of(fields, "filename");
  const std::int64_t status = number_of(fields, "status");
  parsed.status = status >= 0 && status <= 999 ? static_cast<int>(status) : 0;
  parsed.length = number_of(fields, "length");
  parsed.offset = number_of(fields, "offset");
  if (parsed.offset < 0 || parsed.length < 0) {
    return Error{Errc::Corrupt, "an index line names a place before the file"};
  }
  return parsed;
}

}  // namespace quern::web

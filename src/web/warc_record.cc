#include "web/warc_record.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "web/warc_lines.h"
#include "web/warc_time.h"

namespace quern::web {
namespace {

constexpr std::size_t kShownBytes = 80;

std::optional<std::int64_t> length_of(std::string_view text) {
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes < 0) return {};
  return bytes;
}

std::string_view without_brackets(std::string_view url) {
  if (url.size() >= 2 && url.starts_with('<') && url.ends_with('>')) {
    return url.substr(1, url.size() - 2);
  }
  return url;
}

bool is_address(const std::string& text) {
  in6_addr parsed;
  return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

bool is_date(std::string_view text) {
  return (text.size() == 12 || text.size() == 14) &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Word {
  std::size_t begin;
  std::string text;
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back({begin, std::string(line.substr(begin, end - begin))});
    at = end;
  }
  return words;
}

// Where the address is: before the date. What stands before it is the URL.
std::size_t find_address(const std::vector<Word>& words) {
  for (std::size_t i = 1; i + 3 < words.size(); ++i) {
    if (is_date(words[i + 1].text) && is_address(words[i].text)) return i;
  }
  return 0;
}

std::string arc_type(std::string_view url) {
  if (url.starts_with("filedesc:")) return "warcinfo";
  if (url.starts_with("http:") || url.starts_with("https:")) return "response";
  return "resource";
}

}  // namespace

std::string_view find_header(const WarcRecord& record, std::string_view name) {
  return find_header(record.headers, name);
}

bool is_warc_version(std::string_view line) {
  return line.starts_with("WARC/0.") || line.starts_with("WARC/1.");
}

Result<WarcRecord> parse_warc_head(std::string_view text) {
  WarcRecord record;
  record.headers = take_headers(text);
  record.type = find_header(record, "WARC-Type");
  record.url = without_brackets(find_header(record, "WARC-Target-URI"));
  record.at_us = parse_warc_date(find_header(record, "WARC-Date"));
  const auto length = length_of(find_header(record, "Content-Length"));
  if (!length) return Error{Errc::Corrupt, "a record without a length"};
  record.content_bytes = *length;
  return record;
}

Result<WarcRecord> parse_arc_line(std::string_view line) {
  line = trimmed(line);
  const std::vector<Word> words = words_of(line);
  const std::size_t address = find_address(words);
  const auto length = address > 0 ? length_of(words.back().text) : std::nullopt;
  if (!length) {
    return Error{Errc::Corrupt, fmt::format("neither a WARC nor an ARC record: \"{}\"",
                                            line.substr(0, kShownBytes))};
  }
  WarcRecord record;
  record.url = trimmed(line.substr(0, words[address].begin));
  record.type = arc_type(record.url);
  record.content_bytes = *length;
  std::string date = words[address + 1].text;
  date.resize(14, '0');
  const auto at = parse_timestamp14(date);
  if (at.ok()) record.at_us = *at;
  const std::string& type = words[address + 2].text;
  record.headers = {{"WARC-Type", record.type},
                    {"WARC-Target-URI", record.url},
                    {"WARC-IP-Address", words[address].text},
                    {"Content-Length", words.back().text}};
  if (record.at_us) record.headers.emplace_back("WARC-Date", warc_date(*record.at_us));
  if (record.type == "response") {
    record.headers.emplace_back("Content-Type", "application/http; msgtype=response");
    record.headers.emplace_back("WARC-Identified-Payload-Type", type);
  } else {
    record.headers.emplace_back("Content-Type", type);
  }
  return record;
}

}  // namespace quern::web

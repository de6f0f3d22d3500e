#include "fileset/judge.h"

#include <fmt/format.h>

#include <charconv>

namespace quern::fileset {
namespace {

using Verdict = Judged::Verdict;

constexpr std::int64_t kBytesMax = std::int64_t{1} << 60;  // of which sums are still numbers

std::optional<std::int64_t> bytes_of(std::string_view text) {
  std::int64_t number = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

Judged odd(std::string why) {
  Judged judged;
  judged.verdict = Verdict::Odd;
  judged.why = std::move(why);
  return judged;
}

bool differ(std::string_view now, std::string_view before) {
  return !now.empty() && !before.empty() && now != before;
}

Judged too_large(std::int64_t bytes, std::int64_t limit) {
  return {Verdict::TooLarge, bytes, fmt::format("it has {} bytes, the limit is {}", bytes, limit)};
}

Judged judge_whole(const Expected& expected, const web::HeaderList& headers) {
  const std::string_view text = web::find_header(headers, "Content-Length");
  const std::optional<std::int64_t> length = bytes_of(text);
  if (!text.empty() && !length) return odd("its length is none");
  if (length && *length > expected.bytes_max) return too_large(*length, expected.bytes_max);
  const bool encoded = !encoding_of(headers).empty();
  if (length && expected.size && *length != *expected.size && !encoded) {
    Judged judged =
        odd(fmt::format("the server has {} bytes in the place of {}", *length, *expected.size));
    judged.other_size = true;
    judged.other_tag = differ(web::find_header(headers, "ETag"), expected.etag);
    return judged;
  }
  // Where nobody told us the size: an error's page has none of the marks that the file had.
  const bool lost_its_mark = !expected.etag.empty() && web::find_header(headers, "ETag").empty();
  if (expected.have > 0 && expected.total && length != expected.total && lost_its_mark) {
    return odd("the server sent something else in the place of the file");
  }
  return {Verdict::Begin, length, {}};
}

Judged judge_part(const Expected& expected, const web::HeaderList& headers) {
  const auto range = parse_content_range(web::find_header(headers, "Content-Range"));
  if (expected.have == 0) return odd("a range came that nobody had asked for");
  if (!range) return odd("a range came without its place");
  if (range->first != expected.have) {
    return odd(fmt::format("the range begins at {}, not at {}", range->first, expected.have));
  }
  if (differ(web::find_header(headers, "ETag"), expected.etag) ||
      differ(web::find_header(headers, "Last-Modified"), expected.last_modified)) {
    return {Verdict::Changed, {}, "the file has changed at its server"};
  }
  const std::optional<std::int64_t> known = expected.total ? expected.total : expected.size;
  if (range->total && known && *range->total != *known) {
    return odd(fmt::format("the range is one of {} bytes, not of {}", *range->total, *known));
  }
  const auto length = bytes_of(web::find_header(headers, "Content-Length"));
  if (length && *length != range->last - range->first + 1) {
    return odd("the range has another length than its body");
  }
  if (encoding_of(headers) != expected.encoding) return odd("the range is coded in another way");
  const std::int64_t end = range->total.value_or(range->last + 1);
  if (end > expected.bytes_max) return too_large(end, expected.bytes_max);
  return {Verdict::Append, range->total ? range->total : known, {}};
}

Judged judge_unsatisfied(const Expected& expected, const web::HeaderList& headers) {
  const auto total = parse_unsatisfied(web::find_header(headers, "Content-Range"));
  const bool same = total && *total == expected.have && expected.total.value_or(*total) == *total;
  if (same) return {Verdict::Complete, total, {}};
  return {Verdict::Changed, {}, "the server has no such range of the file any more"};
}

}  // namespace

std::string encoding_of(const web::HeaderList& headers) {
  const std::string_view value = web::find_header(headers, "Content-Encoding");
  return value == "identity" ? std::string() : std::string(value);
}

std::string if_range_of(const std::string& etag, const std::string& last_modified) {
  const bool strong = etag.size() >= 2 && etag.front() == '"' && etag.back() == '"';
  return strong ? etag : last_modified;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  static constexpr std::string_view kUnit = "bytes ";
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos ||
      slash == std::string_view::npos || slash < dash) {
    return {};
  }
  const auto first = bytes_of(text.substr(kUnit.size(), dash - kUnit.size()));
  const auto last = bytes_of(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total = text.substr(slash + 1);
  ContentRange range;
  if (total != "*") range.total = bytes_of(total);
  if (!first || !last || *last < *first || *last > kBytesMax || (total != "*" && !range.total))
    return {};
  range.first = *first;
  range.last = *last;
  if (range.total && range.last >= *range.total) return {};
  return range;
}

std::optional<std::int64_t> parse_unsatisfied(std::string_view text) {
  static constexpr std::string_view kBegin = "bytes */";
  if (!text.starts_with(kBegin)) return {};
  return bytes_of(text.substr(kBegin.size()));
}

Judged judge_answer(const Expected& expected, int status, const web::HeaderList& headers) {
  if (status == 200) return judge_whole(expected, headers);
  if (status == 206) return judge_part(expected, headers);
  if (status == 416 && expected.have > 0) return judge_unsatisfied(expected, headers);
  return {};
}

}  // namespace quern::fileset

// Exchange::respond_content: GET and HEAD of content with ranges and conditions (RFC 9110, 13 and
// 14).
#include <fmt/format.h>

#include <algorithm>

#include "net/exchange.h"
#include "net/range.h"

namespace quern::net {
namespace {

RangeChoice wanted_range(const RequestHead& request, const Content& content) {
  const std::string* range = request.headers.find("Range");
  // RFC 9110: a Range header means something for GET only.
  if (range == nullptr || request.method != Method::Get) return WholeContent{};
  const std::string* if_range = request.headers.find("If-Range");
  if (if_range != nullptr && (content.etag.empty() || !if_range_allows(*if_range, content.etag))) {
    return WholeContent{};
  }
  return choose_range(*range, content.size);
}

bool is_known_to_client(const RequestHead& request, const Content& content) {
  if (content.etag.empty()) return false;
  for (const std::string_view value : request.headers.find_all("If-None-Match")) {
    if (etag_listed(value, content.etag)) return true;
  }
  return false;
}

Headers common_headers(const Content& content) {
  Headers headers = content.headers;
  headers.set("Accept-Ranges", "bytes");
  if (!content.etag.empty()) headers.set("ETag", content.etag);
  return headers;
}

}  // namespace

Task<Result<>> Exchange::respond_content(ContentSource& source, Content content) {
  if (request_.method != Method::Get && request_.method != Method::Head) {
    co_return co_await respond(problem(405, "only GET and HEAD").with("Allow", "GET, HEAD"));
  }
  Response plain;
  plain.headers = common_headers(content);
  if (is_known_to_client(request_, content)) {
    plain.status = 304;
    co_return co_await respond(std::move(plain));
  }
  const RangeChoice choice = wanted_range(request_, content);
  if (std::holds_alternative<NotSatisfiable>(choice)) {
    Response refusal = problem(416, "the range begins behind the end");
    refusal.headers.set("Content-Range", fmt::format("bytes */{}", content.size));
    co_return co_await respond(std::move(refusal));
  }
  const auto* part = std::get_if<ByteRange>(&choice);
  const ByteRange range = part != nullptr ? *part : ByteRange{0, content.size};
  ResponseHead head{part != nullptr ? 206 : 200, std::move(plain.headers)};
  head.headers.set("Content-Type", content.content_type);
  if (part != nullptr) {
    const std::uint64_t last = range.offset + range.bytes - 1;
    head.headers.set("Content-Range",
                     fmt::format("bytes {}-{}/{}", range.offset, last, content.size));
  }
  co_return co_await send_range(source, std::move(head), range);
}

Task<Result<>> Exchange::send_range(ContentSource& source, ResponseHead head, ByteRange range) {
  const std::uint64_t total = range.bytes;
  if (request_.method == Method::Head || total == 0) {
    CO_TRY(co_await start(std::move(head), total));
    body_suppressed_ = true;
    length_left_ = 0;
    co_return co_await finish();
  }
  const std::size_t capacity =
      static_cast<std::size_t>(std::min<std::uint64_t>(total, kContentBufferBytes));
  const auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
  while (range.bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(range.bytes, capacity));
    CO_TRY_ASSIGN(const std::size_t bytes,
                  co_await source.read_at(range.offset, {buffer.get(), wanted}));
    if (bytes == 0 || bytes > wanted)
      co_return Error{Errc::Internal, "content is shorter than its size"};
    // Only now: what fails before its first byte can still be answered with an error.
    if (!answered()) CO_TRY(co_await start(head, total));
    CO_TRY(co_await write({buffer.get(), bytes}));
    range.offset += bytes;
    range.bytes -= bytes;
  }
  co_return co_await finish();
}

}  // namespace quern::net

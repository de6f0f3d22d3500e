#include "api/item_lines.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <limits>

#include "api/queue_json.h"
#include "api/request.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

constexpr std::size_t kReadBytes = 64 * 1024;

// Whether the line is at fault, not the store: then the others of its group can do without it.
bool is_of_input(Errc kind) {
  return kind == Errc::Conflict || kind == Errc::Invalid || kind == Errc::TooLarge;
}

class Intake {
 public:
  Intake(PartsPtr parts, std::string partition, std::int64_t first_line, std::int64_t put_before)
      : parts_(std::move(parts)),
        partition_(std::move(partition)),
        line_(first_line - 1),
        put_(put_before) {}

  // Bytes of the body, cut anywhere.
  net::Task<Result<>> append(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      pending_ += bytes.substr(0, end);
      if (pending_.size() > kItemLineBytesMax) co_return co_await refuse(too_long());
      if (end == std::string_view::npos) break;
      bytes.remove_prefix(end + 1);
      CO_TRY(co_await take_line());
    }
    co_return Result<>{};
  }
  net::Task<Result<>> finish() {
    CO_TRY(co_await take_line());
    co_return co_await flush();
  }
  json::object answer() const { return {{"added", added_}, {"same", same_}, {"taken", taken_}}; }

 private:
  struct Line {
    std::int64_t number;
    queue::NewItem item;
  };

  static Error too_long() {
    return Error{Errc::TooLarge,
                 fmt::format("it is longer than {} bytes (kItemLineBytesMax)", kItemLineBytesMax)};
  }
  Error at_line(std::int64_t number, const Error& error) const {
    return Error{error.kind(), fmt::format("line {}: {} ({} items were put before it)", number,
                                           error.message(), put_)};
  }
  // What came before the bad line is put all the same.
  net::Task<Result<>> refuse(Error error) {
    const std::int64_t number = line_ + 1;
    CO_TRY(co_await flush());
    co_return at_line(number, error);
  }
  net::Task<Result<>> take_line() {
    const std::string text = std::exchange(pending_, {});
    if (text.find_first_not_of(" \t\r") != std::string::npos) {
      Result<queue::NewItem> item = parse_item_line(text);
      if (!item.ok()) co_return co_await refuse(item.error());
      bytes_ += item->data.size();
      group_.push_back({line_ + 1, *std::move(item)});
    }
    ++line_;
    if (group_.size() < kItemGroupMax && bytes_ < kItemGroupBytesMax) co_return Result<>{};
    co_return co_await flush();
  }
  net::Task<Result<>> flush() {
    const std::vector<Line> lines = std::exchange(group_, {});
    bytes_ = 0;
    if (lines.empty()) co_return Result<>{};
    co_return co_await put(lines);
  }
  // All at once; where that is refused, by halves, until the line at fault stands alone.
  net::Task<Result<>> put(std::span<const Line> lines) {
    std::vector<queue::NewItem> items;
    for (const Line& line : lines) items.push_back(line.item);
    const Result<queue::PutItems::Reply> reply =
        co_await put_items(parts_, partition_, std::move(items));
    if (reply.ok()) {
      for (const queue::PutResult& one : *reply) count(one.put);
      co_return Result<>{};
    }
    if (lines.size() == 1 || !is_of_input(reply.error().kind())) {
      co_return at_line(lines[0].number, reply.error());
    }
    CO_TRY(co_await put(lines.first(lines.size() / 2)));
    co_return co_await put(lines.subspan(lines.size() / 2));
  }
  void count(queue::Put put) {
    ++put_;
    if (put == queue::Put::Added) ++added_;
    if (put == queue::Put::Same) ++same_;
    if (put == queue::Put::Taken) ++taken_;
  }

  PartsPtr parts_;
  std::string partition_;
  std::string pending_;  // of a line whose end has not come
  std::vector<Line> group_;
  std::size_t bytes_ = 0;  // of the group
  std::int64_t line_;      // the last whole one
  std::int64_t put_;
  std::int64_t added_ = 0;
  std::int64_t same_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace

net::Task<Result<>> put_lines(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  // For a client that sends a long file in pieces, so that errors have the numbers of the file.
  const std::int64_t first_line = parameters.number("first_line", 1).value_or(1);
  const std::int64_t put_before = parameters.number("put_before").value_or(0);
  CO_TRY(parameters.finish());
  CO_TRY(queue::validate_partition_name(call.values[0]));
  call.exchange.limit_body(std::numeric_limits<std::uint64_t>::max());
  Intake intake(parts, call.values[0], first_line, put_before);
  std::vector<char> buffer(kReadBytes);
  while (true) {
    CO_TRY_ASSIGN(const std::size_t bytes, co_await call.exchange.read(buffer));
    if (bytes == 0) break;
    const std::string_view piece(buffer.data(), bytes);
    CO_TRY(co_await intake.append(piece));
  }
  CO_TRY(co_await intake.finish());
  const std::string text = json::serialize(intake.answer());
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

}  // namespace quern::api

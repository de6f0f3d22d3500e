#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "web/warc.h"
#include "web/warc_input.h"
#include "web/warc_record.h"

namespace quern::web {
namespace {

constexpr std::size_t kSkippedAtOnce = 1024 * 1024;
constexpr std::size_t kStrayBytesMax = 8 * 1024;

}  // namespace

class WarcReader::Core {
 public:
  Core(Source source, std::int64_t begin) : input_(std::move(source), begin) {}

  Result<std::optional<WarcRecord>> next();
  // Nowhere: what is read is skipped.
  Result<std::size_t> read(char* to, std::size_t size);
  std::int64_t position() const { return position_; }
  template <class T>
  Result<T> kept(Result<T> result) {
    if (!result.ok()) failed_ = result.error();
    return result;
  }
  const std::optional<Error>& failed() const { return failed_; }

 private:
  Result<> skip_content();
  Result<> skip_stray_line();
  Result<> end_record();
  Result<bool> find_record();
  Result<WarcRecord> read_head();
  Result<std::string> read_head_lines(std::size_t bytes_max);

  WarcInput input_;
  std::optional<Error> failed_;  // what follows an error is nobody's
  bool in_record_ = false;
  bool in_arc_ = false;
  bool shares_member_ = false;
  std::int64_t content_left_ = 0;
  std::int64_t position_ = 0;
};

// Whether another begins; goes to it.
Result<bool> WarcReader::Core::find_record() {
  shares_member_ = input_.is_gzip() && !input_.at_member_end();
  while (true) {
    TRY_ASSIGN(const bool more, input_.skip_line_ends());
    if (more) return true;
    TRY_ASSIGN(const bool member, input_.next_member());
    if (!member) return false;
    shares_member_ = false;
  }
}

Result<std::string> WarcReader::Core::read_head_lines(std::size_t bytes_max) {
  std::string head;
  while (true) {
    TRY_ASSIGN(const std::string line, input_.read_line(bytes_max - head.size()));
    if (!line.ends_with('\n')) return Error{Errc::Corrupt, "a record's head is cut off"};
    head += line;
    if (line == "\n" || line == "\r\n") return head;
  }
}

Result<WarcRecord> WarcReader::Core::read_head() {
  TRY_ASSIGN(const std::string line, input_.read_line(kWarcHeadBytesMax));
  in_arc_ = !is_warc_version(line);
  if (in_arc_) return parse_arc_line(line.substr(0, line.find_last_not_of("\r\n") + 1));
  TRY_ASSIGN(const std::string lines, read_head_lines(kWarcHeadBytesMax - line.size()));
  return parse_warc_head(lines);
}

Result<std::optional<WarcRecord>> WarcReader::Core::next() {
  TRY(skip_content());
  TRY_ASSIGN(const bool more, find_record());
  if (!more) return std::optional<WarcRecord>();
  const std::int64_t offset = input_.position();
  Result<WarcRecord> record = read_head();
  if (!record.ok()) {
    return std::move(record).error().with_context(fmt::format("record at {}", offset));
  }
  record->offset = offset;
  record->shares_member = shares_member_;
  content_left_ = record->content_bytes;
  in_record_ = true;
  return std::optional(*std::move(record));
}

Result<std::size_t> WarcReader::Core::read(char* to, std::size_t size) {
  if (!in_record_ || size == 0) return std::size_t{0};
  if (content_left_ > 0) {
    TRY_ASSIGN(const std::string_view bytes, input_.peek());
    if (!bytes.empty()) {
      const std::size_t left = static_cast<std::size_t>(
          std::min(content_left_, static_cast<std::int64_t>(std::min(size, bytes.size()))));
      if (to != nullptr) std::memcpy(to, bytes.data(), left);
      input_.consume(left);
      content_left_ -= static_cast<std::int64_t>(left);
      return left;
    }
    // ARC files whose lines somebody has converted are known, and read by others.
    if (!in_arc_) {
      return Error{Errc::Corrupt, fmt::format("a record ends {} bytes early, at {}", content_left_,
                                              input_.position())};
    }
    content_left_ = 0;
  }
  TRY(end_record());
  return std::size_t{0};
}

// Bytes that a wrong length has left of a content, up to the line's end. Others pass them, too.
Result<> WarcReader::Core::skip_stray_line() {
  constexpr std::string_view kMagic = "WARC/";
  TRY_ASSIGN(const std::string_view bytes, input_.peek());
  const bool blank = bytes.empty() || bytes[0] == '\r' || bytes[0] == '\n';
  if (blank || kMagic.starts_with(bytes.substr(0, kMagic.size()))) return {};
  TRY(input_.read_line(kStrayBytesMax));
  return {};
}

// What lies behind the content: two line ends, or as many as there are.
Result<> WarcReader::Core::end_record() {
  if (!in_arc_) TRY(skip_stray_line());
  TRY_ASSIGN(const bool more, input_.skip_line_ends());
  position_ = more && input_.is_gzip() ? 0 : input_.position();
  in_record_ = false;
  return {};
}

Result<> WarcReader::Core::skip_content() {
  while (in_record_) TRY(read(nullptr, kSkippedAtOnce));
  return {};
}

WarcReader::WarcReader(Source source, std::int64_t begin)
    : core_(std::make_unique<Core>(std::move(source), begin)) {}

WarcReader::~WarcReader() = default;

Result<std::optional<WarcRecord>> WarcReader::next() {
  if (core_->failed()) return *core_->failed();
  return core_->kept(core_->next());
}

Result<std::size_t> WarcReader::read(char* to, std::size_t size) {
  if (core_->failed()) return *core_->failed();
  return core_->kept(core_->read(to, size));
}

std::int64_t WarcReader::position() const {
  return core_->position();
}

}  // namespace quern::web

#include <strings.h>

#include <vector>

#include "web/warc_digest.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

// A digest that a record claims, and what it is.
class Claim {
 public:
  explicit Claim(std::string_view claimed)
      : absent_(claimed.empty()), named_(parse_digest(claimed)) {
    if (named_) digest_.emplace(named_->kind);
  }
  void add(std::string_view bytes) {
    if (digest_) digest_->add(bytes);
  }
  DigestState finish() {
    if (absent_) return DigestState::Absent;
    if (!named_) return DigestState::Unknown;
    return named_->equals(digest_->finish()) ? DigestState::Right : DigestState::Wrong;
  }

 private:
  bool absent_;
  std::optional<NamedDigest> named_;
  std::optional<blob::Digest> digest_;
};

// Passes what lies behind the first empty line, in pieces of any size.
class BehindHead {
 public:
  std::string_view pass(std::string_view piece) {
    for (std::size_t i = 0; i < piece.size() && !behind_; ++i) {
      if (piece[i] == '\n') {
        behind_ = line_empty_;
        line_empty_ = true;
        if (behind_) return piece.substr(i + 1);
      } else if (piece[i] != '\r') {
        line_empty_ = false;
      }
    }
    return behind_ ? piece : std::string_view();
  }

 private:
  bool line_empty_ = false;
  bool behind_ = false;
};

bool is_http(const WarcRecord& record) {
  constexpr std::string_view kHttp = "application/http";
  const std::string_view type = find_header(record, "Content-Type");
  return type.size() >= kHttp.size() && ::strncasecmp(type.data(), kHttp.data(), kHttp.size()) == 0;
}

}  // namespace

Result<RecordCheck> verify_record(WarcReader& reader, const WarcRecord& record) {
  Claim block(find_header(record, "WARC-Block-Digest"));
  const bool elsewhere = record.type == "revisit";
  Claim payload(elsewhere ? std::string_view() : find_header(record, "WARC-Payload-Digest"));
  const bool http = is_http(record);
  BehindHead behind;
  std::vector<char> buffer(kPieceBytes);
  while (true) {
    TRY_ASSIGN(const std::size_t got, reader.read(buffer.data(), buffer.size()));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), got);
    block.add(piece);
    payload.add(http ? behind.pass(piece) : piece);
  }
  return RecordCheck{block.finish(), payload.finish()};
}

}  // namespace quern::web

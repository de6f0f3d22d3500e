// ArchivedMessage: the answer of a server in a response record: its head, then its payload without
// the transfer coding. And verify_record(): whether a record is what its digests say.
//
// Many archives say "chunked" and are not, or not to the end. Where chunks are wrong, the bytes
// from there on come as they are stored: that is what other readers do, and what people want to
// see.
//
// Threads: one at a time. Lifetime: the reader outlives it, and stays at its record.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "web/warc.h"

namespace quern::web {

inline constexpr std::size_t kChunkLineBytesMax = 1024;

class ArchivedMessage {
 public:
  // Of the record that next() gave last, of which nothing was read. Corrupt where it is no answer;
  // TooLarge where its head is longer than kWarcHeadBytesMax.
  static Result<ArchivedMessage> open(WarcReader& reader);

  const ArchivedHead& head() const { return head_; }
  // 0 at the end.
  Result<std::size_t> read(char* to, std::size_t size);

 private:
  explicit ArchivedMessage(WarcReader& reader) : reader_(&reader) {}
  Result<bool> fill();
  Result<bool> begin_chunk();
  Result<std::size_t> take(char* to, std::size_t size);

  WarcReader* reader_;
  ArchivedHead head_;
  std::string held_;  // read, and not given away from at_ on
  std::size_t at_ = 0;
  bool chunked_ = false;
  bool done_ = false;
  std::uint64_t chunk_left_ = 0;
};

enum class DigestState {
  Absent,   // none, or one of a payload that is elsewhere (a revisit's)
  Unknown,  // of an algorithm that is not ours
  Right,
  Wrong,
};
struct RecordCheck {
  DigestState block = DigestState::Absent;
  DigestState payload = DigestState::Absent;
};
// Reads the record's content to its end. Errors are those of reading.
Result<RecordCheck> verify_record(WarcReader& reader, const WarcRecord& record);

}  // namespace quern::web

// WARC 1.1: the records of a web archive, as bytes. Writing, one gzip member a record; reading, of
// any valid file, plain or compressed, and of ARC files.
//
// Pure but for the reader's source. Bounded: heads up to kWarcHeadBytesMax; contents stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "web/fetcher.h"

namespace quern::web {

inline constexpr std::size_t kWarcHeadBytesMax = 256 * 1024;

// What is written of a fetch: a request and a response, or a revisit in its place.
struct CaptureOrder {
  std::string url;         // as requested
  std::int64_t at_us = 0;  // WARC-Date
  std::string address;     // of the peer; may be empty
  std::string request_head;
  std::string response_head;  // status line and headers, with the empty line
  Body body;                  // as it lies behind that head
  std::string payload_type;   // detected; may be empty
  std::string truncated;      // "length", "time", "disconnect"; empty: it is whole
  bool dense = false;         // the body is compressed already: it is stored as it is
  struct Revisit {
    std::string url;
    std::int64_t at_us = 0;  // 0: nobody knows
    std::string payload_digest;
    bool not_modified = false;  // a 304, else an equal payload
  };
  std::optional<Revisit> revisit;
};
// "HTTP/1.1 200 OK\r\n…\r\n\r\n": as archives keep it. What described the transfer and is no longer
// true (Transfer-Encoding, a wrong Content-Length) is kept as X-Archive-Orig-…
std::string archived_head(const Fetched& fetched);
// "sha1:…" in base 32, of the bytes behind the head.
Result<std::string> payload_digest(const Body& body);

struct WrittenCapture {
  std::string bytes;                // gzip members: response (or revisit), then request
  std::int64_t response_bytes = 0;  // of the first member
  std::string payload_digest;
};
// For short bodies; a large one goes through write_capture() with a sink.
Result<WrittenCapture> written_capture(const CaptureOrder& order);
// The bytes of the first member. `payload_digest` is that of the revisited capture where there is
// one. Whatever is in a field cannot end a line of the record's head. Blocks for what the sink
// does.
Result<std::int64_t> write_capture(const CaptureOrder& order,
                                   const std::function<Result<>(std::string_view)>& sink,
                                   std::string* payload_digest);
std::string warcinfo_record(const std::string& filename, std::int64_t at_us,
                            const std::string& software);

struct WarcRecord {
  std::string type;  // "response"; an ARC record of a web address is one, too
  std::vector<std::pair<std::string, std::string>> headers;
  std::string url;  // WARC-Target-URI without brackets; empty where there is none
  std::optional<std::int64_t> at_us;
  std::int64_t offset = 0;  // in the file
  std::int64_t content_bytes = 0;
  // A file that is one gzip member as a whole (or a member with several records): another record
  // stands before this one in its member, so `offset` is the member's, and nobody can begin here.
  bool shares_member = false;
};
// The value of a header, by its name in any case; empty where there is none.
std::string_view find_header(const WarcRecord& record, std::string_view name);

class WarcReader {
 public:
  // Reads up to so many bytes; 0 at the end.
  using Source = std::function<Result<std::size_t>(char*, std::size_t)>;
  // `begin`: where in the file the source begins, at a record.
  explicit WarcReader(Source source, std::int64_t begin = 0);
  ~WarcReader();

  // Nothing at the end. Corrupt where it is none, with the offset; what came before was right.
  Result<std::optional<WarcRecord>> next();
  // Of the record that next() gave last. 0 at its end; what is not read is skipped.
  Result<std::size_t> read(char* to, std::size_t size);
  // Where the record that was read to its end ended in the file: its length there is this less its
  // offset. 0 where that is nowhere: in the middle of a gzip member.
  std::int64_t position() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// The HTTP message in a response record: the head, then the payload without its transfer coding.
struct ArchivedHead {
  int status = 0;
  std::string reason;
  HeaderList headers;
  std::size_t bytes = 0;  // of the head
};
Result<ArchivedHead> parse_archived_head(std::string_view bytes);

// A line of a CDXJ index: "gov,site)/a 20261116060000 {…}".
struct CdxjLine {
  std::string surt;
  std::string timestamp;  // 14 digits
  std::string url;
  std::string mime;
  int status = 0;
  std::string digest;
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::string filename;

  std::string text() const;  // without the line's end
};
Result<CdxjLine> parse_cdxj(std::string_view line);
std::string timestamp14(std::int64_t at_us);
Result<std::int64_t> parse_timestamp14(std::string_view text);  // 4 to 14 digits

}  // namespace quern::web

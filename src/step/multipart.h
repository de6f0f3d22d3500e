// MultipartReader: the parts of a multipart body, as its bytes come in. Sans-I/O.
//
// Guarantee: however the body is cut into pieces, the same parts with the same bytes come out; a
// part is told to have ended only when a whole delimiter stands behind it. A delimiter is a line
// "--BOUNDARY" followed by blanks and CRLF, or by "--": "--BOUNDARY-1" within a blob is data.
// How: bytes are searched where they lie and handed on uncopied; only what may be the beginning of
// a delimiter or of a header block is kept from one piece to the next. So memory does not grow.
//
//   reader.feed(piece);
//   for (;;) { Event e = reader.next(); if (e.kind == Kind::NeedMore) break; ... }
//
// Lifetime: a piece stays valid until next() has said NeedMore; an event's text until the next
// call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::step {

inline constexpr std::size_t kBoundaryBytesMax = 200;  // RFC 2046 allows 70
inline constexpr std::size_t kPartHeadBytesMax = 8 * 1024;
inline constexpr std::size_t kPreambleBytesMax = 64 * 1024;
inline constexpr std::size_t kDelimiterBlanksMax = 64;  // more are data

class MultipartReader {
 public:
  enum class Kind {
    NeedMore,   // feed() the next piece; or, at the end of the body, look at inside_part()
    PartBegin,  // text: its name, "" where it has none
    Data,       // text: some of its bytes, never empty
    PartEnd,    // the part is whole
    End,        // the close delimiter was seen; whatever follows is ignored. Said for ever after
    Malformed,  // text: why; no part can be found any more. Said for ever after
  };
  struct Event {
    Kind kind = Kind::NeedMore;
    std::string_view text;
  };

  // Of a Content-Type header: "multipart/form-data; boundary=...". Invalid where it is no multipart
  // type or has no usable boundary: that is HTTP's 415.
  static Result<MultipartReader> make(std::string_view content_type);

  // Only after NeedMore (or at first).
  void feed(std::string_view bytes);
  Event next();

  // Whether a part has begun and not ended: a body that ends here was cut in mid-part.
  bool inside_part() const { return inside_part_; }
  // Whether the close delimiter was seen.
  bool ended() const { return state_ == State::Epilogue; }

 private:
  enum class State { Preamble, Head, Body, Epilogue, Broken };
  enum class Verdict { Undecided, Data, Delimiter, Close };
  struct Match {
    Verdict verdict = Verdict::Undecided;
    std::size_t bytes = 0;  // of the delimiter, with its line end
  };

  explicit MultipartReader(std::string boundary);

  Event next_in_body();
  Event next_in_head();
  Event begin_part(std::string_view head);
  Event pass_delimiter(const Match& match);
  std::string_view take_data(std::size_t bytes);
  Event broken(std::string_view why);
  // At what lies in held_ and behind it in rest_: is it a delimiter?
  Match match_at_front() const;
  // Bytes of rest_ before the next possible delimiter; all of it where there is none.
  std::size_t clear_bytes() const;

  std::string delimiter_;  // CR LF - - BOUNDARY
  State state_ = State::Preamble;
  bool inside_part_ = false;
  std::string_view rest_;          // of the piece
  std::string held_;               // from earlier pieces: may be the beginning of a delimiter
  std::size_t virtual_bytes_ = 0;  // how many of held_ were not in the body
  std::string head_;               // from earlier pieces: the beginning of a header block
  std::string text_;               // what the last event's text points to, where not into the piece
  std::size_t preamble_bytes_ = 0;
};

}  // namespace quern::step

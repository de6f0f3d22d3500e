// What an answer means to a download: pure rules, in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/fetcher.h"

namespace quern::fileset {

// What is known before the answer.
struct Expected {
  std::int64_t have = 0;              // bytes of the part
  std::optional<std::int64_t> total;  // of the whole, as earlier answers had it
  std::optional<std::int64_t> size;   // as the manifest has it
  std::string etag;
  std::string last_modified;
  std::string encoding;
  std::int64_t bytes_max = 0;
};

struct Judged {
  enum class Verdict {
    Append,    // the rest of what we have
    Begin,     // the whole, from its first byte
    Complete,  // there is nothing more
    Changed,   // it is another file now: what we have is worth nothing
    Odd,       // this cannot be the file: an error's page in its place, a range that we did not ask
    TooLarge,
    NotBytes,  // a redirect or an error, told by its status
  };
  Verdict verdict = Verdict::NotBytes;
  std::optional<std::int64_t> total;  // of the whole
  std::string why;                    // for people, where it is not taken
  bool other_size = false;            // Odd: a whole that has not the manifest's size,
  bool other_tag = false;             // and is not called what the part is called
};
Judged judge_answer(const Expected& expected, int status, const web::HeaderList& headers);

// Whether a part may be gone on with by what its first answer said, and how: the value of If-Range;
// empty where there is none.
std::string if_range_of(const std::string& etag, const std::string& last_modified);
// Content-Encoding without "identity".
std::string encoding_of(const web::HeaderList& headers);

// "bytes 5-9/10": first, last, total ("*": none). Nothing where it is none.
struct ContentRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::optional<std::int64_t> total;
};
std::optional<ContentRange> parse_content_range(std::string_view text);
// "bytes */10".
std::optional<std::int64_t> parse_unsatisfied(std::string_view text);

}  // namespace quern::fileset

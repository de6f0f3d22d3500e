// ResponseHead: collects the head of an answer from its lines. Of several (100, 103, 200) the last
// counts. Bounded by kResponseHeadBytesMax, for all of them together, and kResponseHeadersMax.
#pragma once

#include <string>
#include <string_view>

#include "web/fetcher.h"

namespace quern::web {

inline constexpr std::size_t kResponseHeadersMax = 2000;

struct ResponseHead {
  int status = 0;
  std::string reason;
  std::string version;
  HeaderList headers;
  bool is_complete = false;  // the final one, with its empty line

  // A line with its end. TooLarge; lines behind the head (trailers) are passed over.
  Result<> take(std::string_view line);

 private:
  void begin(std::string_view line);

  std::size_t bytes_ = 0;
};

// All values of the header, joined with ", ".
std::string joined_header(const HeaderList& headers, std::string_view name);

}  // namespace quern::web

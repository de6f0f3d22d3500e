// Web archives (.mht): a page and what it shows, in the parts of one mail.
//
// Only what is needed of MIME: parts that may hold parts, their types, places and encodings.
// Bounded in depth and number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/html_clean.h"

namespace quern::worker {

inline constexpr int kMhtDepthMax = 8;
inline constexpr std::size_t kMhtPartsMax = 10'000;

struct WebArchive {
  std::string html;     // decoded bytes of the page
  std::string charset;  // as its part says; "" where it does not
  HtmlPictures pictures;
};

// Nothing where it has no page.
std::optional<WebArchive> read_web_archive(std::string_view bytes);

}  // namespace quern::worker

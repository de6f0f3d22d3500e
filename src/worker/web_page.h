// A web page as a crawl wants it: its words, what it says of itself, where it leads.
#pragma once

#include <cstdint>
#include <string_view>

#include "worker/web_page_about.h"
#include "worker/web_page_links.h"
#include "worker/web_page_text.h"

namespace quern::worker {

// CPU time for the tags of one page, which need milliseconds unless they are built to need more.
inline constexpr std::int64_t kPageParseMs = 5'000;

struct WebPage {
  PageText text;
  PageAbout about;
  LinkList links;
  bool has_tags = true;  // false where they took too long: the words without them are all there is
};

// Of clean UTF-8.
WebPage read_web_page(std::string_view html, std::uint64_t characters_max,
                      std::int64_t cpu_ms = kPageParseMs);

}  // namespace quern::worker

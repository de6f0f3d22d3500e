// Feeds: what a podcast offers, read from RSS (0.9 to 2.0), RDF or Atom, with what the namespaces
// itunes, podcast, media, content and dc add. Pure.
//
// Guarantee: whatever is broken in a feed, what stood before is told; an address that is cut off is
// not. Nothing is fetched, no entity is expanded. Every text is valid UTF-8 and bounded; every
// address is absolute and of the web.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "web/url.h"

namespace quern::research {

inline constexpr std::int64_t kFeedBytesMax = 32LL * 1024 * 1024;
inline constexpr std::size_t kFeedEntriesMax = 100'000;  // of one page; what follows is not read
inline constexpr std::int64_t kFeedPagesMax = 1000;
inline constexpr std::size_t kFeedDepthMax = 100;  // of elements; what is deeper is not looked at
inline constexpr std::size_t kFeedTitleBytesMax = 500;
inline constexpr std::size_t kFeedTextBytesMax = 16 * 1024;
// Bytes in which the first element must begin.
inline constexpr std::size_t kFeedSniffBytes = 64 * 1024;

struct FeedEntry {
  std::string id;  // its guid, id or rdf:about; "" where it has none
  std::string title;
  std::string description;       // without markup
  std::string aired;             // RFC 3339 in UTC; "" where it does not say
  std::string url;               // of its sound
  std::string media_type;        // as the feed says; ""
  boost::json::object metadata;  // link, season, episode, episode_type, duration_seconds
};

struct Feed {
  std::string title;
  std::string next;  // the page with what is older; "" at the end
  std::vector<FeedEntry> entries;
  std::int64_t left_out = 0;  // entries without sound
  bool cut = false;           // there were more than kFeedEntriesMax
};

struct FeedSource {
  web::Url url;              // where it came from: relative addresses begin there
  std::string content_type;  // of the answer
};

// Whether the first element is one of a feed's.
bool is_feed(std::string_view bytes);
// Invalid where it is no feed.
Result<Feed> parse_feed(std::string_view bytes, const FeedSource& source);

// As UTF-8, whatever the document or its server says of its encoding.
std::string feed_text(std::string_view bytes, std::string_view content_type);
// "Fri, 27 Mar 2020 01:09:35 -0400", "2020-03-27" are RFC 3339 in UTC; "" where it is no date.
std::string rfc3339_of(std::string_view date);

}  // namespace quern::research

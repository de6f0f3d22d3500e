// Feeds: any bytes are one or none; what is told of one is bounded, valid and of the web.
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "research/feed.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern;
  using namespace quern::research;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const FeedSource source{web::Url::parse("https://a.test/show/feed.xml").value(), ""};
  const Result<Feed> feed = parse_feed(bytes, source);
  if (!feed.ok()) return 0;
  CHECK(feed->entries.size() <= kFeedEntriesMax);
  CHECK(feed->title.size() <= kFeedTitleBytesMax && is_valid_utf8(feed->title));
  CHECK(feed->next.empty() || web::Url::parse(feed->next).value().is_web());
  for (const FeedEntry& entry : feed->entries) {
    CHECK(web::Url::parse(entry.url).value().is_web());
    CHECK(entry.url.size() <= web::kUrlBytesMax);
    CHECK(entry.title.size() <= kFeedTitleBytesMax && is_valid_utf8(entry.title));
    CHECK(entry.description.size() <= kFeedTextBytesMax && is_valid_utf8(entry.description));
    CHECK(is_valid_utf8(entry.id));
    CHECK(entry.aired.empty() || entry.aired.size() == 20);
  }
  return 0;
}

// Web pages, sitemaps and feeds: any bytes are one of them, and what is read of them is valid UTF-8
// within its bounds.
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "worker/web_list.h"
#include "worker/web_page.h"
#include "worker/web_page_decode.h"

namespace quern::worker {
namespace {

constexpr std::uint64_t kCharacters = 100'000;
constexpr std::int64_t kCpuMs = 1'000;

void check_links(const LinkList& list) {
  CHECK(is_valid_utf8(list.json()));
  for (const PageLink& link : list.links()) {
    CHECK(!link.href.empty() && link.href.size() <= kHrefBytesMax);
  }
}

void check_page(const WebPage& page) {
  CHECK(is_valid_utf8(page.text.text));
  CHECK(page.text.main_bytes <= page.text.text.size());
  CHECK(valid_utf8_prefix(std::string_view(page.text.text).substr(0, page.text.main_bytes)) ==
        page.text.main_bytes);
  CHECK(page.text.headings.size() <= kHeadingsMax);
  for (const std::string& heading : page.text.headings) {
    CHECK(!heading.empty() && heading.size() <= kHeadingBytesMax && is_valid_utf8(heading));
  }
  check_links(page.links);
}

}  // namespace
}  // namespace quern::worker

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::worker;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = decode_web_page(bytes, "", kCharacters);
  CHECK(quern::is_valid_utf8(text));
  if (const auto list = list_in_xml(text)) check_links(*list);
  if (const auto list = list_in_text(text)) check_links(*list);
  check_page(read_web_page(text, kCharacters, kCpuMs));
  return 0;
}

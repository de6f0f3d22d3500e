// The head of a landing page: any bytes have tags within bounds, whose texts are valid.
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "fileset/biblio.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern;
  const std::string_view html(reinterpret_cast<const char*>(data), size);
  const std::vector<fileset::MetaTag> tags = fileset::scan_head(html);
  CHECK(tags.size() <= fileset::kMetaTagsMax);
  for (const fileset::MetaTag& tag : tags) {
    CHECK(is_valid_utf8(tag.content));
    CHECK(is_valid_utf8(tag.name));
  }
  const boost::json::object biblio = fileset::html_biblio(html, "https://site.example/");
  CHECK(biblio.empty() || biblio.contains("title"));
  const std::string date = fileset::parsed_date(html);
  CHECK(date.empty() || date.size() == 10);
  return 0;
}

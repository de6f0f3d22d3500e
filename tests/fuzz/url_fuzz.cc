// Addresses: what is read is written in a way that reads the same; so is the canonical form.
#include <string_view>

#include "base/check.h"
#include "web/url.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::web;
  // The base, an end of line, the link.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  const auto base = Url::parse(text.substr(0, end));
  const std::string_view link =
      end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  const auto url = base ? Url::parse(link, *base) : Url::parse(link);
  if (!url) return 0;

  for (const char c : url->href()) CHECK(c >= ' ' && c <= '~');
  const auto again = Url::parse(url->href());
  CHECK(again.ok() && again->href() == url->href() && again->origin() == url->origin());
  CHECK(again->host() == url->host() && again->target() == url->target());

  const Url canonical = canonical_url(*url);
  CHECK(canonical_url(canonical).href() == canonical.href());
  CHECK(!canonical.fragment().has_value());
  if (url->is_web()) {
    CHECK(!url->host().empty() && url->path().starts_with('/'));
    CHECK(canonical.username().empty() && canonical.password().empty());
  }
  CHECK(!surt(*url).empty());
  CHECK(registered_domain(url->host()).size() <= url->host().size());
  return 0;
}

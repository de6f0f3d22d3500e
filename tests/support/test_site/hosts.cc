#include "support/test_site/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "support/test_site/encodings.h"
#include "support/test_site/plain.h"
#include "support/test_site/policy.h"
#include "support/test_site/traps.h"
#include "support/test_site/troubles.h"

namespace quern::test_site {
namespace {

constexpr char kElsewhere[] = "elsewhere.test";
constexpr std::int64_t kPlainPages = 200;
constexpr std::int64_t kBigPages = 10'000;
constexpr std::int64_t kSmallPages = 10;

bool is_small(std::string_view name) {
  return name.size() == 13 && name.starts_with("host") && name.ends_with(".test");
}

}  // namespace

template <class T, class... Arguments>
void Hosts::add(const char* name, Arguments... arguments) {
  hosts_[name] = std::make_unique<T>(name, arguments...);
}

Hosts::Hosts(std::string fallback) : fallback_(std::move(fallback)), small_pages_(kSmallPages) {
  add<PlainHost>("plain.test", kPlainPages, Links::EveryForm);
  add<PlainHost>("big.test", kBigPages, Links::Paths);
  add<SetHost>("set.test");
  add<WrittenHost>("written.test");
  add<ElsewhereHost>(kElsewhere);
  add<RobotsHost>("robots.test");
  add<SitemapHost>("sitemap.test");
  add<FeedHost>("feed.test");
  add<NofollowHost>("nofollow.test");
  add<RedirectHost>("redirect.test");
  add<ErrorsHost>("errors.test");
  add<SlowHost>("slow.test");
  add<TrapHost>("trap.test");
  add<CharsetHost>("charset.test");
  add<CodingHost>("coding.test");
  add<CookieHost>("cookie.test");
  add<FilesHost>("files.test");
  add<BodiesHost>("bodies.test");
  for (int i = 0; i < kSmallHosts; ++i) {
    const std::string name = fmt::format("host{:04}.test", i);
    hosts_[name] = std::make_unique<SmallHost>(name, small_pages_);
  }
  CHECK(hosts_.contains(fallback_));
}

Host& Hosts::at(const std::string& authority) {
  std::string name = authority.substr(0, authority.rfind(':'));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = hosts_.find(name);
  if (found != hosts_.end()) return *found->second;
  return *hosts_.at(name.ends_with(".test") ? kElsewhere : fallback_);
}

bool Hosts::set(const std::string& name, const std::string& key, const std::string& value) {
  if (name == "hosts") {
    if (key == "pages") small_pages_ = std::atoll(value.c_str());
    for (auto& [each, host] : hosts_)
      if (is_small(each)) host->set(key, value);
    return true;
  }
  const auto found = hosts_.find(name);
  if (found == hosts_.end()) return false;
  found->second->set(key, value);
  return true;
}

void Hosts::reset() {
  small_pages_ = kSmallPages;
  for (auto& [name, host] : hosts_) host->reset();
}

std::vector<std::string> Hosts::names() const {
  std::vector<std::string> all;
  for (const auto& [name, host] : hosts_) all.push_back(name);
  return all;
}

}  // namespace quern::test_site

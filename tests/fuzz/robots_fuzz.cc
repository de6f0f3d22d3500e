// robots.txt: any bytes are one, whose verdicts name a line of theirs.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "web/robots.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::web;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Robots robots = Robots::parse(text, "quern");
  const auto lines = static_cast<int>(1 + std::count(text.begin(), text.end(), '\n') +
                                      std::count(text.begin(), text.end(), '\r'));
  for (const std::string_view target :
       {std::string_view("/"), std::string_view("/a/b.html?c=d"), text.substr(0, 200)}) {
    const RobotsVerdict verdict = robots.check(target);
    CHECK(verdict.line >= 0 && verdict.line <= lines);
    CHECK((verdict.line == 0) == verdict.rule.empty());
    CHECK(verdict.allowed || verdict.line > 0);
  }
  CHECK(robots.check("/robots.txt").allowed);
  CHECK(robots.sitemaps().size() <= kRobotsSitemapsMax);
  if (const auto delay = robots.crawl_delay_ms()) CHECK(*delay >= 0 && *delay <= 3'600'000);
  return 0;
}

#include "support/test_site/traps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace quern::test_site {
namespace {

constexpr int kShopPages = 5;
constexpr std::size_t kLongBytes = 3'000;
constexpr int kLongSegments = 40;

std::string long_target() {
  return "/long?x=" + std::string(kLongBytes, 'x');
}

// Forty folders, no two alike: deep, but a single page.
std::string many_segments() {
  std::string target = "/segments";
  for (int i = 0; i < kLongSegments; ++i) target += fmt::format("/f{}", i);
  return target;
}

}  // namespace

Answer TrapHost::make(const Ask& ask) {
  const std::string_view path = ask.path();
  if (ask.target == "/") {
    return html_answer({.title = "Traps",
                        .text = "traproot",
                        .links = {"/calendar?month=1&year=2026", "/loop/", "/deep/", "/shop/1",
                                  "/many", "/honest", long_target(), many_segments()}});
  }
  if (path == "/calendar") return calendar(ask);
  if (path.starts_with("/loop/") || path.starts_with("/deep/")) return endless(ask);
  if (path.starts_with("/shop/")) return shop(ask);
  if (path == "/many" || path.starts_with("/many/")) return many(ask);
  if (ask.target == "/honest" || ask.target == many_segments())
    return html_answer({.title = "Honest", .text = "traphonest"});
  return status_answer(404);
}

Answer TrapHost::calendar(const Ask& ask) const {
  const int month = std::atoi(ask.parameter("month").c_str());
  const int year = std::atoi(ask.parameter("year").c_str());
  if (month < 1 || month > 12) return status_answer(404);
  const auto link = [](int m, int y) { return fmt::format("/calendar?month={}&year={}", m, y); };
  return html_answer({.title = fmt::format("Month {} of {}", month, year),
                      .text = fmt::format("trapmonth{}of{}", month, year),
                      .links = {month == 12 ? link(1, year + 1) : link(month + 1, year),
                                month == 1 ? link(12, year - 1) : link(month - 1, year), "/"}});
}

Answer TrapHost::endless(const Ask& ask) const {
  const bool loop = ask.target.starts_with("/loop/");
  const auto depth = std::count(ask.target.begin(), ask.target.end(), '/') - 1;
  const std::string next = loop ? "a/b/" : fmt::format("n{}/", depth);
  return html_answer({.title = fmt::format("Level {}", depth),
                      .text = fmt::format("traplevel{}", depth),
                      .links = {next, "/"}});
}

Answer TrapHost::shop(const Ask& ask) {
  // What a session id hides: "/shop/3;jsessionid=…" is page 3.
  const std::string_view behind = ask.path().substr(6);
  const int page = std::atoi(std::string(behind.substr(0, behind.find(';'))).c_str());
  if (page < 1 || page > kShopPages) return status_answer(404);
  const std::string id = fmt::format("{:032X}", ++sessions_ * 0x9E3779B97F4A7C15U);
  Html html{.title = fmt::format("Shop {}", page), .text = fmt::format("trapshop{}", page)};
  for (int i = 1; i <= kShopPages; ++i) {
    html.links.push_back(i % 2 == 0 ? fmt::format("/shop/{};jsessionid={}", i, id)
                                    : fmt::format("/shop/{}?PHPSESSID={}", i, id));
  }
  Answer answer = html_answer(html);
  answer.validators = false;
  return answer;
}

Answer TrapHost::many(const Ask& ask) const {
  if (ask.target == "/many") {
    Html html{.title = "Many", .text = "trapmany"};
    for (std::int64_t i = 0; i < many_pages(); ++i)
      html.links.push_back(fmt::format("/many/{}", i));
    return html_answer(html);
  }
  const std::string number = ask.target.substr(6);
  if (number.empty() || std::atoll(number.c_str()) >= many_pages()) return status_answer(404);
  return html_answer({.title = "One of many", .text = "trapmany" + number});
}

void TrapHost::expect(const std::string&, Expected& all) const {
  for (const char* target :
       {"/", "/many", "/honest", "/calendar?month=1&year=2026", "/loop/", "/deep/"})
    all.add(target, Fate::Document);
  for (int i = 1; i <= kShopPages; ++i) all.add(fmt::format("/shop/{}", i), Fate::Document);
  for (std::int64_t i = 0; i < many_pages(); ++i)
    all.add(fmt::format("/many/{}", i), Fate::Document);
  all.add(many_segments(), Fate::Maybe);
  all.add(long_target(), Fate::Never);
  for (const char* prefix : {"/calendar?", "/loop/", "/deep/"})
    all.prefixes_at_most[prefix] = kTrapPagesMax;
}

}  // namespace quern::test_site

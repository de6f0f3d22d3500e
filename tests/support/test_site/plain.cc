#include "support/test_site/plain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quern::test_site {
namespace {

constexpr int kDepth = 5;
constexpr std::int64_t kSectionPages = 50;
constexpr int kWordsOfPage = 120;

std::int64_t number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return -1;
  text.remove_prefix(prefix.size());
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Of "/s1/p52", without its first slash and section where `from` has the same.
std::string relative(std::string_view target, std::string_view from) {
  const std::string_view folder = from.substr(0, from.rfind('/') + 1);
  if (target.starts_with(folder)) return std::string(target.substr(folder.size()));
  return ".." + std::string(target);
}

}  // namespace

// -- PlainHost --

std::int64_t PlainHost::branches() const {
  for (std::int64_t branches = 1;; ++branches) {
    std::int64_t total = 0;
    std::int64_t level = 1;
    for (int depth = 0; depth <= kDepth; ++depth, level *= branches) total += level;
    if (total >= pages()) return branches;
  }
}

std::string PlainHost::target_of(std::int64_t page) const {
  if (page == 0) return "/";
  // Some pages differ by their query alone.
  if (page % 13 == 3) return fmt::format("/list?p={}", page);
  return fmt::format("/s{}/p{}", page / kSectionPages, page);
}

std::int64_t PlainHost::number_of(std::string_view target) const {
  if (target == "/") return 0;
  std::int64_t page = number_behind(target, "/list?p=");
  const auto slash = target.rfind('/');
  if (page < 0 && slash != target.npos) page = number_behind(target.substr(slash), "/p");
  return page > 0 && target_of(page) == target ? page : -1;
}

std::string PlainHost::link_to(std::int64_t child, std::string_view from, const Ask& ask) const {
  const std::string target = target_of(child);
  if (links_ == Links::Paths) return target;
  if (target.starts_with("/list?")) return target;
  const bool default_port = ask.authority.find(':') == std::string::npos;
  const auto p = target.find("/p");
  switch (child % 13) {
    case 0:
      return relative(target, from);
    case 1:
      return ".." + target;
    case 2:
      return ask.absolute(target);
    case 4:
      return "//" + ask.authority + target;
    case 5:
      return "HTTP://" + upper(ask.authority) + target;
    case 6:
      return ask.absolute((default_port ? ":80" : "") + target);
    case 7:
      return "/%73" + target.substr(2, p - 2) + "/%70" + target.substr(p + 2);
    case 8:
      return " \n\t" + target + "  ";
    case 9:
      return target + "#part";
    case 10:
      return "/s0/./x/../.." + target;
    case 11:
      return target + "?utm_source=elsewhere&utm_medium=link";
    default:
      return target;
  }
}

Answer PlainHost::make(const Ask& ask) {
  const std::int64_t page = number_of(ask.target);
  if (page < 0) return status_answer(404);
  if (page >= pages()) return status_answer(static_cast<int>(number("gone", 404)));
  Html html;
  html.title = fmt::format("Page {}", page);
  html.text = fmt::format("word{} version{} ", page, number("version", 1)) +
              filler(static_cast<std::uint64_t>(page), kWordsOfPage);
  const std::int64_t first = page * branches() + 1;
  for (std::int64_t child = first; child < std::min(first + branches(), pages()); ++child)
    html.links.push_back(link_to(child, ask.target, ask));
  if (page > 0) html.links.push_back(target_of((page - 1) / branches()));
  html.links.emplace_back("/");
  if (ask.target.starts_with("/list?") && page + 13 < pages())
    html.links.push_back(fmt::format("?p={}", page + 13));
  if (links_ == Links::EveryForm) {
    for (const char* other : {"mailto:somebody@plain.test", "tel:+123", "javascript:void(0)", "#z",
                              "data:text/html,hello", "http://elsewhere.test/", "ftp://plain.test/",
                              "http://", "https://[broken/"})
      html.links.emplace_back(other);
  }
  return html_answer(html);
}

void PlainHost::expect(const std::string&, Expected& all) const {
  for (std::int64_t page = 0; page < pages(); ++page) {
    all.add(target_of(page), Fate::Document);
    all.texts[target_of(page)] = fmt::format("word{}", page);
  }
}

// -- SetHost --

std::vector<std::string> SetHost::names() const {
  std::vector<std::string> all;
  std::string rest = text("set", "a,b");
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    all.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return all;
}

Answer SetHost::make(const Ask& ask) {
  Html html;
  if (ask.target == "/") {
    html.title = "List";
    html.head = "<meta name=\"robots\" content=\"noindex\">\n";
    for (const std::string& name : names()) html.links.push_back("/" + name);
    return html_answer(html);
  }
  const std::string name = ask.target.substr(1);
  const auto all = names();
  // What is `unlisted` is there, too: for a crawl that is told of it.
  const bool there = std::find(all.begin(), all.end(), name) != all.end() ||
                     ("," + text("unlisted", "") + ",").find("," + name + ",") != std::string::npos;
  if (!there) return status_answer(static_cast<int>(number("gone", 404)));
  html.title = "Page " + name;
  html.text = fmt::format("word{} version{}", name, number("version", 1));
  return html_answer(html);
}

void SetHost::expect(const std::string&, Expected& all) const {
  all.add("/", Fate::Fetched);
  for (const std::string& name : names()) all.add("/" + name, Fate::Document);
}

// -- WrittenHost --

Answer WrittenHost::make(const Ask& ask) {
  const std::string written = text(ask.target, "404");
  int status = 0;
  const auto [end, error] =
      std::from_chars(written.data(), written.data() + written.size(), status);
  if (error == std::errc{} && end == written.data() + written.size()) return status_answer(status);
  return typed_answer("text/html; charset=utf-8", written);
}

// -- ElsewhereHost --

Answer ElsewhereHost::make(const Ask& ask) {
  return html_answer({.title = "Elsewhere", .text = "elsewhereword " + ask.target});
}

// -- SmallHost --

Answer SmallHost::make(const Ask& ask) {
  const std::int64_t page = ask.target == "/" ? 0 : number_behind(ask.target, "/p");
  if (page < 0 || page >= pages_ || (page == 0 && ask.target != "/")) return status_answer(404);
  const std::string label = name().substr(0, name().find('.'));
  Html html{.title = fmt::format("Page {} of {}", page, label),
            .text = fmt::format("{}word{} ", label, page) +
                    filler(static_cast<std::uint64_t>(page), kWordsOfPage)};
  for (std::int64_t i = 1; page == 0 && i < pages_; ++i)
    html.links.push_back(fmt::format("/p{}", i));
  html.links.emplace_back("/");
  return html_answer(html);
}

void SmallHost::expect(const std::string&, Expected& all) const {
  for (std::int64_t page = 0; page < pages_; ++page)
    all.add(page == 0 ? "/" : fmt::format("/p{}", page), Fate::Document);
}

}  // namespace quern::test_site

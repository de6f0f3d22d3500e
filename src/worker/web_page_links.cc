#include "worker/web_page_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "base/utf8.h"

namespace quern::worker {
namespace {

// Room for what stands around the links: base, canonical, refresh and robots, all escaped.
constexpr std::size_t kHeadJsonBytes = 128 * 1024;
constexpr std::uint32_t kUntrusted = kRelNofollow | kRelUgc | kRelSponsored;

constexpr std::pair<std::string_view, std::uint32_t> kRelNames[] = {
    {"nofollow", kRelNofollow},   {"ugc", kRelUgc},      {"sponsored", kRelSponsored},
    {"next", kRelNext},           {"prev", kRelPrev},    {"canonical", kRelCanonical},
    {"alternate", kRelAlternate}, {"feed", kRelFeed},    {"frame", kRelFrame},
    {"enclosure", kRelEnclosure}, {"previous", kRelPrev}};

std::string rel_text(std::uint32_t rel) {
  std::string text;
  for (const auto& [name, bit] : kRelNames) {
    if ((rel & bit) == 0) continue;
    rel &= ~bit;
    if (!text.empty()) text += ' ';
    text += name;
  }
  return text;
}

std::uint32_t rel_of(std::string_view names) {
  std::uint32_t rel = 0;
  for (std::string_view word = take_word(names); !word.empty(); word = take_word(names)) {
    for (const auto& [name, bit] : kRelNames) {
      if (equals_ignoring_case(word, name)) rel |= bit;
    }
  }
  return rel;
}

bool has_word(std::string_view words, std::string_view wanted) {
  for (std::string_view word = take_word(words); !word.empty(); word = take_word(words)) {
    if (equals_ignoring_case(word, wanted)) return true;
  }
  return false;
}

bool leads_nowhere(std::string_view href) {
  if (href.empty() || href[0] == '#') return true;
  constexpr std::string_view kSchemes[] = {
      "javascript:", "mailto:", "tel:", "data:", "about:", "blob:", "sms:", "callto:"};
  return std::ranges::any_of(kSchemes, [href](std::string_view scheme) {
    return equals_ignoring_case(href.substr(0, scheme.size()), scheme);
  });
}

// At most so many bytes; nothing where it is longer.
std::string bounded(std::string_view text) {
  text = trimmed(text);
  return text.size() > kHrefBytesMax ? std::string() : std::string(text);
}

// "5; url='next.html'"
std::string_view refresh_target(std::string_view content) {
  content = trimmed(content);
  const std::size_t digits = std::min(content.find_first_not_of("0123456789."), content.size());
  if (digits == 0) return {};
  content = content.substr(digits);
  const std::size_t begin = std::min(content.find_first_not_of(" \t\r\n\f;,"), content.size());
  if (begin == 0) return {};
  content = content.substr(begin);
  if (equals_ignoring_case(content.substr(0, 3), "url")) {
    const std::string_view rest = trimmed(content.substr(3));
    if (rest.starts_with('=')) content = trimmed(rest.substr(1));
  }
  if (content.starts_with('"') || content.starts_with('\'')) {
    content = content.substr(1, content.find(content[0], 1) - 1);
  }
  return trimmed(content);
}

class LinkFinder {
 public:
  explicit LinkFinder(LinkList& list) : list_(list) {}

  bool enter(const GumboNode& node) {
    if (node.type != GUMBO_NODE_ELEMENT) return false;
    const GumboElement& element = node.v.element;
    switch (element.tag) {
      case GUMBO_TAG_A:
      case GUMBO_TAG_AREA:
        list_.add({std::string(attribute_of(element, "href")),
                   rel_of(attribute_of(element, "rel")) & kOfLinks, "", ""});
        break;
      case GUMBO_TAG_IFRAME:
      case GUMBO_TAG_FRAME:
        list_.add({std::string(attribute_of(element, "src")), kRelFrame, "", ""});
        break;
      case GUMBO_TAG_LINK:
        take_link(element);
        break;
      case GUMBO_TAG_BASE:
        if (list_.base.empty()) list_.base = bounded(attribute_of(element, "href"));
        break;
      case GUMBO_TAG_META:
        take_meta(element);
        break;
      default:
        break;
    }
    return true;
  }
  void leave(const GumboNode& /*node*/) {}

 private:
  static constexpr std::uint32_t kOfLinks = kUntrusted | kRelNext | kRelPrev;

  void take_link(const GumboElement& element) {
    const std::string_view names = attribute_of(element, "rel");
    const std::string type = lower_ascii(attribute_of(element, "type"));
    std::uint32_t rel = rel_of(names) & (kRelNext | kRelPrev | kRelCanonical | kRelAlternate);
    const bool is_feed =
        type.find("rss+xml") != std::string::npos || type.find("atom+xml") != std::string::npos;
    // Other data about the page, and other looks of it, are no pages.
    const bool is_data = type.find("json") != std::string::npos ||
                         type.find("oembed") != std::string::npos || has_word(names, "stylesheet");
    if ((rel & kRelAlternate) != 0 && is_data) return;
    if ((rel & kRelAlternate) != 0 && is_feed) rel = (rel & ~kRelAlternate) | kRelFeed;
    if (rel == 0) return;
    const std::string_view href = attribute_of(element, "href");
    if ((rel & kRelCanonical) != 0 && list_.canonical.empty()) list_.canonical = bounded(href);
    list_.add({std::string(href), rel, "", ""});
  }

  void take_meta(const GumboElement& element) {
    const std::string_view name = trimmed(attribute_of(element, "name"));
    const std::string_view content = attribute_of(element, "content");
    if (equals_ignoring_case(name, "robots") || equals_ignoring_case(name, "quern")) {
      take_robots(content);
    }
    const bool refreshes = equals_ignoring_case(attribute_of(element, "http-equiv"), "refresh");
    if (refreshes && list_.refresh.empty()) list_.refresh = bounded(refresh_target(content));
  }

  void take_robots(std::string_view content) {
    while (!content.empty() && list_.robots.size() < kRobotsWordsMax) {
      std::string_view word = trimmed(take_until(content, ','));
      if (word.empty()) continue;
      std::string low = lower_ascii(word);
      // "unavailable_after: Saturday, 25 Jun 2010": the date has a comma.
      if (low.starts_with("unavailable_after") && low.find_first_of("0123456789") == low.npos) {
        low += ", " + lower_ascii(trimmed(take_until(content, ',')));
      }
      if (low.size() > kRobotsWordBytesMax) continue;
      if (std::ranges::find(list_.robots, low) == list_.robots.end()) list_.robots.push_back(low);
    }
  }

  LinkList& list_;
};

void append_link(std::string& json, const PageLink& link) {
  json += R"({"href":")" + json_escaped(link.href) + '"';
  if (link.rel != 0) json += R"(,"rel":")" + rel_text(link.rel) + '"';
  if (!link.lastmod.empty()) json += R"(,"lastmod":")" + json_escaped(link.lastmod) + '"';
  if (!link.changefreq.empty()) json += R"(,"changefreq":")" + json_escaped(link.changefreq) + '"';
  json += '}';
}

// With its comma.
std::size_t json_bytes_of(const PageLink& link) {
  std::string json;
  append_link(json, link);
  return json.size() + 1;
}

}  // namespace

void LinkList::add(PageLink link) {
  const std::string_view href = trimmed(link.href);
  if (leads_nowhere(href)) return;
  if (href.size() > kHrefBytesMax) {
    ++more_;
    return;
  }
  link.href = valid_utf8(href);
  if (const auto known = places_.find(link.href); known != places_.end()) {
    merge(links_[known->second], link.rel);
    return;
  }
  const std::size_t bytes = json_bytes_of(link);
  if (links_.size() >= limits_.links || bytes_ + bytes + kHeadJsonBytes > limits_.json_bytes) {
    ++more_;
    return;
  }
  bytes_ += bytes;
  places_.emplace(link.href, links_.size());
  links_.push_back(std::move(link));
}

void LinkList::merge(PageLink& first, std::uint32_t rel) {
  // Who trusts it once trusts it.
  const std::uint32_t untrusted = first.rel & rel & kUntrusted;
  rel = ((first.rel | rel) & ~kUntrusted) | untrusted;
  if (rel == first.rel) return;
  bytes_ -= json_bytes_of(first);
  first.rel = rel;
  bytes_ += json_bytes_of(first);
}

std::string LinkList::json() const {
  std::string json = fmt::format(R"({{"kind":"{}")", kind);
  if (kind == "page") {
    json += fmt::format(R"(,"base":"{}","canonical":"{}","robots":[)", json_escaped(base),
                        json_escaped(canonical));
    for (std::size_t i = 0; i < robots.size(); ++i) {
      json += fmt::format(R"({}"{}")", i == 0 ? "" : ",", json_escaped(robots[i]));
    }
    json += fmt::format(R"(],"refresh":"{}")", json_escaped(refresh));
  }
  json += R"(,"links":[)";
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (i > 0) json += ',';
    append_link(json, links_[i]);
  }
  return json + fmt::format(R"(],"more":{}}})", more_);
}

LinkList links_of(const HtmlTree& tree) {
  LinkList list;
  LinkFinder finder(list);
  walk(tree.root(), finder);
  return list;
}

}  // namespace quern::worker

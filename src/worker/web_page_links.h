// LinkList: where a page, a feed or a sitemap leads, as the part "links" says it.
//
// Guarantee: each address once, in the order of the page; bounded in number, in bytes of one and in
// bytes of all; what did not fit is counted. Addresses are as written, without blanks around them:
// whoever asked resolves them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "worker/html_tree.h"

namespace quern::worker {

inline constexpr std::size_t kPageLinksMax = 10'000;
inline constexpr std::size_t kPageLinksJsonBytesMax = 1 << 20;
inline constexpr std::size_t kSitemapLinksMax = 50'000;
inline constexpr std::size_t kSitemapJsonBytesMax = 4 << 20;
inline constexpr std::size_t kHrefBytesMax = 4096;
inline constexpr std::size_t kRobotsWordsMax = 50;
inline constexpr std::size_t kRobotsWordBytesMax = 100;

// What a link is to the page: several at once.
inline constexpr std::uint32_t kRelNofollow = 1U << 0;
inline constexpr std::uint32_t kRelUgc = 1U << 1;
inline constexpr std::uint32_t kRelSponsored = 1U << 2;
inline constexpr std::uint32_t kRelNext = 1U << 3;
inline constexpr std::uint32_t kRelPrev = 1U << 4;
inline constexpr std::uint32_t kRelCanonical = 1U << 5;
inline constexpr std::uint32_t kRelAlternate = 1U << 6;
inline constexpr std::uint32_t kRelFeed = 1U << 7;
inline constexpr std::uint32_t kRelFrame = 1U << 8;
inline constexpr std::uint32_t kRelEnclosure = 1U << 9;

struct PageLink {
  std::string href;
  std::uint32_t rel = 0;
  std::string lastmod;
  std::string changefreq;
};

struct LinkLimits {
  std::size_t links = kPageLinksMax;
  std::size_t json_bytes = kPageLinksJsonBytesMax;
};

class LinkList {
 public:
  explicit LinkList(LinkLimits limits = {}) : limits_(limits) {}

  // Blank ones, places on the same page and schemes that nobody can fetch are no links.
  void add(PageLink link);

  std::string kind = "page";
  std::string base;
  std::string canonical;
  std::string refresh;
  std::vector<std::string> robots;

  const std::vector<PageLink>& links() const { return links_; }
  std::uint64_t more() const { return more_; }
  std::string json() const;

 private:
  void merge(PageLink& first, std::uint32_t rel);

  LinkLimits limits_;
  std::vector<PageLink> links_;
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t bytes_ = 0;
  std::uint64_t more_ = 0;
};

LinkList links_of(const HtmlTree& tree);

}  // namespace quern::worker

// Lists of pages that are no pages themselves: sitemaps, indexes of sitemaps, feeds.
//
// Guarantee: whatever is broken in them, what stood before is told; an address that is cut off is
// not. Bounded as LinkList is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/web_page_links.h"

namespace quern::worker {

// Of one sitemap, unpacked: the protocol's own limit. What is beyond it is not read.
inline constexpr std::size_t kSitemapBytesMax = 50 << 20;
// Bytes in which the first element must begin.
inline constexpr std::size_t kListSniffBytes = 64 * 1024;
inline constexpr std::size_t kXmlDepthMax = 100;
// Of a text that is asked for; none that is longer is an address or a date.
inline constexpr std::size_t kXmlTextBytesMax = 16 * 1024;

// urlset and sitemapindex, RSS of all versions, Atom; nothing where it is something else.
std::optional<LinkList> list_in_xml(std::string_view xml);

// One address in a line; nothing where no line is one, or where it is no plain text.
std::optional<LinkList> list_in_text(std::string_view text);

// Whether these are the first bytes of a gzip file.
bool is_gzip(std::string_view bytes);
// As much as can be unpacked, at most so many bytes.
std::string gunzip(std::string_view bytes, std::size_t bytes_max);

}  // namespace quern::worker

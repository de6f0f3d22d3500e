// Where the words of a query stand in one text: how often, on which pages, and how they are spelt.
// The same matching as that of snippets. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/query.h"

namespace quern::search {

inline constexpr std::size_t kMatchWordsMax = 50;
inline constexpr std::size_t kMatchPagesMax = 1000;
// A phrase whose words stand further apart is counted, but not told.
inline constexpr std::size_t kMatchWordBytesMax = 200;
// What stands behind so much text is not looked for.
inline constexpr std::size_t kMatchedTextBytesMax = 64 * 1024 * 1024;

struct PageMatches {
  std::int64_t page = 0;  // from 1
  std::int64_t count = 0;
  bool operator==(const PageMatches&) const = default;
};

struct TextMatches {
  std::vector<std::string> words;  // as they stand there, each once; blanks folded
  std::int64_t total = 0;          // places; where two matches overlap, one
  bool cut = false;                // there are more words, pages or text than are told
  std::vector<PageMatches> pages;  // with matches; none where nobody knows where pages end
};

// `page_ends`: bytes of the text up to the end of each page.
TextMatches find_matches(const Query& query, std::string_view text,
                         std::span<const std::uint32_t> page_ends);

}  // namespace quern::search

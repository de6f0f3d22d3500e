#include "search/text_matches.h"

#include <algorithm>
#include <set>

#include "search/matcher.h"

namespace quern::search {
namespace {

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\f';
}

// A phrase may go over the end of a line.
std::string folded(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (!is_blank(byte)) {
      out += byte;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

class Collector {
 public:
  Collector(std::string_view text, std::span<const std::uint32_t> page_ends)
      : text_(text), page_ends_(page_ends) {}

  // In the order of their ends.
  void add(const Match& match) {
    add_word(text_.substr(match.begin, match.end - match.begin));
    if (matches_.total > 0 && match.begin < end_) return;
    end_ = match.end;
    ++matches_.total;
    add_page(match.begin);
  }
  TextMatches take() { return std::move(matches_); }

 private:
  void add_word(std::string_view found) {
    if (found.size() > kMatchWordBytesMax) return;
    std::string word = folded(found);
    if (seen_.contains(word)) return;
    if (matches_.words.size() == kMatchWordsMax) {
      matches_.cut = true;
      return;
    }
    matches_.words.push_back(word);
    seen_.insert(std::move(word));
  }

  // What stands behind the last end is on the last page.
  void add_page(std::size_t at) {
    if (page_ends_.empty()) return;
    while (page_ + 1 < page_ends_.size() && at >= page_ends_[page_]) ++page_;
    const auto number = static_cast<std::int64_t>(page_) + 1;
    std::vector<PageMatches>& pages = matches_.pages;
    if (!pages.empty() && pages.back().page == number) {
      ++pages.back().count;
    } else if (pages.size() < kMatchPagesMax) {
      pages.push_back({number, 1});
    } else {
      matches_.cut = true;
    }
  }

  std::string_view text_;
  std::span<const std::uint32_t> page_ends_;
  std::size_t page_ = 0;
  std::size_t end_ = 0;  // of the last match that counted
  std::set<std::string> seen_;
  TextMatches matches_;
};

}  // namespace

TextMatches find_matches(const Query& query, std::string_view text,
                         std::span<const std::uint32_t> page_ends) {
  Matcher matcher;
  for (const Node* leaf : wanted_leaves(query)) {
    if (leaf->field == Field::Any) matcher.add(*leaf);
  }
  if (matcher.terms() == 0) return {};
  Collector collector(text, page_ends);
  matcher.begin(text);
  matcher.stop_at(std::min(text.size(), kMatchedTextBytesMax));
  for (Match match; matcher.next(match);) collector.add(match);
  TextMatches matches = collector.take();
  if (text.size() > kMatchedTextBytesMax) matches.cut = true;
  return matches;
}

}  // namespace quern::search

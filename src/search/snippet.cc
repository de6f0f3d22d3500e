#include "search/snippet.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <deque>

#include "search/letter.h"
#include "search/matcher.h"

namespace quern::search {
namespace {

constexpr std::string_view kEllipsis = "…";
// So many characters of the text stand before the first hit, if there are as many.
constexpr std::size_t kCharactersBefore = 60;
// Hits are looked for in a window of this size; around them there is room for what they mean.
constexpr std::size_t kWindowCharacters = 180;
// How far an end moves to be one of a word.
constexpr std::size_t kMoveBytesMax = 32;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

bool is_blank(char32_t c) {
  return c <= 0x20 || c == 0x7f || (c >= 0x80 && u_isUWhiteSpace(static_cast<UChar32>(c)) != 0);
}

// Marks of direction without their other half would turn round what stands beside the snippet.
bool is_direction(char32_t c) {
  return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

// Writes text for HTML: one blank for many, no more than so many characters.
class Writer {
 public:
  explicit Writer(std::size_t characters_max) : left_(characters_max) {}

  // False where there is no more room.
  bool write(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      UChar32 c = 0;
      U8_NEXT(text.data(), at, text.size(), c);
      if (!write(c < 0 ? char32_t{0xfffd} : static_cast<char32_t>(c))) return false;
    }
    return true;
  }
  void tag(std::string_view tag) {
    flush_blank();
    html_ += tag;
  }
  // For one more character, with a blank before it.
  bool has_room() const { return left_ >= 2; }
  std::string take() { return std::move(html_); }

 private:
  bool write(char32_t c) {
    if (is_direction(c)) return true;
    if (is_blank(c)) {
      blank_ = !html_.empty();
      return true;
    }
    if (left_ < (blank_ ? 2U : 1U)) return false;
    flush_blank();
    --left_;
    append(c);
    return true;
  }
  void flush_blank() {
    if (blank_ && left_ > 0) {
      html_ += ' ';
      --left_;
    }
    blank_ = false;
  }
  void append(char32_t c) {
    switch (c) {
      case '&':
        html_ += "&amp;";
        return;
      case '<':
        html_ += "&lt;";
        return;
      case '>':
        html_ += "&gt;";
        return;
      case '"':
        html_ += "&quot;";
        return;
      default:
        std::array<char, 4> bytes = {};
        html_.append(bytes.data(), write_utf8(c, bytes.data()));
    }
  }

  std::string html_;
  std::size_t left_;
  bool blank_ = false;
};

// The hits of a short text, in order, none over another.
std::vector<Match> find_all(Matcher& matcher, std::string_view text) {
  std::vector<Match> all;
  matcher.begin(text);
  for (Match match; matcher.next(match);) all.push_back(match);
  std::ranges::sort(all, {}, &Match::begin);
  std::vector<Match> apart;
  for (const Match& match : all) {
    if (apart.empty() || match.begin >= apart.back().end) {
      apart.push_back(match);
    } else {
      apart.back().end = std::max(apart.back().end, match.end);
    }
  }
  return apart;
}

struct Marked {
  std::string html;
  bool whole = true;  // nothing was left out at the end
};

Marked marked(Matcher& matcher, std::string_view text, std::size_t characters_max) {
  Writer writer(characters_max);
  std::size_t at = 0;
  bool whole = true;
  for (const Match& match : find_all(matcher, text)) {
    whole = writer.write(text.substr(at, match.begin - at)) && writer.has_room();
    if (!whole) break;
    writer.tag("<mark>");
    whole = writer.write(text.substr(match.begin, match.end - match.begin));
    writer.tag("</mark>");
    at = match.end;
  }
  whole = whole && writer.write(text.substr(at));
  return {writer.take(), whole};
}

struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t score = 0;
};

// Takes matches in the order of their ends; the last ones of them that stand close together are a
// window.
class WindowSearch {
 public:
  WindowSearch(std::string_view text, const Matcher& matcher)
      : text_(text), matcher_(matcher), counts_(matcher.terms(), 0) {
    for (std::size_t i = 0; i < matcher.terms(); ++i) most_ += score_of(i);
  }

  void add(const Match& match) {
    window_.push_back(match);
    if (counts_[match.term]++ == 0) score_ += score_of(match.term);
    while (window_.size() > 1 && is_wide()) {
      const std::size_t gone = window_.front().term;
      if (--counts_[gone] == 0) score_ -= score_of(gone);
      window_.pop_front();
    }
    if (score_ <= best_.score) return;
    best_ = {window_.front().begin, match.end, score_};
    for (const Match& one : window_) best_.begin = std::min(best_.begin, one.begin);
  }
  // No other can be better: what is the same, but later, is not.
  bool is_best() const { return best_.score == most_; }
  const Window& best() const { return best_; }

 private:
  // Different terms count most; of as many, those with more words.
  std::size_t score_of(std::size_t term) const {
    return kDifferent + std::min(matcher_.words_of(term), kDifferent / kQueryTermsMax);
  }
  bool is_wide() const {
    const std::size_t begin = window_.front().begin;
    const std::size_t bytes = window_.back().end - begin;
    if (bytes <= kWindowCharacters) return false;
    return bytes > 4 * kWindowCharacters ||
           count_characters(text_.substr(begin, bytes)) > kWindowCharacters;
  }

  static constexpr std::size_t kDifferent = 64 * kQueryTermsMax;
  std::string_view text_;
  const Matcher& matcher_;
  std::vector<std::size_t> counts_;
  std::deque<Match> window_;
  Window best_;
  std::size_t score_ = 0;
  std::size_t most_ = 0;
};

Window find_window(Matcher& matcher, std::string_view text) {
  WindowSearch search(text, matcher);
  matcher.begin(text);
  for (Match match; !search.is_best() && matcher.next(match);) {
    if (search.best().score == 0) matcher.stop_at(match.end + kSnippetBytesAfterHit);
    search.add(match);
  }
  return search.best();
}

// Some characters before `place`, but at a blank if there is one nearby.
std::size_t begin_before(std::string_view text, std::size_t place) {
  std::size_t at = place;
  for (std::size_t characters = 0; at > 0 && characters < kCharactersBefore;) {
    --at;
    if (!is_continuation(text[at])) ++characters;
    // A broken text may be all continuations.
    if (place - at > 4 * kCharactersBefore) break;
  }
  if (at == 0) return 0;
  const std::size_t blank = text.substr(at, kMoveBytesMax).find_first_of(" \t\r\n");
  const bool is_near = blank != std::string_view::npos && at + blank < place;
  return is_near ? at + blank + 1 : at;
}

// As much text as a snippet can hold, whole words if it can be.
std::size_t end_behind(std::string_view text, std::size_t begin, std::size_t hit_end) {
  std::size_t at = begin;
  for (std::size_t characters = 0; at < text.size() && characters <= kSnippetCharactersMax; ++at) {
    if (!is_continuation(text[at])) ++characters;
    if (at - begin > 4 * kSnippetCharactersMax) break;
  }
  if (at == text.size()) return at;
  --at;  // the first byte of the character that is one too many
  const std::size_t blank = text.substr(0, at).find_last_of(" \t\r\n");
  const bool is_near = blank != std::string_view::npos && blank >= hit_end && blank > begin &&
                       at - blank <= kMoveBytesMax;
  return is_near ? blank : at;
}

}  // namespace

struct Highlighter::State {
  Matcher text;   // what may stand in any field
  Matcher title;  // and what was asked of one field
};

Highlighter::Highlighter(const Query& query) : state_(std::make_unique<State>()) {
  for (const Node* leaf : wanted_leaves(query)) {
    if (leaf->field == Field::Any) state_->text.add(*leaf);
    state_->title.add(*leaf);
  }
}

Highlighter::~Highlighter() = default;

Snippet Highlighter::snippet(std::string_view text) {
  Snippet out;
  const Window window = state_->text.terms() > 0 ? find_window(state_->text, text) : Window();
  if (window.score > 0) out.hit = window.begin;
  const std::size_t begin = begin_before(text, window.begin);
  const std::size_t end = end_behind(text, begin, window.end);
  const Marked shown = marked(state_->text, text.substr(begin, end - begin), kSnippetCharactersMax);
  const std::size_t more = text.find_first_not_of(" \t\r\n", end);
  if (text.find_first_not_of(" \t\r\n") < begin) out.html += kEllipsis;
  out.html += shown.html;
  if (more != std::string_view::npos || !shown.whole) out.html += kEllipsis;
  return out;
}

std::string Highlighter::mark(std::string_view text) {
  return marked(state_->title, text, text.size()).html;
}

}  // namespace quern::search

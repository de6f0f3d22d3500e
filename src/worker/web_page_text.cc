#include "worker/web_page_text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"

namespace quern::worker {
namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
constexpr std::string_view kSoftHyphen = "\xC2\xAD";
constexpr std::string_view kZeroWidthSpace = "\xE2\x80\x8B";
constexpr std::string_view kMark = "\xEF\xBB\xBF";

// Blanks and controls, and bytes with which those begin that stand for one or for nothing.
constexpr std::array<bool, 256> kStops = [] {
  std::array<bool, 256> stops{};
  for (std::size_t c = 0; c <= ' '; ++c) stops[c] = true;
  for (const std::size_t c : {0x7F, 0xC2, 0xE2, 0xEF}) stops[c] = true;
  return stops;
}();

// Lines of their own, in which blanks and tabs separate what does not hang together.
class Lines {
 public:
  void take(std::string_view text, bool keeps_lines) {
    while (!text.empty()) {
      const char c = text[0];
      if (keeps_lines && c == '\n') {
        ++breaks_;
        text.remove_prefix(1);
      } else if (is_control(c)) {
        keeps_lines ? ++indent_ : indent_ = 0;
        blank_ = true;
        text.remove_prefix(1);
      } else {
        take_word(text);
      }
    }
  }

  void end_lines(int lines) { lines_ = std::max(lines_, lines); }
  void end_line() { ++breaks_; }
  void end_cell() { tab_ = true; }
  void part_words() { blank_ = true; }
  bool empty() const { return text_.empty(); }

  std::string finished() {
    if (!text_.empty()) text_ += '\n';
    return std::move(text_);
  }

 private:
  static bool is_control(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }

  // Up to the next blank, or to a character that stands for one or for nothing.
  void take_word(std::string_view& text) {
    std::size_t end = 0;
    for (;;) {
      while (end < text.size() && !kStops[static_cast<unsigned char>(text[end])]) ++end;
      if (end == text.size() || is_control(text[end])) break;
      const std::size_t special = special_at(text.substr(end));
      if (special == 0) {
        ++end;
        continue;
      }
      put(text.substr(0, end));
      if (text.substr(end).starts_with(kNoBreakSpace)) blank_ = true;
      text.remove_prefix(end + special);
      return;
    }
    put(text.substr(0, end));
    text.remove_prefix(end);
  }

  // Bytes of a no-break space, a soft hyphen, a zero-width space or mark at the beginning.
  static std::size_t special_at(std::string_view text) {
    for (const std::string_view special : {kNoBreakSpace, kSoftHyphen, kZeroWidthSpace, kMark}) {
      if (text.starts_with(special)) return special.size();
    }
    return 0;
  }

  void put(std::string_view word) {
    if (word.empty()) return;
    part();
    text_ += word;
  }

  // What stands between what was said last and what comes now.
  void part() {
    const int lines = std::max(lines_, breaks_ + (lines_ > 0 && breaks_ > 0 ? 1 : 0));
    if (!text_.empty()) {
      if (lines > 0) {
        text_.append(static_cast<std::size_t>(std::min(lines, 2)), '\n');
        text_.append(std::min<std::size_t>(indent_, kIndentMax), ' ');
      } else if (tab_) {
        text_ += '\t';
      } else if (blank_) {
        text_.append(std::clamp<std::size_t>(indent_, 1, kIndentMax), ' ');
      }
    }
    lines_ = breaks_ = 0;
    indent_ = 0;
    tab_ = blank_ = false;
  }

  static constexpr std::size_t kIndentMax = 80;

  std::string text_;
  int lines_ = 0;
  int breaks_ = 0;
  std::size_t indent_ = 0;
  bool tab_ = false;
  bool blank_ = false;
};

bool keeps_lines(GumboTag tag) {
  return tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_TEXTAREA || tag == GUMBO_TAG_LISTING ||
         tag == GUMBO_TAG_XMP || tag == GUMBO_TAG_PLAINTEXT;
}

// They stand in lines, but never touch their neighbours.
bool stands_apart(GumboTag tag) {
  return tag == GUMBO_TAG_BUTTON || tag == GUMBO_TAG_SELECT || tag == GUMBO_TAG_IMG ||
         tag == GUMBO_TAG_INPUT || tag == GUMBO_TAG_VIDEO || tag == GUMBO_TAG_AUDIO;
}

class TextMaker {
 public:
  TextMaker(const PageOutline& outline, const std::vector<bool>& is_main)
      : outline_(outline), is_main_(is_main) {}

  void run() {
    for (const PageEvent& event : outline_.events) {
      const PageElement& element = outline_.elements[event.element];
      if (element.is_hidden) continue;
      if (event.kind == PageEventKind::Text) {
        take(event);
      } else {
        pass(event, element);
      }
    }
  }

  PageText finished(std::uint64_t characters_max);

 private:
  void take(const PageEvent& event) {
    const bool is_main = is_main_[event.element];
    Lines& lines = is_main ? main_ : rest_;
    const bool has_words = trimmed(event.text) != "";
    if (has_words && is_main != was_main_) {
      // What stands between two pieces of the rest is not seen in it, but parts them.
      is_main ? main_.part_words() : rest_.end_lines(1);
      was_main_ = is_main;
    }
    lines.take(event.text, pre_ > 0);
    if (in_heading_) heading_.take(event.text, false);
  }

  void pass(const PageEvent& event, const PageElement& element) {
    const bool opens = event.kind == PageEventKind::Open;
    const GumboTag tag = element.tag;
    if (const int lines = lines_around(tag); lines > 0) {
      main_.end_lines(lines);
      rest_.end_lines(lines);
      if (in_heading_) heading_.part_words();
    }
    if (keeps_lines(tag)) pre_ += opens ? 1 : -1;
    if (is_heading(tag)) opens ? begin_heading() : end_heading(event.element, tag);
    if (stands_apart(tag)) each(&Lines::part_words);
    if (opens && tag == GUMBO_TAG_BR) {
      each(&Lines::end_line);
      heading_.part_words();
    }
    if (!opens && (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH)) each(&Lines::end_cell);
    // Links in a row are the items of a menu.
    if (!opens && tag == GUMBO_TAG_A && !is_main_[event.element]) rest_after_link_ = true;
    if (opens && tag == GUMBO_TAG_A && rest_after_link_) rest_.part_words();
    if (opens) rest_after_link_ = false;
  }

  void each(void (Lines::*action)()) {
    (main_.*action)();
    (rest_.*action)();
  }

  void begin_heading() {
    in_heading_ = true;
    heading_ = Lines();
  }

  void end_heading(std::uint32_t number, GumboTag tag) {
    if (!in_heading_) return;
    in_heading_ = false;
    std::string heading = heading_.finished();
    if (heading.empty()) return;
    heading.pop_back();
    if (heading.size() > kHeadingBytesMax) {
      heading.resize(kHeadingBytesMax);
      heading.resize(valid_utf8_prefix(heading));
    }
    if (tag == GUMBO_TAG_H1 && first_h1_.empty()) first_h1_ = heading;
    const bool counts = is_main_[number] || tag == GUMBO_TAG_H1;
    const bool is_new = std::ranges::find(headings_, heading) == headings_.end();
    if (counts && is_new && headings_.size() < kHeadingsMax) {
      headings_.push_back(std::move(heading));
    }
  }

  const PageOutline& outline_;
  const std::vector<bool>& is_main_;
  Lines main_;
  Lines rest_;
  Lines heading_;
  std::vector<std::string> headings_;
  std::string first_h1_;
  int pre_ = 0;
  bool in_heading_ = false;
  bool was_main_ = true;
  bool rest_after_link_ = false;
};

// Bytes of so many characters.
std::size_t bytes_of_characters(std::string_view text, std::uint64_t characters) {
  if (text.size() <= characters) return text.size();
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (!begins) continue;
    if (characters == 0) break;
    --characters;
  }
  return at;
}

PageText TextMaker::finished(std::uint64_t characters_max) {
  PageText made;
  made.headings = std::move(headings_);
  made.first_h1 = std::move(first_h1_);
  made.text = main_.finished();
  made.main_bytes = made.text.size();
  const std::string rest = rest_.finished();
  if (!made.text.empty() && !rest.empty()) made.text += '\n';
  made.text += rest;
  const std::size_t bytes = bytes_of_characters(made.text, characters_max);
  made.was_cut = bytes < made.text.size();
  made.text.resize(bytes);
  made.main_bytes = std::min(made.main_bytes, bytes);
  return made;
}

}  // namespace

PageText text_of(const PageOutline& outline, const std::vector<bool>& is_main,
                 std::uint64_t characters_max) {
  TextMaker maker(outline, is_main);
  maker.run();
  return maker.finished(characters_max);
}

}  // namespace quern::worker

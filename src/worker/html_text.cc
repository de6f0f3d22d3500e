#include "worker/html_text.h"

#include <algorithm>
#include <iterator>

namespace quern::worker {
namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
constexpr std::string_view kSoftHyphen = "\xC2\xAD";

constexpr GumboTag kParagraphs[] = {
    GUMBO_TAG_P,     GUMBO_TAG_H1,  GUMBO_TAG_H2,         GUMBO_TAG_H3, GUMBO_TAG_H4,
    GUMBO_TAG_H5,    GUMBO_TAG_H6,  GUMBO_TAG_UL,         GUMBO_TAG_OL, GUMBO_TAG_DL,
    GUMBO_TAG_TABLE, GUMBO_TAG_PRE, GUMBO_TAG_BLOCKQUOTE, GUMBO_TAG_HR};
constexpr GumboTag kBlocks[] = {
    GUMBO_TAG_DIV,        GUMBO_TAG_LI,       GUMBO_TAG_TR,     GUMBO_TAG_SECTION,
    GUMBO_TAG_ARTICLE,    GUMBO_TAG_HEADER,   GUMBO_TAG_FOOTER, GUMBO_TAG_NAV,
    GUMBO_TAG_ASIDE,      GUMBO_TAG_MAIN,     GUMBO_TAG_DT,     GUMBO_TAG_DD,
    GUMBO_TAG_FORM,       GUMBO_TAG_FIELDSET, GUMBO_TAG_FIGURE, GUMBO_TAG_CAPTION,
    GUMBO_TAG_FIGCAPTION, GUMBO_TAG_ADDRESS,  GUMBO_TAG_OPTION, GUMBO_TAG_BODY,
    GUMBO_TAG_CENTER,     GUMBO_TAG_THEAD,    GUMBO_TAG_TBODY,  GUMBO_TAG_TFOOT,
    GUMBO_TAG_TEXTAREA,   GUMBO_TAG_SUMMARY,  GUMBO_TAG_DETAILS};
constexpr GumboTag kUnread[] = {GUMBO_TAG_SCRIPT, GUMBO_TAG_STYLE,  GUMBO_TAG_TEMPLATE,
                                GUMBO_TAG_IFRAME, GUMBO_TAG_OBJECT, GUMBO_TAG_NOEMBED,
                                GUMBO_TAG_CANVAS};

template <std::size_t N>
bool is_one_of(GumboTag tag, const GumboTag (&tags)[N]) {
  return std::find(std::begin(tags), std::end(tags), tag) != std::end(tags);
}

// Lines that an element ends before and behind it.
int lines_around(GumboTag tag) {
  return is_one_of(tag, kParagraphs) ? 2 : is_one_of(tag, kBlocks) ? 1 : 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

class Words {
 public:
  explicit Words(std::uint64_t characters_max) : characters_max_(characters_max) {}

  bool enter(const GumboNode& node) {
    switch (node.type) {
      case GUMBO_NODE_TEXT:
      case GUMBO_NODE_CDATA:
        take(node.v.text.text);
        return false;
      case GUMBO_NODE_WHITESPACE:
        pre_ > 0 ? take(node.v.text.text) : void(blank_ = true);
        return false;
      case GUMBO_NODE_ELEMENT:
        return enter(node.v.element);
      default:
        return false;
    }
  }

  void leave(const GumboNode& node) {
    const GumboTag tag = node.v.element.tag;
    if (tag == GUMBO_TAG_PRE || tag == GUMBO_TAG_TEXTAREA) --pre_;
    if (tag == GUMBO_TAG_TITLE) in_title_ = false;
    if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH) tab_ = true;
    lines_ = std::max(lines_, lines_around(tag));
  }

  HtmlWords finished() {
    if (!words_.text.empty()) words_.text += '\n';
    return std::move(words_);
  }

 private:
  bool enter(const GumboElement& element) {
    if (is_unread(element.tag)) return false;
    if (element.tag == GUMBO_TAG_META && attribute_of(element, "name") == "author") {
      words_.author = attribute_of(element, "content");
    }
    if (element.tag == GUMBO_TAG_TITLE) in_title_ = words_.title.empty();
    if (element.tag == GUMBO_TAG_PRE || element.tag == GUMBO_TAG_TEXTAREA) ++pre_;
    if (element.tag == GUMBO_TAG_BR) ++breaks_;
    lines_ = std::max(lines_, lines_around(element.tag));
    if (element.tag == GUMBO_TAG_IMG) take_apart(attribute_of(element, "alt"));
    if (element.tag == GUMBO_TAG_INPUT) take_input(element);
    return true;
  }

  void take_input(const GumboElement& element) {
    const std::string_view type = attribute_of(element, "type");
    if (type == "hidden" || type == "checkbox" || type == "radio") return;
    take_apart(attribute_of(element, "value"));
  }

  void take_apart(std::string_view text) {
    blank_ = true;
    take(text);
    blank_ = true;
  }

  void take(std::string_view text) {
    if (in_title_) {
      words_.title += text;
      return;
    }
    while (!text.empty() && !words_.was_cut) {
      if (text.starts_with(kNoBreakSpace)) {
        text.remove_prefix(kNoBreakSpace.size());
        put(' ');
      } else if (text.starts_with(kSoftHyphen)) {
        text.remove_prefix(kSoftHyphen.size());
      } else {
        put(text[0]);
        text.remove_prefix(1);
      }
    }
  }

  void put(char c) {
    if (pre_ > 0 && c == '\n') {
      ++breaks_;
    } else if (pre_ == 0 && is_blank(c)) {
      blank_ = true;
    } else {
      part();
      append(c);
    }
  }

  // What stands between what was said last and what comes now.
  void part() {
    const int lines = std::max(lines_, breaks_ + (lines_ > 0 && breaks_ > 0 ? 1 : 0));
    if (!words_.text.empty()) {
      if (lines > 0) {
        for (int i = 0; i < std::min(lines, pre_ > 0 ? lines : 2); ++i) append('\n');
      } else if (tab_) {
        append('\t');
      } else if (blank_) {
        append(' ');
      }
    }
    lines_ = breaks_ = 0;
    tab_ = blank_ = false;
  }

  void append(char c) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && characters_ >= characters_max_) {
      words_.was_cut = true;
      return;
    }
    characters_ += begins ? 1 : 0;
    words_.text += c;
  }

  std::uint64_t characters_max_;
  std::uint64_t characters_ = 0;
  HtmlWords words_;
  int pre_ = 0;
  int lines_ = 0;
  int breaks_ = 0;
  bool tab_ = false;
  bool blank_ = false;
  bool in_title_ = false;
};

}  // namespace

bool is_unread(GumboTag tag) {
  return is_one_of(tag, kUnread);
}

HtmlWords html_words(const HtmlTree& tree, std::uint64_t characters_max) {
  Words words(characters_max);
  walk(tree.root(), words);
  return words.finished();
}

std::string without_tags(std::string_view html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>' && inside) {
      inside = false;
      text += ' ';
    }
  }
  return text;
}

}  // namespace quern::worker

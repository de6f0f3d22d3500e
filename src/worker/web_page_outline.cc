#include "worker/web_page_outline.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "worker/html_text.h"
#include "worker/web_page_hints.h"

namespace quern::worker {
namespace {

// A letter of a script without blanks says about as much as so many others.
constexpr std::uint32_t kIdeographWeight = 3;

constexpr GumboTag kParagraphs[] = {
    GUMBO_TAG_P,     GUMBO_TAG_H1,  GUMBO_TAG_H2,         GUMBO_TAG_H3, GUMBO_TAG_H4,
    GUMBO_TAG_H5,    GUMBO_TAG_H6,  GUMBO_TAG_UL,         GUMBO_TAG_OL, GUMBO_TAG_DL,
    GUMBO_TAG_TABLE, GUMBO_TAG_PRE, GUMBO_TAG_BLOCKQUOTE, GUMBO_TAG_HR};
constexpr GumboTag kBlocks[] = {
    GUMBO_TAG_DIV,      GUMBO_TAG_LI,         GUMBO_TAG_TR,       GUMBO_TAG_SECTION,
    GUMBO_TAG_ARTICLE,  GUMBO_TAG_HEADER,     GUMBO_TAG_FOOTER,   GUMBO_TAG_NAV,
    GUMBO_TAG_ASIDE,    GUMBO_TAG_MAIN,       GUMBO_TAG_DT,       GUMBO_TAG_DD,
    GUMBO_TAG_FORM,     GUMBO_TAG_FIELDSET,   GUMBO_TAG_FIGURE,   GUMBO_TAG_CAPTION,
    GUMBO_TAG_ADDRESS,  GUMBO_TAG_FIGCAPTION, GUMBO_TAG_OPTION,   GUMBO_TAG_BODY,
    GUMBO_TAG_CENTER,   GUMBO_TAG_THEAD,      GUMBO_TAG_TBODY,    GUMBO_TAG_TFOOT,
    GUMBO_TAG_TEXTAREA, GUMBO_TAG_SUMMARY,    GUMBO_TAG_DETAILS,  GUMBO_TAG_HGROUP,
    GUMBO_TAG_MENU,     GUMBO_TAG_LEGEND,     GUMBO_TAG_OPTGROUP, GUMBO_TAG_DIR};

using LineTable = std::array<std::uint8_t, GUMBO_TAG_LAST + 1>;
constexpr LineTable line_table() {
  LineTable table{};
  for (const GumboTag tag : kParagraphs) table[tag] = 2;
  for (const GumboTag tag : kBlocks) table[tag] = 1;
  return table;
}
constexpr LineTable kLines = line_table();

struct Measure {
  std::uint32_t text = 0;
  std::uint32_t commas = 0;
};

// Blanks do not count.
Measure measure(std::string_view text) {
  Measure measure;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c <= ' ' || (c & 0xC0) == 0x80) continue;
    measure.text += c >= 0xE3 && c <= 0xED ? kIdeographWeight : 1;
    if (c == ',') ++measure.commas;
    // U+3001, U+3002, U+FF0C, U+060C.
    const std::string_view rest = text.substr(i, 3);
    const bool foreign = (c == 0xE3 && (rest == "、" || rest == "。")) ||
                         (c == 0xEF && rest == "，") || (c == 0xD8 && rest.starts_with("،"));
    if (foreign) ++measure.commas;
  }
  return measure;
}

bool says_display_none(std::string_view style) {
  if (style.empty()) return false;
  std::string compact;
  for (const char c : style.substr(0, 400)) {
    if (!is_blank(c)) compact += lower_ascii(c);
  }
  return compact.find("display:none") != std::string::npos ||
         compact.find("visibility:hidden") != std::string::npos;
}

bool says_hidden(const GumboElement& element) {
  if (element.attributes.length == 0 || element.tag == GUMBO_TAG_BODY) return false;
  for (unsigned i = 0; i < element.attributes.length; ++i) {
    const auto& attribute = *static_cast<const GumboAttribute*>(element.attributes.data[i]);
    const std::string_view name = attribute.name;
    if (name == "hidden") return !equals_ignoring_case(attribute.value, "until-found");
    if (name == "aria-hidden" && equals_ignoring_case(attribute.value, "true")) return true;
    if (name == "style" && says_display_none(attribute.value)) return true;
  }
  return false;
}

class Outliner {
 public:
  bool enter(const GumboNode& node) {
    switch (node.type) {
      case GUMBO_NODE_ELEMENT:
        return open(node.v.element);
      case GUMBO_NODE_TEXT:
      case GUMBO_NODE_CDATA:
      case GUMBO_NODE_WHITESPACE:
        text(node.v.text.text);
        return false;
      default:
        return false;
    }
  }

  void leave(const GumboNode& /*node*/) {
    PageElement& done = outline_.elements[current_];
    done.end = static_cast<std::uint32_t>(outline_.elements.size());
    outline_.events.push_back({PageEventKind::Close, current_, {}});
    if (is_link(done)) --links_;
    if (done.tag == GUMBO_TAG_NOSCRIPT) --noscripts_;
    PageElement& parent = outline_.elements[done.parent];
    if (current_ != done.parent) add(parent, done);
    current_ = done.parent;
  }

  PageOutline finished() { return std::move(outline_); }

 private:
  static bool is_link(const PageElement& element) {
    return element.tag == GUMBO_TAG_A && !attribute_of(*element.element, "href").empty();
  }

  bool open(const GumboElement& element) {
    const bool is_drawing = element.tag_namespace == GUMBO_NAMESPACE_SVG;
    if (is_unread(element.tag) || is_drawing || element.tag == GUMBO_TAG_HEAD) {
      if (!outline_.elements.empty() && !is_drawing) count_embed(element.tag);
      return false;
    }
    PageElement opened;
    opened.element = &element;
    opened.tag = element.tag;
    opened.parent = current_;
    opened.is_hidden = says_hidden(element);
    opened.hints = hints_of(element);
    current_ = static_cast<std::uint32_t>(outline_.elements.size());
    if (element.tag == GUMBO_TAG_NOSCRIPT) ++noscripts_;
    opened.is_noscript = noscripts_ > 0;
    if (is_link(opened)) ++links_;
    outline_.elements.push_back(opened);
    outline_.events.push_back({PageEventKind::Open, current_, {}});
    return true;
  }

  void count_embed(GumboTag tag) {
    const bool is_embed = tag == GUMBO_TAG_IFRAME || tag == GUMBO_TAG_OBJECT;
    if (is_embed) ++outline_.elements[current_].counts.embeds;
  }

  void text(std::string_view text) {
    if (outline_.elements.empty()) return;
    outline_.events.push_back({PageEventKind::Text, current_, text});
    PageElement& element = outline_.elements[current_];
    // It stands for other text, which counts already.
    if (element.is_noscript) return;
    const Measure measured = measure(text);
    element.counts.text += measured.text;
    element.own_text += measured.text;
    element.counts.commas += measured.commas;
    if (links_ > 0) element.counts.linked += measured.text;
  }

  static void add(PageElement& parent, const PageElement& child) {
    if (child.is_noscript) return;
    const GumboTag tag = child.tag;
    PageCounts counts = child.counts;
    counts.paragraphs += tag == GUMBO_TAG_P ? 1 : 0;
    counts.list_items += tag == GUMBO_TAG_LI ? 1 : 0;
    counts.images += tag == GUMBO_TAG_IMG ? 1 : 0;
    counts.inputs += tag == GUMBO_TAG_INPUT ? 1 : 0;
    counts.embeds += tag == GUMBO_TAG_EMBED ? 1 : 0;
    counts.blocks += lines_around(tag) > 0 ? 1 : 0;
    if (is_heading(tag)) counts.headings_text = counts.text;
    parent.counts.add(counts);
  }

  PageOutline outline_;
  std::uint32_t current_ = 0;
  int links_ = 0;
  int noscripts_ = 0;
};

// What is hidden is so with all inside of it, and counts for nothing around it.
void settle_hidden(PageOutline& outline) {
  auto& elements = outline.elements;
  const std::uint32_t all = elements[0].counts.text;
  std::uint32_t hidden_until = 0;
  for (std::uint32_t i = 0; i < elements.size(); ++i) {
    PageElement& element = elements[i];
    const bool is_hidden = element.is_hidden && element.counts.text <= all / 2;
    if (is_hidden) hidden_until = std::max(hidden_until, element.end);
    element.is_hidden = i < hidden_until;
  }
  std::vector<PageCounts> hidden(elements.size());
  for (std::size_t i = elements.size(); i-- > 1;) {
    PageElement& element = elements[i];
    if (element.is_hidden && elements[element.parent].is_hidden) continue;
    if (!element.is_hidden) element.counts.subtract(hidden[i]);
    hidden[element.parent].add(element.is_hidden ? element.counts : hidden[i]);
  }
  if (elements.size() > 1) elements[0].counts.subtract(hidden[0]);
}

// Where nothing else is to be read, what stands for a script is.
void settle_noscript(PageOutline& outline) {
  const bool is_all = outline.elements[0].counts.text == 0;
  for (PageElement& element : outline.elements) {
    if (!element.is_noscript) continue;
    element.is_hidden = element.is_hidden || !is_all;
  }
}

}  // namespace

void PageCounts::add(const PageCounts& other) {
  text += other.text;
  linked += other.linked;
  commas += other.commas;
  paragraphs += other.paragraphs;
  list_items += other.list_items;
  images += other.images;
  inputs += other.inputs;
  embeds += other.embeds;
  headings_text += other.headings_text;
  blocks += other.blocks;
}

void PageCounts::subtract(const PageCounts& other) {
  text -= other.text;
  linked -= other.linked;
  commas -= other.commas;
  paragraphs -= other.paragraphs;
  list_items -= other.list_items;
  images -= other.images;
  inputs -= other.inputs;
  embeds -= other.embeds;
  headings_text -= other.headings_text;
  blocks -= other.blocks;
}

int lines_around(GumboTag tag) {
  return kLines[tag];
}

PageOutline outline_of(const HtmlTree& tree) {
  Outliner outliner;
  walk(tree.root(), outliner);
  PageOutline outline = outliner.finished();
  if (outline.elements.empty()) outline.elements.emplace_back();
  settle_hidden(outline);
  settle_noscript(outline);
  return outline;
}

}  // namespace quern::worker

#include "worker/html_clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "worker/base64.h"
#include "worker/html_text.h"

namespace quern::worker {
namespace {

constexpr std::string_view kHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><html><head><style>"
    "@page{margin:36pt 40pt} body{margin:0} td,th{padding:1pt 3pt;vertical-align:top}"
    "pre{white-space:pre-wrap;font-size:0.85em}"
    "</style></head><body>";
constexpr std::string_view kTail = "</body></html>";
// Layout breaks lines at blanks; a word longer than this gets some.
constexpr std::size_t kWordBytesMax = 80;

struct Shown {
  GumboTag tag;
  const char* name;
};
constexpr Shown kShown[] = {{GUMBO_TAG_H1, "h1"},
                            {GUMBO_TAG_H2, "h2"},
                            {GUMBO_TAG_H3, "h3"},
                            {GUMBO_TAG_H4, "h4"},
                            {GUMBO_TAG_H5, "h4"},
                            {GUMBO_TAG_H6, "h4"},
                            {GUMBO_TAG_P, "p"},
                            {GUMBO_TAG_UL, "ul"},
                            {GUMBO_TAG_OL, "ol"},
                            {GUMBO_TAG_LI, "li"},
                            {GUMBO_TAG_TABLE, "table"},
                            {GUMBO_TAG_TR, "tr"},
                            {GUMBO_TAG_TD, "td"},
                            {GUMBO_TAG_TH, "th"},
                            {GUMBO_TAG_PRE, "pre"},
                            {GUMBO_TAG_TEXTAREA, "pre"},
                            {GUMBO_TAG_BLOCKQUOTE, "blockquote"},
                            {GUMBO_TAG_B, "b"},
                            {GUMBO_TAG_STRONG, "b"},
                            {GUMBO_TAG_DT, "b"},
                            {GUMBO_TAG_I, "i"},
                            {GUMBO_TAG_EM, "i"},
                            {GUMBO_TAG_CITE, "i"},
                            {GUMBO_TAG_U, "u"},
                            {GUMBO_TAG_INS, "u"},
                            {GUMBO_TAG_SUB, "sub"},
                            {GUMBO_TAG_SUP, "sup"},
                            {GUMBO_TAG_CODE, "code"},
                            {GUMBO_TAG_TT, "code"},
                            {GUMBO_TAG_KBD, "code"},
                            {GUMBO_TAG_SAMP, "code"},
                            {GUMBO_TAG_DIV, "div"},
                            {GUMBO_TAG_SECTION, "div"},
                            {GUMBO_TAG_ARTICLE, "div"},
                            {GUMBO_TAG_HEADER, "div"},
                            {GUMBO_TAG_FOOTER, "div"},
                            {GUMBO_TAG_NAV, "div"},
                            {GUMBO_TAG_ASIDE, "div"},
                            {GUMBO_TAG_MAIN, "div"},
                            {GUMBO_TAG_DD, "div"},
                            {GUMBO_TAG_FORM, "div"},
                            {GUMBO_TAG_FIELDSET, "div"},
                            {GUMBO_TAG_FIGURE, "div"},
                            {GUMBO_TAG_FIGCAPTION, "div"},
                            {GUMBO_TAG_CAPTION, "div"},
                            {GUMBO_TAG_ADDRESS, "div"},
                            {GUMBO_TAG_OPTION, "div"},
                            {GUMBO_TAG_CENTER, "div"},
                            {GUMBO_TAG_DL, "div"}};

// What the element becomes; null where only its content counts.
const char* shown_as(GumboTag tag) {
  const auto* const found = std::find_if(std::begin(kShown), std::end(kShown),
                                         [tag](const Shown& s) { return s.tag == tag; });
  return found == std::end(kShown) ? nullptr : found->name;
}

bool is_of_table(GumboTag tag) {
  return tag == GUMBO_TAG_TABLE || tag == GUMBO_TAG_TR || tag == GUMBO_TAG_TD ||
         tag == GUMBO_TAG_TH;
}

class Cleaner {
 public:
  explicit Cleaner(const HtmlPictures& pictures) : pictures_(pictures) {}

  bool enter(const GumboNode& node) {
    if (clean_.was_cut) return false;
    if (node.type == GUMBO_NODE_ELEMENT) return enter(node.v.element);
    if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_CDATA ||
        node.type == GUMBO_NODE_WHITESPACE) {
      text(node.v.text.text);
    }
    return false;
  }

  void leave(const GumboNode& node) {
    const char* const name = open_.back();
    open_.pop_back();
    if (name != nullptr) {
      --depth_;
      clean_.xhtml += fmt::format("</{}>", name);
    }
    if (node.v.element.tag == GUMBO_TAG_TABLE) --tables_;
  }

  CleanHtml finished() {
    clean_.xhtml = std::string(kHead) + clean_.xhtml + std::string(kTail);
    return std::move(clean_);
  }

 private:
  bool enter(const GumboElement& element) {
    const GumboTag tag = element.tag;
    if (is_unread(tag) || tag == GUMBO_TAG_HEAD || tag == GUMBO_TAG_TITLE) return false;
    if (tag == GUMBO_TAG_BR) clean_.xhtml += "<br/>";
    if (tag == GUMBO_TAG_HR) clean_.xhtml += "<hr/>";
    if (tag == GUMBO_TAG_IMG) picture(element);
    if (tag == GUMBO_TAG_TABLE) ++tables_;
    const char* name = shown_as(tag);
    if (is_of_table(tag) && tables_ > kHtmlTablesMax) name = "div";
    if (depth_ >= kHtmlDepthMax) name = nullptr;
    open_.push_back(name);
    if (name == nullptr) return true;
    ++depth_;
    const bool right = attribute_of(element, "dir") == "rtl";
    clean_.xhtml += fmt::format("<{}{}>", name, right ? R"( dir="rtl")" : "");
    return true;
  }

  void picture(const GumboElement& element) {
    const std::string_view source = attribute_of(element, "src");
    std::string data;
    if (source.starts_with("data:image/")) {
      const std::size_t comma = source.find(";base64,");
      if (comma != std::string_view::npos) data = source.substr(comma + 8);
    } else if (const auto found = pictures_.find(source); found != pictures_.end()) {
      data = base64_encoded(found->second);
    }
    pictures_bytes_ += data.size();
    const bool fits = data.size() <= kPictureBytesMax && pictures_bytes_ <= kPicturesBytesMax;
    if (data.empty() || !fits || data.find_first_of("\"<>&") != std::string::npos) {
      text(attribute_of(element, "alt"));
      return;
    }
    // MuPDF wants one of two names and then looks at the bytes.
    clean_.xhtml += fmt::format(R"(<img src="data:image/png;base64,{}"/>)", data);
  }

  void text(std::string_view text) {
    if (clean_.xhtml.size() - std::min(clean_.xhtml.size(), pictures_bytes_) > kCleanBytesMax) {
      clean_.was_cut = true;
      return;
    }
    for (const char c : text) put(c);
  }

  void put(char c) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    word_ = c == ' ' || c == '\n' || c == '\t' ? 0 : word_ + 1;
    if (begins && word_ > kWordBytesMax) {
      clean_.xhtml += ' ';
      word_ = 0;
    }
    switch (c) {
      case '<':
        clean_.xhtml += "&lt;";
        break;
      case '>':
        clean_.xhtml += "&gt;";
        break;
      case '&':
        clean_.xhtml += "&amp;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') clean_.xhtml += c;
    }
  }

  const HtmlPictures& pictures_;
  CleanHtml clean_;
  std::vector<const char*> open_;
  int depth_ = 0;
  int tables_ = 0;
  std::size_t pictures_bytes_ = 0;
  std::size_t word_ = 0;
};

}  // namespace

CleanHtml clean_html(const HtmlTree& tree, const HtmlPictures& pictures) {
  Cleaner cleaner(pictures);
  walk(tree.root(), cleaner);
  return cleaner.finished();
}

}  // namespace quern::worker

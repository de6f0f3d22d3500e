#include "worker/web_page_scripts.h"

#include <algorithm>

#include "base/ascii.h"

namespace quern::worker {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

bool is_letter(char c) {
  const char small = lower_ascii(c);
  return small >= 'a' && small <= 'z';
}

// Their content is text up to their own end tag, whatever it looks like.
bool is_raw(std::string_view name) {
  constexpr std::string_view kNames[] = {"script",  "style", "textarea", "title",    "iframe",
                                         "noembed", "xmp",   "noframes", "plaintext"};
  return std::ranges::any_of(
      kNames, [name](std::string_view known) { return equals_ignoring_case(name, known); });
}

// Between "<!--" and "-->" a script may have scripts, whose ends are not its own.
bool hides_its_end(std::string_view content) {
  const std::size_t comment = content.find("<!--");
  return comment != kNowhere &&
         lower_ascii(content.substr(comment)).find("<script") != std::string::npos;
}

class Stripper {
 public:
  explicit Stripper(std::string_view html) : html_(html) { page_.html.reserve(html.size()); }

  PageWithoutScripts run() {
    while (at_ < html_.size()) {
      const std::size_t mark = html_.find('<', at_);
      if (mark == kNowhere || mark + 1 >= html_.size()) break;
      at_ = mark + 1;
      if (html_.compare(mark, 4, "<!--") == 0) {
        skip_comment(mark);
      } else if (is_letter(html_[at_])) {
        skip_tag();
      }
    }
    page_.html += html_.substr(kept_);
    return std::move(page_);
  }

 private:
  // "<!-->" and "<!--->" are whole ones; "--!>" ends one, too.
  void skip_comment(std::size_t mark) {
    // Looked for once only, however many others end before it.
    if (comment_end_ < mark + 2) comment_end_ = html_.find("-->", mark + 2);
    const std::size_t odd = html_.substr(0, comment_end_).find("--!>", mark + 4);
    const std::size_t end = std::min(comment_end_, odd);
    at_ = end == kNowhere ? html_.size() : end + (end == odd ? 4 : 3);
  }

  void skip_tag() {
    const std::size_t begin = at_;
    const std::size_t end = html_.find_first_of(" \t\r\n\f/>", at_);
    if (end == kNowhere) {
      at_ = html_.size();
      return;
    }
    const std::string_view name = html_.substr(begin, end - begin);
    at_ = end;
    skip_attributes();
    if (is_raw(name)) skip_raw(name, html_.substr(end, at_ - end));
  }

  // Behind the ">" that is in no quotes.
  void skip_attributes() {
    while (at_ < html_.size()) {
      const char c = html_[at_++];
      if (c == '>') return;
      if (c != '=') continue;
      while (at_ < html_.size() && is_blank(html_[at_])) ++at_;
      if (at_ >= html_.size()) return;
      if (html_[at_] == '"' || html_[at_] == '\'') {
        at_ = std::min(html_.find(html_[at_], at_ + 1), html_.size() - 1) + 1;
      } else {
        at_ = std::min(html_.find_first_of(" \t\r\n\f>", at_), html_.size());
      }
    }
  }

  void skip_raw(std::string_view name, std::string_view attributes) {
    const std::size_t end = end_of(name);
    // Without an end it goes on for ever; a drawing's own may end at once.
    if (end == kNowhere || attributes.ends_with("/>")) {
      at_ = end == kNowhere ? html_.size() : at_;
      return;
    }
    const std::string_view content = html_.substr(at_, end - at_);
    const bool is_script = equals_ignoring_case(name, "script");
    if (is_script && hides_its_end(content)) {
      at_ = html_.size();
      return;
    }
    if (is_script) take_data(attributes, content);
    if (is_script || equals_ignoring_case(name, "style")) {
      page_.html += html_.substr(kept_, at_ - kept_);
      kept_ = end;
    }
    at_ = end;
  }

  // Where "</name" begins.
  std::size_t end_of(std::string_view name) const {
    for (std::size_t at = at_; (at = html_.find("</", at)) != kNowhere; at += 2) {
      const std::size_t behind = at + 2 + name.size();
      if (!equals_ignoring_case(html_.substr(at + 2, name.size()), name)) continue;
      if (behind < html_.size() &&
          (is_blank(html_[behind]) || html_[behind] == '/' || html_[behind] == '>')) {
        return at;
      }
    }
    return kNowhere;
  }

  void take_data(std::string_view attributes, std::string_view content) {
    if (page_.data.size() >= kPageDataMax || content.size() > kPageDataBytesMax) return;
    if (attributes.find("ld+json") == kNowhere) return;
    page_.data.emplace_back(content);
  }

  std::string_view html_;
  std::size_t at_ = 0;
  std::size_t comment_end_ = 0;
  std::size_t kept_ = 0;  // up to here it is in the page
  PageWithoutScripts page_;
};

}  // namespace

PageWithoutScripts without_scripts(std::string_view html) {
  return Stripper(html).run();
}

}  // namespace quern::worker

#include "worker/web_page_main.h"

#include <algorithm>
#include <array>

#include "worker/web_page_clean.h"

namespace quern::worker {
namespace {

// Of a page with less text than this everything is main that does not call itself something else.
constexpr std::uint32_t kShortPage = 400;
// A main text with less than this is none.
constexpr std::uint32_t kMainTextMin = 140;
// Nor is one that is a smaller share of what stands there and is no link: this is a table, or a
// list of many things.
constexpr double kMainShare = 0.3;
// Of a paragraph that gives points.
constexpr std::uint32_t kParagraphMin = 20;
// What stands beside the text is of it with this much more of paragraphs and fewer links than this.
constexpr double kEqualShare = 0.3;
constexpr double kEqualLinks = 0.25;
constexpr int kLevelsUp = 5;
constexpr std::size_t kRivals = 5;

bool is_container(GumboTag tag) {
  return tag == GUMBO_TAG_HTML || tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_ARTICLE ||
         tag == GUMBO_TAG_MAIN;
}

double class_weight(const PageHints& hints) {
  return (hints.positive ? 25 : 0) - (hints.negative ? 25 : 0);
}

// What an element is worth before anything is in it.
double first_points(const PageElement& element) {
  const double weight = class_weight(element.hints);
  switch (element.tag) {
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_MAIN:
      return weight + 10;
    case GUMBO_TAG_DIV:
      return weight + 5;
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_TD:
    case GUMBO_TAG_BLOCKQUOTE:
      return weight + 3;
    case GUMBO_TAG_ADDRESS:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_DD:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_LI:
    case GUMBO_TAG_FORM:
      return weight - 3;
    case GUMBO_TAG_TH:
      return weight - 5;
    default:
      return is_heading(element.tag) ? weight - 5 : weight;
  }
}

class MainText {
 public:
  explicit MainText(const PageOutline& outline)
      : elements_(outline.elements),
        around_(elements_.size()),
        points_(elements_.size()),
        has_points_(elements_.size()),
        sums_(elements_.size()) {}

  std::vector<bool> find() {
    leave_out_around();
    std::vector<bool> all = inside_of(0);
    if (text_in(all) < kShortPage) return all;
    give_points();
    const std::uint32_t top = best();
    if (top == 0) return all;
    std::vector<bool> is_main = with_siblings(top);
    clean_main_text(elements_, is_main);
    const std::uint32_t text = text_in(is_main);
    if (text >= kMainTextMin && text >= plain_text_in(all) * kMainShare) return is_main;
    std::vector<bool> cleaned = all;
    clean_main_text(elements_, cleaned);
    // A page of links has nothing else.
    return text_in(cleaned) < kMainTextMin ? all : cleaned;
  }

 private:
  const PageElement& at(std::uint32_t i) const { return elements_[i]; }

  // Whether it calls itself something else than the text.
  bool is_around(const PageElement& element, bool in_article) const {
    const bool is_most = element.counts.text * 2 > elements_[0].counts.text;
    switch (element.tag) {
      case GUMBO_TAG_NAV:
      case GUMBO_TAG_ASIDE:
      case GUMBO_TAG_MENU:
      case GUMBO_TAG_FOOTER:
        return !is_most;
      case GUMBO_TAG_HEADER:
        return !is_most && !in_article;
      case GUMBO_TAG_BUTTON:
      case GUMBO_TAG_SELECT:
      case GUMBO_TAG_TEXTAREA:
        return true;
      case GUMBO_TAG_A:
        return false;
      default:
        return element.hints.unlikely && !element.hints.positive && !is_container(element.tag) &&
               !is_most;
    }
  }

  void leave_out_around() {
    std::vector<bool> in_article(elements_.size());
    for (std::uint32_t i = 0; i < elements_.size(); ++i) {
      const PageElement& element = at(i);
      in_article[i] = in_article[element.parent] || element.tag == GUMBO_TAG_ARTICLE ||
                      element.tag == GUMBO_TAG_MAIN;
      around_[i] = element.is_hidden || (i > 0 && around_[element.parent]) ||
                   is_around(element, in_article[i]);
    }
  }

  std::vector<bool> inside_of(std::uint32_t root) const {
    std::vector<bool> inside(elements_.size());
    for (std::uint32_t i = root; i < at(root).end; ++i) inside[i] = !around_[i];
    return inside;
  }

  std::uint32_t text_in(const std::vector<bool>& inside) const {
    std::uint32_t text = 0;
    for (std::uint32_t i = 0; i < elements_.size(); ++i) {
      if (inside[i]) text += at(i).own_text;
    }
    return text;
  }

  // Without that of links.
  std::uint32_t plain_text_in(const std::vector<bool>& inside) const {
    std::uint32_t text = 0;
    for (std::uint32_t i = 0; i < elements_.size(); ++i) {
      const bool is_plain = at(i).own_text > 0 && at(i).counts.linked == 0;
      if (inside[i] && is_plain) text += at(i).own_text;
    }
    return text;
  }

  // The text that stands in it as in one paragraph; 0 where it holds paragraphs only.
  static std::uint32_t paragraph_text(const PageElement& element) {
    switch (element.tag) {
      case GUMBO_TAG_P:
      case GUMBO_TAG_PRE:
        return element.counts.text;
      case GUMBO_TAG_TD:
      case GUMBO_TAG_DIV:
      case GUMBO_TAG_SECTION:
      case GUMBO_TAG_ARTICLE:
      case GUMBO_TAG_BLOCKQUOTE:
      case GUMBO_TAG_CENTER:
        return element.counts.blocks == 0 ? element.counts.text : element.own_text;
      default:
        return 0;
    }
  }

  void give_points() {
    for (std::uint32_t i = 1; i < elements_.size(); ++i) {
      if (around_[i]) continue;
      const PageElement& element = at(i);
      const std::uint32_t text = paragraph_text(element);
      if (text < kParagraphMin) continue;
      const double share = static_cast<double>(text) / element.counts.text;
      const double plain = 1 - element.counts.link_density();
      const double points = 1 + element.counts.commas * share + std::min(text / 80.0, 3.0);
      give_up(i, points * plain);
      sums_[i] = points * plain;
    }
    for (std::size_t i = elements_.size(); i-- > 1;) {
      if (!around_[i]) sums_[at(static_cast<std::uint32_t>(i)).parent] += sums_[i];
    }
  }

  // To what it stands in, and less to what that stands in.
  void give_up(std::uint32_t from, double points) {
    std::uint32_t to = from;
    for (int level = 0; level < kLevelsUp; ++level) {
      to = at(to).parent;
      if (to == 0) return;
      if (!has_points_[to]) points_[to] = first_points(at(to));
      has_points_[to] = true;
      points_[to] += points / (level == 0 ? 1 : level == 1 ? 2 : level * 3);
    }
  }

  double score(std::uint32_t i) const {
    return has_points_[i] ? points_[i] * (1 - at(i).counts.link_density()) : 0;
  }

  // 0 where nothing has any points.
  std::uint32_t best() const {
    std::array<std::uint32_t, kRivals> tops{};
    for (std::uint32_t i = 1; i < elements_.size(); ++i) {
      if (around_[i]) continue;
      std::uint32_t place = i;
      for (std::uint32_t& top : tops) {
        if (score(place) > score(top)) std::swap(place, top);
      }
    }
    if (tops[0] == 0) return 0;
    return whole_of(common_of(tops));
  }

  // Where several are nearly as good, what they stand in together.
  std::uint32_t common_of(const std::array<std::uint32_t, kRivals>& tops) const {
    std::uint32_t up = tops[0];
    for (up = at(up).parent; up != 0 && at(up).tag != GUMBO_TAG_BODY; up = at(up).parent) {
      int inside = 0;
      for (std::size_t i = 1; i < tops.size(); ++i) {
        const bool is_rival = tops[i] != 0 && score(tops[i]) >= score(tops[0]) * 0.75;
        if (is_rival && tops[i] > up && tops[i] < at(up).end) ++inside;
      }
      if (inside >= 3) return up;
    }
    return tops[0];
  }

  // Up to where what it stands in adds nothing, or less.
  std::uint32_t whole_of(std::uint32_t top) const {
    double last = score(top);
    const double least = last / 3;
    for (std::uint32_t up = at(top).parent; up != 0 && at(up).tag != GUMBO_TAG_BODY;
         up = at(up).parent) {
      if (!has_points_[up]) continue;
      const double its = score(up);
      if (its < least) break;
      if (its > last) {
        top = up;
        break;
      }
      last = its;
    }
    top = with_equals(top);
    while (is_only_child(top) && at(at(top).parent).tag != GUMBO_TAG_BODY) top = at(top).parent;
    return top;
  }

  // A text in several pieces, each in an element of its own: up to where they all are.
  std::uint32_t with_equals(std::uint32_t top) const {
    for (std::uint32_t up = at(top).parent; up != 0; up = at(up).parent) {
      const double more = sums_[up] - sums_[top];
      const PageCounts& all = at(up).counts;
      const std::uint32_t text = all.text - at(top).counts.text;
      const std::uint32_t linked = all.linked - at(top).counts.linked;
      if (more > sums_[top] * kEqualShare && linked < text * kEqualLinks) top = up;
    }
    return top;
  }

  bool is_only_child(std::uint32_t i) const {
    const std::uint32_t parent = at(i).parent;
    return parent != 0 && parent + 1 == i && at(parent).end == at(i).end;
  }

  std::vector<bool> with_siblings(std::uint32_t top) const {
    std::vector<bool> is_main(elements_.size());
    const std::uint32_t parent = at(top).parent;
    const double least = std::max(10.0, score(top) * 0.2);
    for (std::uint32_t i = parent + 1; i < at(parent).end; i = at(i).end) {
      if (around_[i] || (i != top && !belongs_to(i, top, least))) continue;
      for (std::uint32_t inside = i; inside < at(i).end; ++inside) {
        is_main[inside] = !around_[inside];
      }
    }
    return is_main;
  }

  bool belongs_to(std::uint32_t i, std::uint32_t top, double least) const {
    const PageElement& element = at(i);
    const auto names = [](const PageElement& it) { return attribute_of(*it.element, "class"); };
    const bool same = !names(at(top)).empty() && names(element) == names(at(top));
    if (score(i) + (same ? score(top) * 0.2 : 0) >= least) return true;
    if (element.tag != GUMBO_TAG_P) return false;
    const double density = element.counts.link_density();
    return element.counts.text > 65 ? density < 0.25 : element.counts.text > 0 && density == 0;
  }

  const std::vector<PageElement>& elements_;
  std::vector<bool> around_;
  std::vector<double> points_;
  std::vector<bool> has_points_;
  std::vector<double> sums_;  // of all paragraphs inside
};

}  // namespace

std::vector<bool> main_text_of(const PageOutline& outline) {
  return MainText(outline).find();
}

}  // namespace quern::worker

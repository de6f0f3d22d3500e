#include "worker/web_page_clean.h"

#include <algorithm>

namespace quern::worker {
namespace {

// With so many commas it is somebody's text, whatever it looks like.
constexpr std::uint32_t kProseCommas = 10;

bool may_be_a_box(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_HEADER:
      return true;
    default:
      return false;
  }
}

// A table of things, not of layout: it says so, or has heads.
bool is_data_table(const std::vector<PageElement>& elements, std::uint32_t i) {
  for (std::uint32_t inside = i + 1; inside < elements[i].end; ++inside) {
    const GumboTag tag = elements[inside].tag;
    if (tag == GUMBO_TAG_TABLE) return false;
    if (tag == GUMBO_TAG_TH || tag == GUMBO_TAG_CAPTION || tag == GUMBO_TAG_THEAD) return true;
  }
  return false;
}

bool is_list(const PageElement& element) {
  return element.tag == GUMBO_TAG_UL || element.tag == GUMBO_TAG_OL;
}

bool is_box(const PageElement& element) {
  const PageCounts& counts = element.counts;
  const double density = counts.link_density();
  const bool bad = element.hints.negative && !element.hints.positive;
  const bool good = element.hints.positive && !element.hints.negative;
  if (bad && counts.text < 1000) return true;
  if (counts.commas >= kProseCommas) return false;
  if (counts.inputs > counts.paragraphs / 3 && counts.inputs > 0) return true;
  if (!is_list(element) && counts.list_items > counts.paragraphs + 100) return true;
  if (!is_list(element) && !good && density > 0.2 && counts.text > 0) return true;
  return (good || is_list(element)) && density > 0.5;
}

}  // namespace

void clean_main_text(const std::vector<PageElement>& elements, std::vector<bool>& is_main) {
  for (std::uint32_t i = 0; i < elements.size();) {
    const PageElement& element = elements[i];
    const bool is_inner = is_main[i] && i > 0 && is_main[element.parent];
    const bool is_table = element.tag == GUMBO_TAG_TABLE && is_data_table(elements, i);
    if (is_table) {
      i = element.end;
      continue;
    }
    if (!is_inner || !may_be_a_box(element.tag) || !is_box(element)) {
      ++i;
      continue;
    }
    std::fill(is_main.begin() + i, is_main.begin() + element.end, false);
    i = element.end;
  }
}

}  // namespace quern::worker

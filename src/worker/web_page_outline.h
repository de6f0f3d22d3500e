// PageOutline: what can be read on a web page, as a flat list in its order: elements begin and end,
// texts stand between. Each element knows how much text is in it, and how much of that in links.
//
// What nobody sees is not there: scripts, styles, templates, drawings, and what is hidden by its
// own word (hidden, aria-hidden, display:none), unless that is most of the page: scripts show it
// then. What is in <noscript> is there only where nothing else is. Lifetime: that of the tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/html_tree.h"

namespace quern::worker {

// What the names of an element (class, id, role) say about it.
struct PageHints {
  bool unlikely = false;  // to be of the text
  bool negative = false;
  bool positive = false;
};

// Of all that is inside of an element, in characters and pieces.
struct PageCounts {
  std::uint32_t text = 0;  // without blanks; letters of scripts that need none count more
  std::uint32_t linked = 0;
  std::uint32_t commas = 0;
  std::uint32_t paragraphs = 0;
  std::uint32_t list_items = 0;
  std::uint32_t images = 0;
  std::uint32_t inputs = 0;
  std::uint32_t embeds = 0;
  std::uint32_t headings_text = 0;
  std::uint32_t blocks = 0;

  void add(const PageCounts& other);
  void subtract(const PageCounts& other);
  // The share of its text that is in links, from 0 to 1.
  double link_density() const { return text == 0 ? 0 : static_cast<double>(linked) / text; }
};

struct PageElement {
  const GumboElement* element = nullptr;
  GumboTag tag = GUMBO_TAG_UNKNOWN;
  std::uint32_t parent = 0;  // its own number for the first
  std::uint32_t end = 0;     // the number behind the last that is inside of it
  PageHints hints;
  bool is_hidden = false;
  bool is_noscript = false;
  PageCounts counts;
  std::uint32_t own_text = 0;  // without that of the elements inside
};

enum class PageEventKind : std::uint8_t { Open, Close, Text };

struct PageEvent {
  PageEventKind kind = PageEventKind::Text;
  std::uint32_t element = 0;
  std::string_view text;
};

struct PageOutline {
  std::vector<PageElement> elements;  // the first is the page's; each before those inside of it
  std::vector<PageEvent> events;
};

PageOutline outline_of(const HtmlTree& tree);

// Lines that end before and behind it: 2 for paragraphs, 1 for other blocks, 0 for the rest.
int lines_around(GumboTag tag);

inline bool is_heading(GumboTag tag) {
  return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6;
}

}  // namespace quern::worker

// Whether somebody who asks for a page or a site gets it now. Pure: the rules of docs/crawl.md.
#pragma once

namespace quern::crawl {

struct Asked {
  bool whole = false;  // the site, from this page on; else the page alone
  bool force = false;  // due or not
};
// What is known, in the collection that is asked for.
struct Known {
  bool site_has_pages = false;
  bool page_known = false;
  bool page_due = true;
  bool site_due = true;  // also where it has no period
};

inline bool is_accepted(const Asked& asked, const Known& known) {
  if (asked.force) return true;
  if (asked.whole || !known.site_has_pages) return known.site_due;
  return !known.page_known || known.page_due;
}

}  // namespace quern::crawl

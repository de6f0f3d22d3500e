// What a page links to: resolved, judged, sorted by site. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "crawl/crawl.h"
#include "crawl/page.h"

namespace quern::crawl {

struct FoundLinks {
  std::map<std::string, std::vector<Candidate>> by_site;
  std::string canonical;  // another page of the crawl; empty: it is its own
  bool noindex = false;
};
// Of its fetch (a redirect, what its head says), and of the step Page: JSON. What is no such JSON
// has no links.
FoundLinks find_links(const Page& page, const Scope& scope, const std::string& of_step,
                      int year_now);
// Those that robots.txt names, of a page where a crawl begins.
void add_sitemaps(const std::vector<std::string>& sitemaps, const Page& page, const Scope& scope,
                  FoundLinks& found);

}  // namespace quern::crawl

// Lists of pages, and why an address is in or out: for people.
#pragma once

#include "crawl/crawl.h"

namespace quern::crawl {

struct PageFilter {
  std::optional<tree::JobId> job;
  std::string site;                // empty: all
  std::optional<PageState> state;  // none: all
  std::string kind;                // of those that are out: why_kind; empty: all
  PageId after;
  std::size_t limit = 200;
};
Result<std::vector<Page>> list_pages(store::Tx& tx, const PageFilter& filter);

// Everything that is known of an address in a crawl, in sentences.
struct UrlStory {
  std::string url;  // canonical
  bool in = false;
  std::string verdict;  // one sentence
  std::vector<std::string> facts;
  std::optional<Page> page;
};
Result<UrlStory> explain_url(store::Tx& tx, const std::string& collection, const std::string& url,
                             int year_now);

}  // namespace quern::crawl

// The row of a page, as it is loaded. For use inside crawl only.
#pragma once

#include "crawl/page.h"

namespace quern::crawl {

#define QUERN_PAGE                                                                                \
  "p.id, p.collection, p.site, p.url, p.job, p.state, p.why, p.why_kind, p.want, p.source,"       \
  " p.depth, p.hops, p.referrer, p.fetches, p.status, p.etag, p.last_modified, p.digest, p.type," \
  " p.file, p.old_file, p.capture, p.links, p.fetched_us, p.next_us"
inline constexpr std::size_t kPageColumns = 25;

Page page_of(const store::Row& row);

}  // namespace quern::crawl

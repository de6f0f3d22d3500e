// Captures: what was fetched, and where it stands in the archive. An index of it as others read it
// (CDXJ), and the way back from an address and a time to the bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crawl/page.h"
#include "web/warc.h"

namespace quern::crawl {

inline constexpr std::size_t kCapturesListed = 1000;

struct Capture {
  CaptureId id;
  tree::CollectionId collection;
  NewCapture at;  // all that is stored of it
  std::optional<PageId> page;
};

Result<std::optional<NewCapture>> find_capture(store::Tx& tx, CaptureId id);
// Of one address, the newest first.
Result<std::vector<Capture>> list_captures(store::Tx& tx, const std::string& collection,
                                           const std::string& url, std::size_t limit);
// All of a collection, by SURT and time: the order of an index. Behind a place in it.
struct IndexPlace {
  std::string surt;
  std::int64_t at_us = 0;
  CaptureId id;
};
Result<std::vector<Capture>> list_index(store::Tx& tx, tree::CollectionId collection,
                                        const IndexPlace& after, std::size_t limit);
// The one nearest to a time that has bytes or refers to some; of any collection where that is
// empty.
Result<std::optional<Capture>> nearest_capture(store::Tx& tx, const std::string& collection,
                                               const std::string& url, std::int64_t at_us);
// The capture with the bytes that a revisit refers to; `url`: of what it refers to, where that is
// another address.
Result<std::optional<Capture>> original_of(store::Tx& tx, const Capture& revisit,
                                           const std::string& url = "");
// The capture of an address at an instant that has bytes.
Result<std::optional<Capture>> find_response(store::Tx& tx, tree::CollectionId collection,
                                             const std::string& url, std::int64_t at_us);
// The one that says the same: of one address, at one instant, with that payload.
Result<std::optional<CaptureId>> find_same(store::Tx& tx, tree::CollectionId collection,
                                           const NewCapture& capture);
// Names of WARC files that a collection's captures lie in.
Result<std::vector<std::string>> list_warcs(store::Tx& tx, tree::CollectionId collection);

// The end of what is known of a file.
Result<std::int64_t> warc_end(store::Tx& tx, const std::string& warc);

web::CdxjLine cdxj_of(const NewCapture& capture);

}  // namespace quern::crawl

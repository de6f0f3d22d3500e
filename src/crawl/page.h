// Pages: addresses that a collection has, wants or does not take, each once, and how they move.
//
//   admit() -> 1 waiting -> record_fetch() -> 2 fetched -> settle_page() -> 3 in, or 4 out (why)
//                                          \-> 4 out                admit() again -> 1 …
//
// Guarantee: a canonical address is one row of a collection; it waits for at most one fetch. How:
// whatever changes pages of a site runs behind the lock of the site's partition, and the page, its
// item, its capture, its root file and the sums of its crawl change in one transaction.
//
// Functions that take a Tx& run on the writer behind that lock, or in a read where they only load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crawl/site.h"
#include "tree/child.h"

namespace quern::crawl {

using PageId = Id<struct PageTag>;
using CaptureId = Id<struct CaptureTag>;

inline constexpr std::size_t kAdmittedAtOnce = 500;

enum class PageState { Waiting = 1, Fetched = 2, In = 3, Out = 4 };
std::string_view to_string(PageState state);
// What is wanted of a page: bits.
inline constexpr int kIndex = 1;
inline constexpr int kCrawl = 2;

struct Page {
  PageId id;
  tree::CollectionId collection;
  SiteId site;
  std::string url;
  tree::JobId job;
  PageState state = PageState::Waiting;
  std::string why;
  std::string why_kind;
  int want = kIndex | kCrawl;
  std::string source;
  std::int64_t depth = 0;
  std::int64_t hops = 0;
  std::optional<PageId> referrer;
  std::int64_t fetch = 0;
  int status = 0;
  std::string etag;
  std::string last_modified;
  std::string digest;  // raw SHA-256
  std::string type;
  std::optional<tree::FileId> file;
  std::optional<tree::FileId> old_file;
  std::optional<CaptureId> capture;
  std::string links;
  std::int64_t fetched_us = 0;
  std::int64_t next_us = 0;
};

// 16 bytes that stand for an address.
std::string page_key(const std::string& url);

struct Candidate {
  std::string url;
  std::int64_t depth = 0;
  std::int64_t hops = 0;
  std::string source = "link";
  std::optional<PageId> referrer;
  int want = kIndex | kCrawl;
  // Of one that is known: fetched again though this crawl has had it; only where it is due.
  bool again = false;
  bool only_due = false;
};
struct AdmitOrder {
  Site site;
  tree::JobId job;
  tree::CollectionId collection;
  std::int64_t pages_max = 0;         // of the crawl
  std::vector<Candidate> candidates;  // at most kAdmittedAtOnce
};
struct Admitted {
  std::int64_t added = 0;
  std::int64_t over = 0;         // beyond pages_max
  std::int64_t not_due = 0;      // known, and not yet
  std::vector<PageId> reopened;  // in, but their links are wanted now, too
};
Result<Admitted> admit(store::Tx& tx, const AdmitOrder& order);

// A page whose bytes are in hand already, of that time: it waits for nothing but record_fetch().
// None where it is open for a crawl, where this one has had it, and where what is known of it is
// newer. The candidates of the order do not matter.
Result<std::optional<Page>> put_page(store::Tx& tx, const AdmitOrder& order, const std::string& url,
                                     std::int64_t at_us);

// Conflict where the crawl has ended. Whoever ends or removes it waits for this transaction.
Result<> expect_open(store::Tx& tx, tree::JobId job);

// A stored answer; where it stands in which WARC file.
struct NewCapture {
  std::string url;
  std::string surt;
  std::int64_t at_us = 0;
  int status = 0;
  std::string type;
  std::string digest;
  bool revisit = false;
  std::string warc;
  std::int64_t warc_at = 0;
  std::int64_t warc_bytes = 0;
  std::int64_t warc_end = 0;
};
// Of a page, or of what belongs to a site (robots.txt).
Result<CaptureId> add_capture(store::Tx& tx, tree::CollectionId collection,
                              std::optional<PageId> page, const NewCapture& capture);

// What became of a fetch.
struct FetchRecord {
  Page page;  // as it was when it was taken
  std::optional<NewCapture> capture;
  std::optional<CaptureId> captured;  // it has one already
  // One of: a new root; the same as before; links only (a redirect); out.
  std::optional<tree::AddRoot> root;  // its index is set here
  bool unchanged = false;
  std::string links;
  std::string why;
  std::string why_kind;
  bool failed = false;  // out, because it could not be had
  bool gone = false;    // what it was before goes, too
  int status = 0;
  std::string etag;
  std::string last_modified;
  std::string digest;
  std::string type;
  std::int64_t bytes = 0;
  std::int64_t period_us = 0;  // until it is due again
  std::int64_t leave_alone_us = 0;
};
struct Recorded {
  bool stale = false;  // another fetch of it was recorded, or nobody wants it any more
  PageState state = PageState::Waiting;
  std::optional<tree::AddedFile> root;
};
Result<Recorded> record_fetch(store::Tx& tx, const FetchRecord& record);

// Its links were followed, its file is what it will be: it is in, or out. What it was before goes;
// true when nothing of that is left, else it must be called again. Behind the locks of its site and
// of the shard of its old file. Changes nothing where it is not Fetched.
struct Settle {
  PageId page;
  std::int64_t fetch = 0;
  std::string why;  // it is out; empty: as its fetch said
  std::string why_kind;
  bool drop_file = false;  // its file goes, too: it is not the one to be found
};
Result<bool> settle_page(store::Tx& tx, const Settle& settle);

// A page that a whole crawl did not meet: gone. False: call again. As settle_page().
Result<bool> drop_page(store::Tx& tx, PageId page, const std::string& why);

// Waiting pages of a crawl that was canceled, up to kAdmittedAtOnce of a site; how many.
Result<std::int64_t> cancel_pages(store::Tx& tx, tree::JobId job, SiteId site,
                                  const std::string& why);

Result<Page> load_page(store::Tx& tx, PageId id);  // Missing
Result<std::optional<Page>> find_page(store::Tx& tx, tree::CollectionId collection,
                                      const std::string& url);
// A fetched page whose file is ingested or that needs none, with the state of the file.
struct ReadyPage {
  Page page;
  bool file_failed = false;
  bool file_document = false;
  std::string links;  // its file's, beside its own
  std::optional<tree::ShardId> old_shard;
  std::optional<tree::ShardId> shard;
};
Result<std::optional<ReadyPage>> load_ready(store::Tx& tx, PageId id);
// Those among the next fetched pages behind an id.
struct ReadyPages {
  std::vector<PageId> pages;
  PageId last;        // that was looked at
  bool more = false;  // behind it there may be others
};
Result<ReadyPages> list_ready(store::Tx& tx, PageId after, std::size_t looked_at_max);
// Those whose file is one of these.
Result<std::vector<PageId>> list_ready(store::Tx& tx, const std::vector<tree::FileId>& files);

}  // namespace quern::crawl

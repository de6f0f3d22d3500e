#include "crawl/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/crash.h"
#include "blob/digest.h"
#include "crawl/page_row.h"
#include "queue/item.h"
#include "tree/remove.h"

namespace quern::crawl {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kShallowest = 1000;

constexpr Sql kKnown{
    "SELECT id, key, state, job, fetches, want, next_us FROM page WHERE collection = $1 AND key = "
    "$2",
    "SELECT p.id, p.key, p.state, p.job, p.fetches, p.want, p.next_us"
    " FROM unnest($1::bigint[], $2::bytea[]) AS w (collection, key)"
    " JOIN page AS p ON p.collection = w.collection AND p.key = w.key"};
constexpr Sql kInsert{
    "INSERT INTO page (collection, site, key, url, job, state, want, source, depth, hops, referrer,"
    " fetches, next_us, found_us) VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, 1, 0, $11)"
    " RETURNING id, key",
    "INSERT INTO page (collection, site, key, url, job, state, want, source, depth, hops, referrer,"
    " fetches, next_us, found_us)"
    " SELECT w.collection, w.site, w.key, w.url, w.job, 1, w.want, w.source, w.depth, w.hops,"
    " w.referrer, 1, 0, w.now_us FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[],"
    " $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],"
    " $11::bigint[]) AS w (collection, site, key, url, job, want, source, depth, hops, referrer,"
    " now_us) RETURNING id, key"};
constexpr Sql kAgain{
    "UPDATE page SET job = $2, state = 1, want = $3, source = $4, depth = $5, hops = $6,"
    " referrer = $7, fetches = $8, why = NULL, why_kind = NULL, links = NULL WHERE id = $1"};
constexpr Sql kWantMore{"UPDATE page SET want = $2, state = $3 WHERE id = $1"};
constexpr Sql kAdmittedSum{
    "SELECT CAST(coalesce(sum(admitted), 0) AS BIGINT) FROM crawl_site WHERE job = $1"};
// Whoever ends the crawl waits for us, and then sees what we admitted.
constexpr Sql kHasEnded{"SELECT ended FROM crawl WHERE job = $1",
                        "SELECT ended FROM crawl WHERE job = $1 FOR SHARE"};
// A crawl's part of a site is there from its first page on.
constexpr Sql kFirst{
    "INSERT INTO crawl_site (job, site, admitted, open, inside, unchanged, failed, bytes)"
    " VALUES ($1, $2, 0, 0, 0, 0, 0, 0) ON CONFLICT (job, site) DO NOTHING"};
constexpr Sql kCount{
    "UPDATE crawl_site SET admitted = admitted + $3, open = open + $4, inside = inside + $5,"
    " unchanged = unchanged + $6, failed = failed + $7, bytes = bytes + $8"
    " WHERE job = $1 AND site = $2"};
constexpr Sql kAddCapture{
    "INSERT INTO capture (collection, url, surt, at_us, status, type, digest, revisit, warc,"
    " warc_at, warc_bytes, warc_end, page) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
    " $12, $13) RETURNING id"};
constexpr Sql kCapturedAt{"SELECT at_us FROM capture WHERE id = $1"};
constexpr Sql kRecord{
    "UPDATE page SET state = $2, why = $3, why_kind = $4, status = $5, etag = $6,"
    " last_modified = $7, digest = $8, type = $9, file = $10, old_file = $11, capture = $12,"
    " links = $13, fetched_us = $14, next_us = $15 WHERE id = $1"};
constexpr Sql kSettle{
    "UPDATE page SET state = $2, why = $3, why_kind = $4, file = $5, old_file = NULL,"
    " links = NULL WHERE id = $1"};
constexpr Sql kForgetOld{"UPDATE page SET old_file = NULL WHERE id = $1"};
constexpr Sql kCancel{
    "UPDATE page SET state = 4, why = $4, why_kind = 'canceled'"
    " WHERE id IN (SELECT id FROM page WHERE job = $1 AND state = 1 AND site = $2 LIMIT $3)"};

store::Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::optional<std::string> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

struct Delta {
  std::int64_t admitted = 0;
  std::int64_t open = 0;
  std::int64_t inside = 0;
  std::int64_t unchanged = 0;
  std::int64_t failed = 0;
  std::int64_t bytes = 0;
};
Result<> count(Tx& tx, tree::JobId job, SiteId site, const Delta& delta) {
  TRY(tx.exec(kCount, job, site, delta.admitted, delta.open, delta.inside, delta.unchanged,
              delta.failed, delta.bytes));
  return {};
}

queue::NewItem item_of(PageId page, std::int64_t fetch, std::int64_t depth) {
  queue::NewItem item;
  item.name = fmt::format("{}-{}", page, fetch);
  item.data = fmt::format(R"({{"page":{},"fetch":{}}})", page, fetch);
  item.priority = kShallowest - std::min(depth, kShallowest);
  return item;
}

struct Known {
  PageId id;
  PageState state = PageState::Waiting;
  tree::JobId job;
  std::int64_t fetch = 0;
  int want = 0;
  std::int64_t next_us = 0;
};

class Admission {
 public:
  Admission(Tx& tx, const AdmitOrder& order) : tx_(tx), order_(order) {}

  Result<Admitted> run() {
    CHECK(order_.candidates.size() <= kAdmittedAtOnce);
    TRY(expect_open(tx_, order_.job));
    TRY_ASSIGN(now_us_, tx_.now_us());
    TRY_ASSIGN(const auto before, tx_.value<std::int64_t>(kAdmittedSum, order_.job));
    room_ = std::max<std::int64_t>(order_.pages_max - before, 0);
    TRY(load());
    for (const auto& [key, candidate] : wanted_) TRY(sort_out(key, *candidate));
    TRY(insert());
    TRY(tx_.exec(kFirst, order_.job, order_.site.id));
    TRY(count(tx_, order_.job, order_.site.id,
              {.admitted = done_.added,
               .open = done_.added + static_cast<std::int64_t>(done_.reopened.size())}));
    if (items_.items.empty()) return done_;
    items_.partition = order_.site.partition;
    TRY(std::move(queue::apply(tx_, std::span<const queue::PutItems>(&items_, 1))[0]));
    crash_point("crawl.pages.admitted");
    return done_;
  }

 private:
  Result<> load() {
    for (const Candidate& candidate : order_.candidates) {
      wanted_.emplace(page_key(candidate.url), &candidate);  // the first one counts
    }
    Bulk bulk;
    for (const auto& [key, candidate] : wanted_) bulk.add(order_.collection, bytes_of(key));
    TRY_ASSIGN(const Rows rows, tx_.bulk(kKnown, bulk));
    for (const Row row : rows) {
      known_[row.get<std::string>(1)] = {
          row.get<PageId>(0),      static_cast<PageState>(row.get<int>(2)),
          row.get<tree::JobId>(3), row.get<std::int64_t>(4),
          row.get<int>(5),         row.get<std::int64_t>(6)};
    }
    return {};
  }

  Result<> sort_out(const std::string& key, const Candidate& candidate) {
    const auto found = known_.find(key);
    if (found == known_.end()) {
      if (room_ == 0) {
        ++done_.over;
        return {};
      }
      --room_;
      ++done_.added;
      fresh_.emplace_back(&key, &candidate);
      return {};
    }
    const Known& page = found->second;
    const bool open = page.state == PageState::Waiting || page.state == PageState::Fetched;
    const bool ours = page.job == order_.job && !candidate.again;
    if (open || ours) return want_more(page, candidate, open);
    if (candidate.only_due && page.next_us > now_us_) {
      ++done_.not_due;
      return {};
    }
    if (room_ == 0) {
      ++done_.over;
      return {};
    }
    --room_;
    ++done_.added;
    TRY(tx_.exec(kAgain, page.id, order_.job, candidate.want, candidate.source, candidate.depth,
                 candidate.hops, candidate.referrer, page.fetch + 1));
    items_.items.push_back(item_of(page.id, page.fetch + 1, candidate.depth));
    return {};
  }

  // It was only to be indexed, and now its links are wanted, too.
  Result<> want_more(const Known& page, const Candidate& candidate, bool open) {
    const int want = page.want | candidate.want;
    if (want == page.want) return {};
    const PageState state = open || page.state == PageState::Out ? page.state : PageState::Fetched;
    TRY(tx_.exec(kWantMore, page.id, want, static_cast<int>(state)));
    if (!open && state == PageState::Fetched) done_.reopened.push_back(page.id);
    return {};
  }

  Result<> insert() {
    Bulk bulk;
    for (const auto& [key, c] : fresh_) {
      bulk.add(order_.collection, order_.site.id, bytes_of(*key), c->url, order_.job, c->want,
               c->source, c->depth, c->hops, c->referrer, now_us_);
    }
    TRY_ASSIGN(const Rows rows, tx_.bulk(kInsert, bulk));
    std::map<std::string, PageId> ids;
    for (const Row row : rows) ids[row.get<std::string>(1)] = row.get<PageId>(0);
    CHECK(ids.size() == fresh_.size());
    for (const auto& [key, c] : fresh_) items_.items.push_back(item_of(ids.at(*key), 1, c->depth));
    return {};
  }

  Tx& tx_;
  const AdmitOrder& order_;
  std::int64_t now_us_ = 0;
  std::int64_t room_ = 0;
  std::map<std::string, const Candidate*> wanted_;
  std::map<std::string, Known> known_;
  std::vector<std::pair<const std::string*, const Candidate*>> fresh_;
  queue::PutItems items_;
  Admitted done_;
};

// The old version of a page, while a newer one is not settled yet.
std::optional<tree::FileId> old_of(const Page& page) {
  return page.file ? page.file : page.old_file;
}

Result<std::optional<tree::AddedFile>> add_root(Tx& tx, const FetchRecord& record,
                                                std::optional<CaptureId> capture) {
  if (!record.root) return std::optional<tree::AddedFile>();
  tree::AddRoot root = *record.root;
  CHECK(capture.has_value());
  root.index = capture->value;
  std::vector<Result<tree::AddedFile>> added = tree::apply(tx, std::span(&root, 1));
  TRY_ASSIGN(tree::AddedFile file, std::move(added[0]));
  return std::optional<tree::AddedFile>(std::move(file));
}

PageState next_state(const FetchRecord& record) {
  if (record.root || record.unchanged || !record.links.empty()) return PageState::Fetched;
  // What it was before has to go first.
  if (record.gone && old_of(record.page)) return PageState::Fetched;
  return PageState::Out;
}

}  // namespace

std::string_view to_string(PageState state) {
  switch (state) {
    case PageState::Waiting:
      return "waiting";
    case PageState::Fetched:
      return "fetched";
    case PageState::In:
      return "in";
    case PageState::Out:
      return "out";
  }
  return "unknown";
}

std::string page_key(const std::string& url) {
  return blob::sha256_of(url).substr(0, 16);
}

Result<> expect_open(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const auto ended, tx.find_value<bool>(kHasEnded, job));
  if (!ended || *ended) return Error{Errc::Conflict, "the crawl has ended"};
  return {};
}

Result<Admitted> admit(Tx& tx, const AdmitOrder& order) {
  return Admission(tx, order).run();
}

Result<std::optional<Page>> put_page(Tx& tx, const AdmitOrder& order, const std::string& url,
                                     std::int64_t at_us) {
  TRY(expect_open(tx, order.job));
  TRY_ASSIGN(const std::optional<Page> known, find_page(tx, order.collection, url));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const bool open =
      known && (known->state == PageState::Waiting || known->state == PageState::Fetched);
  // Ours, from before a death.
  const bool ours = open && known->job == order.job && known->state == PageState::Waiting;
  if (ours) return known;
  if (open || (known && known->job == order.job)) return std::optional<Page>();
  if (known && known->capture) {
    TRY_ASSIGN(const auto has_us, tx.find_value<std::int64_t>(kCapturedAt, *known->capture));
    if (has_us && *has_us > at_us) return std::optional<Page>();
  }
  TRY(tx.exec(kFirst, order.job, order.site.id));
  TRY(count(tx, order.job, order.site.id, {.admitted = 1, .open = 1}));
  const std::string source = "archive";
  if (known) {
    TRY(tx.exec(kAgain, known->id, order.job, kIndex, source, known->depth, known->hops,
                known->referrer, known->fetch + 1));
  } else {
    Bulk bulk;
    const std::string key = page_key(url);
    bulk.add(order.collection, order.site.id, bytes_of(key), url, order.job, kIndex, source,
             std::int64_t{0}, std::int64_t{0}, std::optional<PageId>(), now_us);
    TRY(tx.bulk(kInsert, bulk));
  }
  return find_page(tx, order.collection, url);
}

Result<CaptureId> add_capture(Tx& tx, tree::CollectionId collection, std::optional<PageId> page,
                              const NewCapture& c) {
  return tx.value<CaptureId>(kAddCapture, collection, c.url, c.surt, c.at_us, c.status, c.type,
                             c.digest, c.revisit, c.warc, c.warc_at, c.warc_bytes, c.warc_end,
                             page);
}

Result<Recorded> record_fetch(Tx& tx, const FetchRecord& record) {
  TRY_ASSIGN(const Page page, load_page(tx, record.page.id));
  Recorded done{.state = page.state};
  if (page.state != PageState::Waiting || page.fetch != record.page.fetch) {
    done.stale = true;
    return done;
  }
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::optional<CaptureId> capture = record.captured;
  if (record.capture) {
    TRY_ASSIGN(capture, add_capture(tx, page.collection, page.id, *record.capture));
  }
  TRY_ASSIGN(done.root, add_root(tx, record, capture));
  done.state = next_state(record);
  const bool kept = record.unchanged || record.failed;
  std::optional<tree::FileId> file = kept ? page.file : std::nullopt;
  if (done.root) file = done.root->id;
  const std::optional<tree::FileId> old = kept ? page.old_file : old_of(page);
  const bool out = done.state == PageState::Out;
  CHECK(!out || !record.why.empty());
  const bool succeeded = record.root || record.unchanged;
  const std::string& digest = record.digest.empty() && kept ? page.digest : record.digest;
  store::Param digest_param(bytes_of(digest));
  digest_param.null = digest.empty();
  const auto kept_capture = record.unchanged ? page.capture : capture;
  TRY(tx.exec(kRecord, page.id, static_cast<int>(done.state), or_null(record.why),
              or_null(record.why_kind), record.status, or_null(record.etag),
              or_null(record.last_modified), digest_param,
              or_null(record.type.empty() ? page.type : record.type), file, old, kept_capture,
              or_null(record.links), now_us, succeeded ? now_us + record.period_us : page.next_us));
  if (record.leave_alone_us > 0) TRY(leave_alone(tx, page.site, record.leave_alone_us));
  TRY(count(tx, page.job, page.site,
            {.open = out ? -1 : 0,
             .unchanged = record.unchanged ? 1 : 0,
             .failed = record.failed ? 1 : 0,
             .bytes = record.bytes}));
  crash_point("crawl.fetch.recorded");
  return done;
}

Result<bool> settle_page(Tx& tx, const Settle& settle) {
  TRY_ASSIGN(const Page page, load_page(tx, settle.page));
  if (page.state != PageState::Fetched || page.fetch != settle.fetch) return true;
  const bool drops = settle.drop_file && page.file;
  if (page.old_file) {
    TRY_ASSIGN(const bool gone, tree::remove_root(tx, *page.old_file));
    if (!gone) return false;
    TRY(tx.exec(kForgetOld, page.id));
    if (drops) return false;  // behind the lock of another shard
  } else if (drops) {
    TRY_ASSIGN(const bool gone, tree::remove_root(tx, *page.file));
    if (!gone) return false;
  }
  std::string why = settle.why.empty() ? page.why : settle.why;
  std::string kind = settle.why.empty() ? page.why_kind : settle.why_kind;
  if (why.empty() && !page.file) {
    why = "the crawl that fetched it was deleted";
    kind = "gone";
  }
  const bool in = why.empty();
  const PageState state = in ? PageState::In : PageState::Out;
  TRY(tx.exec(kSettle, page.id, static_cast<int>(state), or_null(why), or_null(kind),
              drops ? std::nullopt : page.file));
  TRY(count(tx, page.job, page.site, {.open = -1, .inside = in ? 1 : 0}));
  crash_point("crawl.page.settled");
  return true;
}

Result<bool> drop_page(Tx& tx, PageId id, const std::string& why) {
  TRY_ASSIGN(const Page page, load_page(tx, id));
  if (page.state != PageState::In && page.state != PageState::Out) return true;
  if (page.file) {
    TRY_ASSIGN(const bool gone, tree::remove_root(tx, *page.file));
    if (!gone) return false;
  }
  TRY(tx.exec(kSettle, id, static_cast<int>(PageState::Out), why, std::string("gone"),
              std::optional<tree::FileId>()));
  crash_point("crawl.page.dropped");
  return true;
}

Result<std::int64_t> cancel_pages(Tx& tx, tree::JobId job, SiteId site, const std::string& why) {
  TRY_ASSIGN(const std::int64_t canceled, tx.exec(kCancel, job, site, kAdmittedAtOnce, why));
  TRY(count(tx, job, site, {.open = -canceled}));
  return canceled;
}

}  // namespace quern::crawl

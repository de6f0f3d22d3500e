#include "crawl/check.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"
#include "crawl/crawl.h"
#include "io/file.h"
#include "web/archive.h"
#include "web/warc_message.h"

namespace quern::crawl {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kProblemsMax = 1000;

// Records of a file do not overlap: the last one ends last.
constexpr Sql kNextWarc{
    "SELECT warc, warc_at, warc_end, url FROM capture"
    " WHERE warc = (SELECT min(warc) FROM capture WHERE warc > $1) ORDER BY warc_at DESC LIMIT 1"};
constexpr Sql kNextCrawl{
    "SELECT c.job, CAST(coalesce((SELECT sum(open) FROM crawl_site WHERE job = c.job), 0)"
    " AS BIGINT)"
    " FROM crawl AS c JOIN job AS j ON j.id = c.job WHERE c.job > $1 AND NOT j.deleting"
    " ORDER BY c.job LIMIT 1"};
constexpr Sql kNoted{
    "SELECT s.id, s.name, c.open FROM crawl_site AS c JOIN site AS s ON s.id = c.site"
    " WHERE c.job = $1"};
constexpr Sql kCounted{
    "SELECT site, count(*) FROM page WHERE job = $1 AND state IN (1, 2) GROUP BY site"};
// Of a page that waits: whether its item will be worked on.
constexpr Sql kPages{
    "SELECT p.id, p.url, p.state, p.file IS NOT NULL, EXISTS (SELECT 1 FROM item AS i"
    " WHERE p.state = 1 AND i.partition = s.partition AND i.name = p.id || '-' || p.fetches"
    " AND i.status IN (1, 2, 5)) FROM page AS p JOIN site AS s ON s.id = p.site"
    " WHERE p.id > $1 ORDER BY p.id LIMIT $2"};

struct LastRecord {
  std::string warc;
  std::int64_t at = 0;
  std::int64_t end = 0;
  std::string url;
};

class Check {
 public:
  Check(store::Readers& readers, const std::filesystem::path& warcs)
      : readers_(readers), warcs_(warcs) {}

  Result<std::vector<std::string>> run() {
    TRY(check_archive());
    TRY(check_sums());
    TRY(check_pages());
    return std::move(problems_);
  }

 private:
  void say(std::string problem) {
    if (problems_.size() < kProblemsMax) problems_.push_back(std::move(problem));
  }

  Result<> check_archive() {
    std::string after;
    while (true) {
      auto next = [&after](Tx& tx) -> Result<std::optional<LastRecord>> {
        TRY_ASSIGN(const Rows rows, tx.query(kNextWarc, after));
        if (rows.empty()) return std::optional<LastRecord>();
        const Row row = rows[0];
        return std::optional(LastRecord{row.get<std::string>(0), row.get<std::int64_t>(1),
                                        row.get<std::int64_t>(2), row.get<std::string>(3)});
      };
      TRY_ASSIGN(const std::optional<LastRecord> last, readers_.run(next));
      if (!last) return {};
      const Result<> read = check_record(*last);
      if (!read.ok()) say(fmt::format("archive {}: {}", last->warc, read.error().message()));
      after = last->warc;
    }
  }

  Result<> check_record(const LastRecord& last) const {
    const std::filesystem::path file = warcs_ / last.warc;
    std::error_code failed;
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file, failed));
    if (failed) return Error{Errc::Missing, "it is gone, but captures name it"};
    if (bytes < last.end) {
      return Error{Errc::Corrupt,
                   fmt::format("it has {} bytes, but a capture ends at {}", bytes, last.end)};
    }
    TRY_ASSIGN(const std::unique_ptr<web::WarcReader> reader, web::Archive::read_at(file, last.at));
    TRY_ASSIGN(const std::optional<web::WarcRecord> record, reader->next());
    if (!record || record->url != last.url) {
      return Error{Errc::Corrupt,
                   fmt::format("another record than that of {} stands at {}", last.url, last.at)};
    }
    TRY_ASSIGN(const web::RecordCheck checked, web::verify_record(*reader, *record));
    const bool wrong =
        checked.block == web::DigestState::Wrong || checked.payload == web::DigestState::Wrong;
    if (wrong) return Error{Errc::Corrupt, fmt::format("the record at {} has changed", last.at)};
    return {};
  }

  Result<> check_sums() {
    struct Counted {
      tree::JobId job;
      bool too_many = false;
      std::map<SiteId, std::pair<std::string, std::int64_t>> noted;
      std::map<SiteId, std::int64_t> there;
    };
    tree::JobId after;
    while (true) {
      auto count = [&after](Tx& tx) -> Result<std::optional<Counted>> {
        TRY_ASSIGN(const Rows crawls, tx.query(kNextCrawl, after));
        if (crawls.empty()) return std::optional<Counted>();
        Counted counted{.job = crawls[0].get<tree::JobId>(0)};
        counted.too_many = crawls[0].get<std::int64_t>(1) > kOpenPagesCountedMax;
        if (counted.too_many) return std::optional(counted);
        TRY_ASSIGN(const Rows noted, tx.query(kNoted, counted.job));
        for (const Row row : noted) {
          counted.noted[row.get<SiteId>(0)] = {row.get<std::string>(1), row.get<std::int64_t>(2)};
        }
        TRY_ASSIGN(const Rows pages, tx.query(kCounted, counted.job));
        for (const Row row : pages) counted.there[row.get<SiteId>(0)] = row.get<std::int64_t>(1);
        return std::optional(std::move(counted));
      };
      TRY_ASSIGN(const std::optional<Counted> counted, readers_.run(count));
      if (!counted) return {};
      after = counted->job;
      if (counted->too_many) log_info("crawl.check_left_out", {{"job", after.value}});
      for (const auto& [site, noted] : counted->noted) {
        const auto found = counted->there.find(site);
        const std::int64_t there = found == counted->there.end() ? 0 : found->second;
        if (there == noted.second) continue;
        say(fmt::format("crawl {} of {}: {} open pages are noted, {} are there", after, noted.first,
                        noted.second, there));
      }
    }
  }

  Result<> check_pages() {
    PageId after;
    while (true) {
      auto load = [&after](Tx& tx) { return tx.query(kPages, after, kPagesCheckedAtOnce); };
      TRY_ASSIGN(const Rows rows, readers_.run(load));
      for (const Row row : rows) {
        after = row.get<PageId>(0);
        const auto state = static_cast<PageState>(row.get<int>(2));
        const std::string url = row.get<std::string>(1);
        if (state == PageState::In && !row.get<bool>(3)) say(url + " is in, but has no file");
        if (state == PageState::Waiting && !row.get<bool>(4)) {
          say(url + " waits for its fetch, but nobody would ever fetch it");
        }
      }
      if (static_cast<std::int64_t>(rows.size()) < kPagesCheckedAtOnce) return {};
    }
  }

  store::Readers& readers_;
  const std::filesystem::path& warcs_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> check_crawl(store::Readers& readers,
                                             const std::filesystem::path& warcs) {
  return Check(readers, warcs).run();
}

}  // namespace quern::crawl

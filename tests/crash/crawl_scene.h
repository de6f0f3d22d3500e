// CrawlScene: a web site of its own, and `quern crawl` of it by a program that may die.
//
// The first crawl takes nine pages of plain.test and a redirect of redirect.test. Before the second
// one the site changes: a page loses two links, of those that it linked to one answers 404 and
// nobody asks for the other any more, and the rest answers 304.
//
// Threads: one at a time; the programs it starts end with the thread that made it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/sql.h"
#include "support/program.h"
#include "support/test_site.h"

namespace quern::crash {

inline constexpr std::int64_t kGapUs = 20'000;  // of kGap
inline constexpr char kGap[] = "0.02";

// What is in a folder of WARC files, each record read to its end.
struct WarcFolder {
  // Of the answers: "FILE OFFSET", and the address.
  std::map<std::string, std::string> answers;
  std::size_t requests = 0;
  std::string faults;  // half records, wrong digests, other files; empty: none
};
Result<WarcFolder> read_warcs(const std::filesystem::path& folder);

using Start =
    std::function<Result<std::shared_ptr<support::Program>>(const support::ProgramOptions&)>;

class CrawlScene {
 public:
  // `start` starts what may die. `database`: of PostgreSQL; empty: SQLite in the folder.
  CrawlScene(std::filesystem::path folder, Start start, const std::string& database = "");

  // The site as the crawl of this number (1, 2) finds it.
  void set_site(int number);
  // Makes an empty store, so that nothing but a crawl is left to do.
  Result<> prepare() const;
  // The same command, again after each death, until the crawl of this number has ended. `more`:
  // further arguments.
  Result<> crawl(int number, const std::vector<std::string>& more = {});
  // Each site that has a plan is due now.
  Result<> make_due() const;
  // A server that was ordered nothing, again after each death, until the crawl of this number,
  // which a plan begins, has ended.
  Result<> crawl_by_plan(int number);
  // How many plans there are, and how many are due within their period from now.
  Result<std::string> plans() const;
  // Removes a job, again after each death.
  Result<> remove(std::int64_t job);
  // Reads an archive, again after each death: the first crawl of this folder.
  Result<> read_back(const std::filesystem::path& file);
  std::filesystem::path warcs() const { return data() / "warcs"; }
  // What a reader sees; equal for all crawls that went well, whoever died on the way.
  Result<std::string> outcome();
  const support::Environment& environment() const { return environment_; }

 private:
  Result<std::string> run(std::vector<std::string> arguments) const;
  // Whether nothing is left of the crawl of this number but to end it.
  Result<bool> is_fetched(int number) const;
  Result<std::int64_t> ask_store(const store::Sql& question) const;
  // Whether a death is all that has happened to the program that ended so.
  Result<bool> has_died(const support::Program& program, const io::ExitStatus& status);
  // Ends it, by a server that was ordered nothing.
  Result<> end_crawls() const;
  // By the site's own log, of the crawl that has just ended.
  void judge_requests(int number, int deaths);
  void judge_gaps();
  Result<std::string> cdxj(const std::string& text) const;

  std::filesystem::path data() const { return folder_ / "data"; }

  const std::filesystem::path folder_;
  const Start start_;
  support::TestSite site_;
  const std::string database_;  // its address
  support::Environment environment_;
  bool asks_ = true;          // else what it has comes from an archive, without requests
  std::int64_t seen_ = 0;     // requests of the site's log that were judged
  std::size_t repeated_ = 0;  // requests, or answers of an archive, after a death
  std::string story_;
};

}  // namespace quern::crash

// Finder: answers a search, from the segments that are opened here and from searchers elsewhere.
//
// Guarantee: an answer is of whole versions (search/catalog.h) or there is none. Where a searcher
// does not answer, another one that holds the same segments is asked; only when none is left the
// search fails, as Unavailable. At most attempts_max rounds.
//
// Threads: the loop's; packs are searched by threads of its own. Lifetime: stop() before its parts
// end.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/pool.h"
#include "net/client.h"
#include "net/loop.h"
#include "search/catalog.h"
#include "search/group.h"

namespace quern::search {

inline constexpr std::size_t kSuggestionsMax = 50;

struct FinderOptions {
  int threads = 0;  // 0: one for each core
  std::int64_t remote_ms = 10'000;
  std::int64_t shunned_ms = 2000;  // a searcher that did not answer is asked again after this
  int attempts_max = 4;
};

struct SearchOrder {
  std::string text;
  std::vector<std::string> collections;  // only in these; empty: in all
  Sort sort = Sort::Relevance;
  std::size_t limit = 10;
  std::optional<Place> after;
  bool any_word = false;  // of a cursor: the first page was found so
  bool facets = false;
  // Whose documents are looked for, and whose are not: what filters of datasets mean.
  std::optional<std::vector<std::int64_t>> only_jobs = {};
  std::vector<std::int64_t> not_jobs = {};
  Catalog::Age age = Catalog::Age::Fresh;
};

struct SearchAnswer {
  Query query;
  GroupAnswer found;
  bool any_word = false;  // nothing had all the words; these have some
};

class Finder {
 public:
  Finder(net::Loop& loop, Catalog& catalog, FinderOptions options);
  ~Finder();

  net::Task<Result<SearchAnswer>> search(SearchOrder order);
  // For the last word of what was typed so far.
  net::Task<Result<std::vector<Suggestion>>> suggest(std::string text,
                                                     std::vector<std::string> collections,
                                                     std::size_t limit);
  void stop() { pool_.stop(); }

 private:
  struct Plan;
  struct Gathering;
  using SnapshotPtr = std::shared_ptr<const Snapshot>;

  using Addresses = std::set<std::string>;

  // `refused`: those who did not answer this search already.
  Result<Plan> plan(const Snapshot& snapshot, const SearchOrder& order, const Query& query,
                    std::shared_ptr<Addresses> refused);
  std::vector<std::string> able_of(const ServedSegment& segment, const Addresses& refused) const;
  net::Task<Result<GroupAnswer>> run(std::shared_ptr<const Plan> plan, SearchOrder order,
                                     Query query, std::vector<std::int64_t> hidden_jobs);
  net::Task<Result<GroupAnswer>> run_local(std::shared_ptr<const Plan> plan, GroupOrder order);
  net::Task<Result<GroupAnswer>> run_remote(std::shared_ptr<const Plan> plan, GroupOrder order,
                                            std::string text);
  net::Task<> ask_one(std::shared_ptr<Gathering> gathering, std::string address, std::string target,
                      std::string body);
  net::Task<Result<std::vector<boost::json::value>>> ask_all(
      std::shared_ptr<const Plan> plan, std::string target,
      std::map<std::string, std::string> bodies);
  net::Task<Result<std::vector<Suggestion>>> suggest_once(std::shared_ptr<const Plan> plan,
                                                          std::string word, std::size_t limit);
  std::shared_ptr<net::Client> client_of(const std::string& address);

  net::Loop& loop_;
  Catalog& catalog_;
  const FinderOptions options_;
  // The loop's thread only:
  std::map<std::string, std::shared_ptr<net::Client>> clients_;  // by address
  std::map<std::string, net::Instant> shunned_;                  // until when
  std::size_t turn_ = 0;
  io::Pool pool_;
};

}  // namespace quern::search

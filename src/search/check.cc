#include "search/check.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "search/segment.h"
#include "tree/job.h"

namespace quern::search {
namespace {

using store::Tx;
using tree::CollectionId;

constexpr std::size_t kCollectionsAtOnce = 20;

struct Checked {
  std::vector<std::string> problems;
  std::string next;  // empty: that was all
};

// A few collections in one consistent read.
Result<Checked> check_some(Tx& tx, const std::string& after) {
  Checked checked;
  TRY_ASSIGN(const std::vector<tree::Collection> collections,
             tree::list_ledger(tx, after, kCollectionsAtOnce));
  if (collections.size() == kCollectionsAtOnce) checked.next = collections.back().name;
  std::set<CollectionId> changed;
  TRY_ASSIGN(const std::vector<tree::ChangedCollection> all, tree::list_changed(tx));
  for (const tree::ChangedCollection& one : all) changed.insert(one.id);
  for (const tree::Collection& collection : collections) {
    if (changed.contains(collection.id)) continue;
    TRY_ASSIGN(const PackList pack, load_pack(tx, collection.name));
    std::int64_t shown = 0;
    for (const Segment& segment : pack.segments) shown += segment.shown();
    if (shown == collection.sums.documents) continue;
    checked.problems.push_back(
        fmt::format("collection '{}' has {} documents, but {} can be found: quern pack {} --full "
                    "mends that",
                    collection.name, collection.sums.documents, shown, collection.name));
  }
  return checked;
}

}  // namespace

Result<std::vector<std::string>> check_search(store::Readers& readers) {
  std::vector<std::string> problems;
  std::string after;
  while (true) {
    TRY_ASSIGN(const Checked checked,
               readers.run([&after](Tx& tx) { return check_some(tx, after); }));
    problems.insert(problems.end(), checked.problems.begin(), checked.problems.end());
    if (checked.next.empty()) return problems;
    after = checked.next;
  }
}

}  // namespace quern::search

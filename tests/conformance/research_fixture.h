// What the tests of research share: a store of either kind with time in the test's hand, episodes
// and clips that are ready, and short words for what assigners and researchers do.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/tree_fixture.h"
#include "research/check.h"
#include "research/fingerprint.h"
#include "research/result.h"

namespace quern::research {

using store::StoreKind;
using store::Tx;
using Pairs = std::set<std::pair<CuratedId, CuratedId>>;

class ResearchTest : public tree::TreeTest {
 protected:
  void SetUp() override;

  // -- curation; everything is ready at once unless a test says otherwise --
  CuratedOrder order_of(Kind kind, const std::string& title);
  CurateOutcome curate_one(const CuratedOrder& order);
  CuratedId add_episode(const std::string& title, std::int64_t priority = 0);
  CuratedId add_clip(const std::string& title, std::int64_t priority = 0);
  std::vector<CuratedId> add_many(Kind kind, int count);
  // Another file of the tree with these bytes.
  MediaArrived media_of(const std::string& bytes);
  bool bring(CuratedId id, const std::string& bytes);
  Curated load_one(CuratedId id);

  // -- work --
  Assigned assign_once();
  // Until it has no more to do; how many items it added.
  std::int64_t assign_all();
  std::optional<WorkItem> take(const std::string& researcher = "ann");
  // Takes and gives up nothing, until nothing is left: every item.
  std::vector<WorkItem> take_everything();
  static Report report_of(const WorkItem& item, std::size_t clip,
                          std::vector<std::int64_t> offsets = {});
  Reported send(const Report& report);
  Result<Reported> try_send(const Report& report);
  // Reports on each clip, the last one as final.
  void finish(const WorkItem& item);
  std::int64_t finish_everything();

  // -- what is stored --
  std::vector<ResultRow> results(const ResultFilter& filter = {});
  ResearchStatus status();
  std::int64_t count_rows(const store::Sql& sql);
  // 0 where it is gone.
  std::int64_t expiry_of(const std::string& lease);
  std::string problems_of_research();
  void script_now(const store::Sql& sql);

  static Pairs pairs_of(const WorkItem& item);

  template <class Function>
  auto write(Function function) {
    return writer_->run({}, store::Alone{std::move(function)});
  }

  Options options_;
  tree::Job job_;
  MediaArrived media_;
  std::int64_t next_root_ = 0;
};

}  // namespace quern::research

// What was researched of an episode, as it is stored. Inside research only.
#pragma once

#include "research/clip_set.h"
#include "research/curated.h"

namespace quern::research {

struct EpisodeSet {
  std::int64_t algorithm = 0;  // the current one: a set of an older one counts as empty
  ClipSet researched;
  std::int64_t results = 0, found = 0, failed = 0;  // of its rows in research_result
};

Result<EpisodeSet> load_episode_set(store::Tx& tx, CuratedId episode);
// The same for changing it: the row is made where it is missing, and locked.
Result<EpisodeSet> lock_episode_set(store::Tx& tx, CuratedId episode);
Result<> store_episode_set(store::Tx& tx, CuratedId episode, const EpisodeSet& set);

store::Bytes as_blob(const std::string& bytes);

}  // namespace quern::research

// What goes with an episode or a clip, or with its media. Inside research only; the pool is locked.
#pragma once

#include "research/curated.h"

namespace quern::research {

// Leases (of an episode), results, sets and fingerprints. Blobs come into doubt.
Result<> remove_research_of(store::Tx& tx, Kind kind, CuratedId id);

}  // namespace quern::research

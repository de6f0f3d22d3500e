// The ingester: what is processed, and all of whose children are ingested, becomes a document, an
// error or a thing that is only counted. It goes up the tree, a generation with each round.
//
// Guarantee: a file is ingested once, together with its count in its parent and its shard's sums;
// a document also with its note for search (tree/change.h).
// If a file is ingested, so are all its children.
#pragma once

#include <string>
#include <vector>

#include "model/steps.h"
#include "store/operation.h"
#include "tree/job.h"

namespace quern::tree {

inline constexpr std::int64_t kIngestedAtOnce = 500;

struct IngestedFile {
  FileId id;
  model::FileClass became = model::FileClass::Error;
};

struct Ingest {
  ShardId shard;
  std::int64_t token = 0;

  struct Reply {
    std::vector<IngestedFile> files;
    bool roots_left = true;  // whether some root of the shard is not ingested
  };
  store::Fence fence() const { return {shard.value, token}; }
};
std::vector<Result<Ingest::Reply>> apply(store::Tx& tx, std::span<const Ingest> batch);

}  // namespace quern::tree

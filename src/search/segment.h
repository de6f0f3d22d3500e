// Segments: what is published of each collection, as rows.
//
// A collection's pack is a short list of segments with their masks, at a version. Publishing swaps
// the list in one transaction: whoever reads it in one transaction sees all of one version.
//
// Guarantee: two packers never both publish. How: publish() runs behind the fence of the packers'
// queue and names the version that it started from; another one is a Conflict, and nothing is
// written. What is replaced is retired, not removed: its bytes stay for kRetiredKeptUs, since
// searchers may be reading them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "search/pack.h"
#include "search/pack_builder.h"
#include "tree/change.h"

namespace quern::search {

using SegmentId = Id<struct SegmentTag>;

inline constexpr std::int64_t kRetiredKeptUs = 10 * 60 * 1'000'000LL;
inline constexpr std::size_t kRetiredRemovedAtOnce = 50;
// Merging keeps them far fewer.
inline constexpr std::size_t kSegmentsMax = 500;

struct Segment {
  SegmentId id;
  tree::CollectionId collection;
  std::string digest;
  blob::BlobId blob;
  std::int64_t bytes = 0;
  std::int64_t documents = 0;
  std::int64_t text_bytes = 0;
  std::int64_t file_min = 0;
  std::int64_t file_max = 0;
  std::int64_t mask_version = 0;
  std::int64_t masked = 0;

  std::int64_t shown() const { return documents - masked; }
};

struct PackList {
  tree::CollectionId collection;
  std::string name;
  std::int64_t version = 0;  // 0: nothing was ever published
  std::vector<Segment> segments;
  bool forsaken = false;  // its collection is gone
};

// Of a collection by its name: one that is there, or one that is gone and left a pack. Missing.
Result<PackList> load_pack(store::Tx& tx, const std::string& name);
// All that is published, by name. Those whose collection is gone are left out.
Result<std::vector<PackList>> load_packs(store::Tx& tx);
// Packs of collections that are gone: their names.
Result<std::vector<std::string>> list_forsaken(store::Tx& tx);
// The mask as it stands, with its version; Missing where the segment is gone.
struct StoredMask {
  std::int64_t version = 0;
  std::string bits;  // empty: nothing is masked
};
Result<StoredMask> load_mask(store::Tx& tx, SegmentId id);
// Digests that were retired a moment ago: somebody may still search them.
Result<std::vector<std::string>> list_retired_since(store::Tx& tx, std::int64_t since_us);
// Live or retired; Missing.
Result<Segment> load_segment(store::Tx& tx, const std::string& digest);

// One step from a version to the next.
struct NewSegment {
  PackInfo info;
  blob::Put put;     // the compressed file
  std::string mask;  // of documents that went while it was built; empty: none
  std::int64_t masked = 0;
};
struct NewMask {
  SegmentId segment;
  std::string bits;
  std::int64_t masked = 0;
};
struct Publication {
  tree::CollectionId collection;
  std::string name;
  std::int64_t from_version = 0;
  std::optional<NewSegment> added;
  std::vector<SegmentId> retired;
  std::vector<NewMask> masks;
  std::vector<std::int64_t> changes;  // that it contains
};
struct Published {
  std::int64_t version = 0;
  bool blob_adopted = false;  // the put's place is unused
};
// Behind the packers' fence.
Result<Published> publish(store::Tx& tx, const Publication& publication);

// Takes away segments that have been retired long enough, and packs that have nothing and whose
// collection is gone; their blobs come into doubt. Returns how many went.
Result<std::int64_t> remove_retired(store::Tx& tx, std::int64_t kept_us);

}  // namespace quern::search

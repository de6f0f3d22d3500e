// Packing: what a packer does, step by step. Each step ends with one transaction that publishes
// (search/segment.h); killed before it, nothing has happened but files that the next start removes.
//
//   incremental   changes become a new segment, or masks of old ones
//   full          all documents become one segment that replaces all
//   merge         small segments become one; one with many gaps is written anew
//
// Threads: one object is used by any number of threads, one step a collection at a time; they
// block.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "queue/partition.h"
#include "search/pack_source.h"
#include "store/writer.h"

namespace quern::search {

struct PackingOptions {
  std::size_t changes_max = 20'000;                 // in one step
  std::int64_t text_bytes_max = 256 * 1024 * 1024;  // likewise
  std::size_t merge_fan_in = 8;                     // segments of about one size
  std::int64_t merged_documents_max = 5'000'000;    // larger ones are left as they are
  double gaps_max = 0.3;                            // of a segment, before it is written anew
};

// Who packs: the owner of the packers' queue, as of a token; and where it says what it published.
struct PackRight {
  queue::PartitionId packers;
  std::int64_t token = 0;
  queue::PartitionId orchestrator;
};

struct PackReport {
  bool published = false;
  std::int64_t version = 0;
  std::int64_t documents = 0;  // of the new segment
  std::int64_t masked = 0;     // documents that went
  bool more = false;           // there are changes left
};

class Packing {
 public:
  struct Parts {
    store::Writer& writer;
    store::Readers& readers;
    blob::BlobStore& blobs;
    PackSource& source;
  };
  Packing(Parts parts, PackingOptions options) : parts_(parts), options_(options) {}

  // Nothing is published where nothing has changed, or the collection is not there. Conflict where
  // another step was faster; Stale where the right has passed on.
  Result<PackReport> incremental(const std::string& collection, const PackRight& right);
  Result<PackReport> full(const std::string& collection, const PackRight& right);
  Result<PackReport> merge(const std::string& collection, const PackRight& right);
  // From any thread: steps end soon, with Canceled.
  void stop() { stopping_ = true; }

 private:
  class Building;
  struct Gone;
  struct Merged;

  Result<> go_on() const;
  Result<std::optional<NewSegment>> finish(Building& building);
  Result<> add_changed(const PackList& list, const std::vector<tree::Change>& changes,
                       Building& building, Publication& publication);
  Result<std::vector<std::int64_t>> known_files(const PackList& list,
                                                const std::vector<std::int64_t>& files);
  Result<> mask(const PackList& list, const Gone& gone, Publication& publication);
  Result<> add_all(const std::string& collection, Building& building);
  Result<PackReport> swap(const Publication& publication, const PackRight& right);
  Result<std::vector<Merged>> add_merged(const std::vector<Segment>& chosen, Building& building);
  Result<> mask_merged(const PackList& now, const std::vector<Merged>& merged, NewSegment& added);

  Parts parts_;
  PackingOptions options_;
  std::atomic<bool> stopping_{false};
};

// Which live segments are to become one; none where it is not worth it. Pure.
std::vector<Segment> choose_merge(const std::vector<Segment>& segments,
                                  const PackingOptions& options);

}  // namespace quern::search

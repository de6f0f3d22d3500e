// PackSource: the segments of this store, opened on this machine, fetched from the blobs where they
// are not here yet.
//
// Threads: any. load() blocks.
#pragma once

#include <memory>

#include "blob/blob.h"
#include "search/pack_folder.h"
#include "search/segment.h"
#include "store/readers.h"

namespace quern::search {

class PackSource {
 public:
  PackSource(PackFolder& folder, store::Readers& readers, const blob::BlobStore& blobs)
      : folder_(folder), readers_(readers), blobs_(blobs) {}

  Result<std::shared_ptr<const Pack>> load(const Segment& segment);
  // Null where nothing is masked. Stale where the stored one has another version by now.
  Result<std::shared_ptr<const Mask>> load_mask(const Segment& segment);
  PackFolder& folder() { return folder_; }

 private:
  Result<> fetch(const Segment& segment);

  PackFolder& folder_;
  store::Readers& readers_;
  const blob::BlobStore& blobs_;
  std::mutex fetching_;  // one at a time: they are large
};

}  // namespace quern::search

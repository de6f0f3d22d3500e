// Pack files on their way: compressed into the blob store, and back out of it into a folder.
//
// Threads: one object is used by one thread at a time. They block.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "blob/blob.h"
#include "io/file.h"

namespace quern::search {

// What a pack may grow to while it is taken out of its compression.
inline constexpr std::int64_t kPackBytesMax = std::int64_t{64} << 30;

// A file as a compressed blob that no row names yet.
Result<blob::Put> store_pack_file(blob::BlobStore& blobs, const io::Path& file);

// Compressed bytes become FOLDER/DIGEST.pack.
//
// Guarantee: the name appears with exactly the bytes of that digest, synced, or not at all.
class PackReceiver {
 public:
  static Result<PackReceiver> create(const io::Path& folder, const std::string& digest);
  ~PackReceiver();
  PackReceiver(PackReceiver&&) noexcept;

  // After an error only destruction is left.
  Result<> write(std::string_view compressed);
  // Corrupt where it is not that pack, or not the whole of it.
  Result<> finish();

 private:
  struct State;
  explicit PackReceiver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quern::search

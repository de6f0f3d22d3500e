// Backend: where the bytes of large blobs lie. A folder, or a bucket of S3. Inside blob only.
//
// A place is SESSION/NNN/NNNNNN: no place is ever written twice. Threads: all functions from any
// thread, and they block. Lifetime: writers and readers go before the backend.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "blob/url.h"

namespace quern::blob {

// Bytes on their way to a place. Destroyed before commit(), they go.
class PlaceWriter {
 public:
  virtual ~PlaceWriter() = default;
  virtual Result<> write(std::string_view bytes) = 0;
  // Durable when this returns. Once, and last.
  virtual Result<> commit() = 0;
};

class PlaceReader {
 public:
  virtual ~PlaceReader() = default;
  // Fills `into` unless the bytes end before.
  virtual Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const = 0;
  virtual std::int64_t size_bytes() const = 0;
};

// Some of what lies under a session: as much as can be looked at in one step.
struct Listing {
  std::vector<std::string> places;     // that can be asked for in the database
  std::vector<std::string> leftovers;  // what writers that were killed left: never named
  std::string next;                    // ask again after this; empty: that was all
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Result<std::unique_ptr<PlaceWriter>> create(const std::string& place) = 0;
  // Commits several; a result for each. At most `commit_threads()` callers at a time gain by it.
  virtual std::vector<Result<>> commit(std::span<PlaceWriter* const> writers) = 0;
  virtual int commit_threads() const = 0;
  // Missing where it is gone.
  virtual Result<std::unique_ptr<PlaceReader>> open(const std::string& place) const = 0;
  // Durably; fine where it is gone already. A leftover of a listing too.
  virtual Result<> remove(std::span<const std::string> places) = 0;
  virtual Result<Listing> list(const std::string& session, const std::string& after) const = 0;
  // After the last step of a listing: what else a dead session may have left (empty folders).
  virtual Result<> tidy(const std::string& session) = 0;
  // Every session of which something lies here, at most 1000 after that one.
  virtual Result<std::vector<std::string>> list_sessions(const std::string& after) const = 0;

  virtual std::optional<std::filesystem::path> path_of(const std::string& place) const = 0;
  // The file's bytes become the place's without a copy. False: it cannot be done here.
  virtual Result<bool> adopt(const std::filesystem::path& file, const std::string& place) = 0;
};

Result<std::unique_ptr<Backend>> open_backend(const BlobUrl& url);

}  // namespace quern::blob

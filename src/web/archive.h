// Archive: the folder of WARC files that a process writes. One is open; it is closed at a size, at
// an age or when asked, and another begins.
//
// Guarantee: what append() returned is durable. A death leaves at most bytes behind the last record
// that somebody has noted (in its database): cut_back() removes them, so that a file has exactly
// the records that are known. Several appends share a sync of the disk.
//
// A disk that is full, or whose sync fails, costs the appends under way, and nothing else: their
// bytes are taken off again, or the file is left at its last good record and another begins.
//
// Threads: append() from any; it blocks (compression and disk: call it from a pool). Crash points:
// archive.appended (before the sync), archive.synced, archive.opened.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/clock.h"
#include "web/warc.h"

namespace quern::web {

inline constexpr std::int64_t kWarcBytesMax = 1LL << 30;
inline constexpr std::int64_t kWarcAgeMsMax = 24LL * 60 * 60 * 1000;

struct ArchiveEntry {
  std::string filename;
  std::int64_t offset = 0;  // of the response record
  std::int64_t length = 0;  // of the response record
  std::int64_t end = 0;     // behind the request record, in the file
  std::string payload_digest;
};

struct ArchiveOptions {
  std::filesystem::path folder;
  std::string software;  // for warcinfo
  std::string prefix = "quern";
  std::int64_t bytes_max = kWarcBytesMax;  // of a file; a larger capture has one of its own
  std::int64_t age_ms_max = kWarcAgeMsMax;
  const io::Clock* clock = &io::system_clock();
};

class Archive {
 public:
  // Makes the folder. Invalid where the prefix is not of letters, digits, "-" and "_".
  static Result<std::unique_ptr<Archive>> open(ArchiveOptions options);
  ~Archive();

  Result<ArchiveEntry> append(const CaptureOrder& order);
  // The open file is closed; the next append begins another.
  Result<> rotate();
  const std::filesystem::path& folder() const;

  // A file that an ended process left: bytes behind `known_end` go (never those of its warcinfo
  // record). With 0 the file goes as a whole: for who knows that nobody wants it (a file of which
  // nothing is known may be somebody's only copy). Busy where a process that lives has
  // it open; Corrupt where it is shorter than what is known, Missing where it is gone.
  static Result<> cut_back(const std::filesystem::path& file, std::int64_t known_end);
  // One record of a file in the folder, from its offset.
  static Result<std::unique_ptr<WarcReader>> read_at(const std::filesystem::path& file,
                                                     std::int64_t offset);

 private:
  class Core;
  explicit Archive(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace quern::web

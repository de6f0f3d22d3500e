// WACZ 1.1.1: a web archive as one file: a zip of WARC files, their index, a list of pages, and
// what is in it with digests.
//
//   archive/*.warc.gz          as they are
//   indexes/index.cdx.gz       CDXJ lines, kWaczBlockLines in a gzip member
//   indexes/index.idx          the first line of each member, and where it lies
//   pages/pages.jsonl          what somebody may want to begin with
//   datapackage.json           all of the above with sizes and SHA-256
//   datapackage-digest.json    the SHA-256 of that
//
// The writer goes from front to back and needs no memory for contents; the index and the pages wait
// in nameless files of the spool folder. The reader gives the WARC files of anybody's WACZ.
//
// Threads: one at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/body.h"
#include "web/wacz_zip.h"
#include "web/warc.h"

namespace quern::web {

inline constexpr int kWaczBlockLines = 1024;
inline constexpr std::size_t kWaczDirectoryBytesMax = 64 * 1024 * 1024;
inline constexpr std::size_t kWaczEntriesMax = 200'000;

struct WaczOptions {
  std::filesystem::path spool;
  std::string software;
  std::string title;
  std::string description;
  std::int64_t created_us = 0;
  std::string main_page_url;  // may be empty
  std::int64_t main_page_at_us = 0;
};

struct WaczPage {
  std::string url;
  std::int64_t at_us = 0;
  std::string title;
};

class WaczWriter {
 public:
  WaczWriter(WaczOptions options, ZipWriter::Sink sink);
  ~WaczWriter();

  // The first `bytes` of a file (the rest may still be written), under its own name. Read twice.
  // All of them come before the rest is added. After an error only destruction is left.
  Result<> add_warc(const std::filesystem::path& file, std::int64_t bytes);
  // In the order of their keys and timestamps: Invalid else.
  Result<> add_index(const CdxjLine& line);
  Result<> add_page(const WaczPage& page);
  // Once, and last.
  Result<> finish();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

struct WaczEntry {
  std::string name;         // "archive/data.warc.gz"
  std::int64_t offset = 0;  // of its head
  std::int64_t bytes = 0;
  bool stored = true;  // else compressed, which the standard forbids for archives
};

class WaczReader {
 public:
  // Corrupt where it is no zip file; TooLarge beyond the limits above.
  static Result<WaczReader> open(const std::filesystem::path& file);

  const std::vector<WaczEntry>& entries() const { return entries_; }
  // The WARC and ARC files among them.
  std::vector<WaczEntry> archives() const;
  // Offsets of records are those in the entry.
  Result<std::unique_ptr<WarcReader>> read_archive(const WaczEntry& entry) const;
  // Of a stored entry, in pieces.
  Result<WarcReader::Source> source_of(const WaczEntry& entry) const;

 private:
  WaczReader() = default;
  std::filesystem::path path_;
  std::vector<WaczEntry> entries_;
};

}  // namespace quern::web

// OwnArchive: captures in our own WARC files (web/archive.h): pages and files are fetched from the
// live web.
//
// Guarantee: each record is durable before anybody is told of it, and noted (by `note`, in the
// caller's database) before a page or file is called kept. A death between leaves bytes that nobody
// names; like those of crawls, in whose folder these files lie, they are cut off at the next start,
// where something before them is named; each request has files of its own.
//
// On the loop; compression and disk on the pool. What the parts refer to outlives it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fileset/keeping.h"
#include "io/pool.h"
#include "net/loop.h"
#include "web/archive.h"

namespace quern::fileset {

// Names of its files begin so; those of crawls do not.
inline constexpr char kArchiveKind[] = "dataset";

// A record of the archive.
struct OwnRecord {
  std::string url;
  std::string surt;
  std::int64_t at_us = 0;
  int status = 0;
  std::string mimetype;  // as the server called it
  std::string sha1b32;
  std::string warc;  // name of the file
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // of the record
  std::int64_t end = 0;    // behind it and its request, in the file
};
// As the result shows it.
boost::json::object to_json(const OwnRecord& record);

// An earlier capture of a file, with what its bytes are.
struct OwnCapture {
  OwnRecord record;
  FileMeta meta;
};

struct OwnArchiveParts {
  net::Loop& loop;
  io::Pool& pool;
  Outside& outside;
  std::shared_ptr<web::Archive> archive;
  // Durable when it returns.
  std::function<net::Task<Result<>>(OwnRecord)> note;
  // Captures of an address that are noted, the newest first; a few. May be empty: none is looked
  // for.
  std::function<net::Task<Result<std::vector<OwnCapture>>>(std::string url)> find;
};

class OwnArchive : public WebArchive {
 public:
  explicit OwnArchive(OwnArchiveParts parts) : parts_(std::move(parts)) {}

  // Always from the live web. Where the address is that of a file that is larger than any page, its
  // type is told, without bytes and without a capture.
  net::Task<Resource> find_page(const std::string& url, bool force_recrawl) override;
  net::Task<std::optional<Kept>> find_file(const ManifestFile& file) override;
  bool wants_bytes() const override { return true; }
  net::Task<Kept> keep_file(const ManifestFile& file, const Downloaded* downloaded,
                            const std::filesystem::path& part) override;

 private:
  net::Task<Resource> follow(std::string url);
  net::Task<Result<OwnRecord>> capture(web::CaptureOrder order, int status, std::string mimetype);
  net::Task<Kept> keep(ManifestFile file, Downloaded downloaded, std::filesystem::path part);
  net::Task<std::optional<Kept>> look_for(ManifestFile file);

  OwnArchiveParts parts_;
};

}  // namespace quern::fileset

// Keeping: where the verified bytes of a file go to be preserved. One interface, three backends:
// our own WARC archive (own_archive.cc), the Wayback Machine (wayback.cc), an item of archive.org
// (item_upload.cc).
//
// On the loop; what blocks runs on a pool.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fileset/manifest.h"
#include "fileset/outside.h"
#include "net/task.h"

namespace quern::fileset {

// file_meta of the result: size_bytes, md5hex, sha1hex, sha256hex, mimetype.
struct FileMeta {
  std::int64_t size = 0;
  std::string md5;
  std::string sha1;
  std::string sha256;
  std::string mimetype;
};
boost::json::object to_json(const FileMeta& meta);

// A capture: of the landing page, of a file, of a bundle.
struct Capture {
  std::string terminal_url;
  std::string terminal_dt;  // 14 digits
  int status_code = 0;
  FileMeta meta;
  boost::json::object cdx;          // surt, datetime, url, mimetype, status_code, sha1b32, sha1hex,
                                    // and warc_csize, warc_offset, warc_path where they are known
  boost::json::object revisit_cdx;  // of revisits only
};

// `status` of section 2.3 of the result's documentation: success, no-capture, redirect-loop, ...
struct Resource {
  std::string status;
  std::string message;
  bool passing = false;
  Capture capture;
  std::string body;  // of a landing page, up to its limit
};

// What the file's bytes are kept by.
struct Kept {
  std::string status;  // success, exists, mismatch, no-capture, error-archiveorg-upload, ...
  std::string message;
  bool passing = false;
  Capture capture;  // of web-*
};

// Captures of pages and files.
class WebArchive {
 public:
  virtual ~WebArchive() = default;
  // The landing page: a capture that is there, or a new one.
  virtual net::Task<Resource> find_page(const std::string& url, bool force_recrawl) = 0;
  // A capture of this file that is there already and matches the manifest.
  virtual net::Task<std::optional<Kept>> find_file(const ManifestFile& file) = 0;
  // Whether keep_file() wants the bytes; else it lets somebody else fetch them (SPN2).
  virtual bool wants_bytes() const = 0;
  // `downloaded` and its part where bytes are wanted.
  virtual net::Task<Kept> keep_file(const ManifestFile& file, const Downloaded* downloaded,
                                    const std::filesystem::path& part) = 0;
};

// Items of archive.org.
class ItemArchive {
 public:
  virtual ~ItemArchive() = default;
  struct Existing {
    std::string status;  // success: asked; else why not (a passing failure)
    std::string message;
    bool complete = false;            // every file of the manifest is there
    std::vector<ManifestFile> files;  // that are there: path, size, md5, sha1
  };
  virtual net::Task<Existing> check_existing(const PlatformItem& item) = 0;
  // One file of the item; makes the item with the first. `total`: the size hint.
  virtual net::Task<Kept> upload(const PlatformItem& item, const ManifestFile& file,
                                 const std::filesystem::path& bytes, std::int64_t total) = 0;
  // Whether all of the manifest is there, by the metadata API; waits for the item a bounded time.
  virtual net::Task<Kept> verify(const PlatformItem& item) = 0;
};

}  // namespace quern::fileset

// Wayback: captures of the Wayback Machine, or of a service like it: looked up by its CDX API, read
// by replay (or from its WARC files, where those can be had), made by Save Page Now.
//
// On the loop; digests of files on the pool. What it refers to outlives it.
#pragma once

#include <filesystem>
#include <string>

#include "fileset/cdx.h"
#include "fileset/keeping.h"
#include "fileset/spn.h"
#include "io/pool.h"
#include "net/loop.h"

namespace quern::fileset {

inline constexpr int kCdxRowsAsked = 40;
inline constexpr int kWaybackHopsMax = 25;
inline constexpr int kReplayHopsMax = 5;         // within the archive, to a capture nearby
inline constexpr std::size_t kSpnFilesMax = 20;  // of a dataset; with more, none is asked for

struct WaybackOptions {
  std::string cdx = "https://web.archive.org/cdx/search/cdx";
  std::string cdx_token;
  std::string replay = "https://web.archive.org/web/";
  std::string warc_base;  // "https://…/": WARC files by their path; empty: by replay
  std::string warc_token;
  bool spn_on = true;
  SpnOptions spn;
  std::int64_t cdx_retry_ms = 9'000;  // until a new capture is in the index
  std::int64_t cdx_step_ms = 3'000;
  std::int64_t cdx_error_ms = 2'000;  // rest after an error of the index
  std::int64_t file_bytes_max = 64LL << 30;
  std::filesystem::path scratch;  // where files are read to be verified
  Compat compat = Compat::Default;
};

class Wayback : public WebArchive {
 public:
  Wayback(net::Loop& loop, io::Pool& pool, Outside& outside, WaybackOptions options)
      : loop_(loop), pool_(pool), outside_(outside), options_(std::move(options)) {}

  net::Task<Resource> find_page(const std::string& url, bool force_recrawl) override;
  net::Task<std::optional<Kept>> find_file(const ManifestFile& file) override;
  bool wants_bytes() const override { return false; }
  net::Task<Kept> keep_file(const ManifestFile& file, const Downloaded* downloaded,
                            const std::filesystem::path& part) override;

 private:
  // A place in the index, or why there is none.
  struct Found {
    std::string status;
    std::string message;
    bool passing = false;
    std::string url;  // where the walk ended
    CdxRow row;
  };
  // What an archive has of a row.
  struct Content {
    std::string status = "success";
    std::string message;
    bool passing = false;
    std::string body;
    std::string location;  // of a redirect
    int http_status = 0;
    std::optional<CdxRow> original;  // of a revisit: where the bytes are
  };
  struct CdxQuery {
    std::string url;
    std::string from;         // and to: exactly this capture
    std::string only_status;  // "200"
  };

  net::Task<Resource> page(std::string url, bool force_recrawl);
  net::Task<Resource> page_of(Found found);
  net::Task<Found> look_up(std::string url, std::string mimetype);
  net::Task<Found> save(std::string url);
  net::Task<Found> find_saved(std::string url, std::string datetime);
  net::Task<Result<std::vector<CdxRow>>> ask_cdx(CdxQuery query);
  net::Task<Content> read(CdxRow row);
  net::Task<Content> read_warc(CdxRow row, bool is_original);
  net::Task<Content> read_replay(CdxRow row);
  net::Task<Kept> kept_of(Found found, ManifestFile file);
  net::Task<Kept> verified(Found found, ManifestFile file, Downloaded got,
                           std::filesystem::path part);
  net::Task<std::optional<Kept>> look_for(ManifestFile file);
  net::Task<Kept> save_file(ManifestFile file);
  std::string replay_url(const CdxRow& row) const;
  // The address in an address of the replay; empty where it is none.
  std::string replayed(std::string_view url, std::string* datetime) const;

  net::Loop& loop_;
  io::Pool& pool_;
  Outside& outside_;
  WaybackOptions options_;
};

}  // namespace quern::fileset

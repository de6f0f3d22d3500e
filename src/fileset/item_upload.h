// ItemUpload: items of archive.org, filled through its interface that is like S3, and verified by
// its metadata API.
//
// Repeating an upload changes nothing: a file that is there with an equal MD5 is not sent again,
// and one that is sent again replaces itself. On the loop; digests on the pool.
#pragma once

#include <string>

#include "fileset/blocklist.h"
#include "fileset/keeping.h"
#include "io/pool.h"
#include "net/loop.h"

namespace quern::fileset {

inline constexpr std::size_t kItemNameMin = 3;
inline constexpr std::size_t kItemNameMax = 100;
inline constexpr std::size_t kItemPathBytesMax = 1024;
inline constexpr std::size_t kMetaHeadersMax = 80;
inline constexpr std::size_t kMetaValueBytesMax = 8 * 1024;
inline constexpr std::size_t kItemFilesMax = 100'000;  // that we look at
inline constexpr int kUploadTriesMax = 3;              // for what is not "slow down"

struct ItemUploadOptions {
  std::string s3 = "https://s3.us.archive.org";
  std::string base = "https://archive.org";
  std::string access_key;
  std::string secret_key;
  int slow_tries_max = 20;          // that the service says "slow down", for a file
  std::int64_t slow_ms = 30'000;    // between them
  int verify_tries_max = 40;        // until a new item can be seen
  std::int64_t verify_ms = 15'000;  // between them
  std::int64_t upload_ms = 24LL * 3600 * 1000;
  Compat compat = Compat::Default;
};

// Letters, digits, ".", "_", "-"; 3 to 100 of them, the first a letter or a digit.
bool is_item_name(std::string_view name);
// "/item/a%20b/c.csv".
std::string item_target(std::string_view item, std::string_view path);
// x-archive-meta00-title and so on: of texts, numbers and lists of them.
web::HeaderList meta_headers(const boost::json::object& meta);
// What of the manifest is in an item's list of files, whatever their order. Strict: as the
// original, which looks at the list once, so that only files in the manifest's order are found.
std::vector<bool> files_there(const std::vector<ManifestFile>& manifest,
                              const std::vector<ManifestFile>& there, Compat compat);

class ItemUpload : public ItemArchive {
 public:
  ItemUpload(net::Loop& loop, io::Pool& pool, Outside& outside, ItemUploadOptions options)
      : loop_(loop), pool_(pool), outside_(outside), options_(std::move(options)) {}

  net::Task<Existing> check_existing(const PlatformItem& item) override;
  net::Task<Kept> upload(const PlatformItem& item, const ManifestFile& file,
                         const std::filesystem::path& bytes, std::int64_t total) override;
  net::Task<Kept> verify(const PlatformItem& item) override;

 private:
  struct Order {
    PlatformItem item;  // without its manifest
    ManifestFile file;
    std::filesystem::path bytes;
    std::int64_t total = 0;
  };
  net::Task<Existing> load_files(std::string item);
  net::Task<Existing> check(PlatformItem item);
  net::Task<Kept> put(Order order);
  net::Task<Kept> send(Order order, Ask ask);
  net::Task<bool> is_over_limit(std::string item);
  net::Task<Kept> verify_all(PlatformItem item);
  web::HeaderList authorization() const;

  net::Loop& loop_;
  io::Pool& pool_;
  Outside& outside_;
  ItemUploadOptions options_;
};

}  // namespace quern::fileset

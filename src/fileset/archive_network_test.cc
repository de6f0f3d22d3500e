// The archives over real sockets: our clients, the net outside and the stand-in agree.
#include <gtest/gtest.h>

#include <fstream>

#include "fileset/file_meta.h"
#include "fileset/item_upload.h"
#include "fileset/net_outside.h"
#include "fileset/own_archive.h"
#include "fileset/wayback.h"
#include "support/archive_site.h"
#include "support/temp_folder.h"
#include "web/archives.h"

namespace quern::fileset {
namespace {

using support::ArchiveSite;
using support::SiteCapture;

constexpr char kUrl[] = "https://site.example/records/1?version=2";

class ArchiveNetworkTest : public ::testing::Test {
 protected:
  ArchiveNetworkTest() : pool_({}) {
    web::FetcherOptions fetching;
    fetching.user_agent = "quern/test";
    fetching.spool = folder_.path();
    auto opened = web::Fetcher::open(std::move(fetching));
    EXPECT_TRUE(opened.ok());
    fetcher_ = *std::move(opened);
    NetOutsideOptions options;
    options.allowed = web::AllowedHosts::parse("127.0.0.1").value();
    options.backoff_ms = 1;
    outside_ =
        std::make_unique<NetOutside>(NetOutsideParts{loop_, *fetcher_, pool_}, std::move(options));
  }

  static SiteCapture capture(const std::string& url, std::string body) {
    SiteCapture made;
    made.url = url;
    made.datetime = "20261116060000";
    made.body = std::move(body);
    return made;
  }
  WaybackOptions wayback() const {
    WaybackOptions options;
    options.cdx = site_.cdx();
    options.replay = site_.replay();
    options.spn.save = site_.save();
    options.spn.access_key = ArchiveSite::kAccessKey;
    options.spn.secret_key = ArchiveSite::kSecretKey;
    options.spn.poll_ms = 1;
    options.cdx_step_ms = 1;
    options.cdx_error_ms = 1;
    options.scratch = folder_.path();
    return options;
  }

  support::TempFolder folder_;
  ArchiveSite site_;
  net::Loop loop_;
  io::Pool pool_;
  std::unique_ptr<web::Fetcher> fetcher_;
  std::unique_ptr<NetOutside> outside_;
};

TEST_F(ArchiveNetworkTest, APageIsSavedAndReplayed) {
  SiteCapture moved = capture("https://doi.example/10.5072/1", "moved");
  moved.status = 302;
  moved.location = kUrl;
  site_.add(moved);
  site_.set_live("https://doi.example/10.5072/1", capture(kUrl, "<html>hi</html>"));
  Wayback archive(loop_, pool_, *outside_, wayback());
  const Resource missing = loop_.run_until(archive.find_page("https://nowhere.example/", false));
  EXPECT_EQ(missing.status, "invalid-host-resolution");
  const Resource found = loop_.run_until(archive.find_page("https://doi.example/10.5072/1", false));
  EXPECT_EQ(found.status, "success") << found.message;
  EXPECT_EQ(found.body, "<html>hi</html>");
  EXPECT_EQ(found.capture.terminal_url, kUrl);
  const Resource again = loop_.run_until(archive.find_page("https://doi.example/10.5072/1", false));
  EXPECT_EQ(again.status, "success") << again.message;
  EXPECT_EQ(site_.calls_to("/save/status/spn2-"), 4U) << "what is there is not saved again";
}

TEST_F(ArchiveNetworkTest, AFileOfAnArchiveIsVerified) {
  const std::string bytes(3'000'000, 'd');
  const FileMeta meta = file_meta_of(bytes);
  ManifestFile file;
  file.platform_url = "https://site.example/files/a.csv";
  file.size = meta.size;
  file.sha256 = meta.sha256;
  site_.add(capture(file.platform_url, bytes));
  Wayback archive(loop_, pool_, *outside_, wayback());
  const std::optional<Kept> found = loop_.run_until(archive.find_file(file));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "success") << found->message;
  EXPECT_EQ(found->capture.meta.md5, meta.md5);
}

TEST_F(ArchiveNetworkTest, AFileIsUploadedWithItsLengthAndSeenInItsItem) {
  const std::string bytes(3'000'000, 'u');
  std::ofstream(folder_ / "part", std::ios::binary) << bytes;
  const FileMeta meta = file_meta_of(bytes);
  PlatformItem item;
  item.archiveorg_item_name = "site.example-1";
  item.archiveorg_item_meta = {{"title", "R\xC3\xA4in"}};
  ManifestFile& file = item.manifest.emplace_back();
  file.path = "data/rain 1900.csv";
  file.size = meta.size;
  file.md5 = meta.md5;
  ItemUploadOptions options;
  options.s3 = site_.s3();
  options.base = site_.origin();
  options.access_key = ArchiveSite::kAccessKey;
  options.secret_key = ArchiveSite::kSecretKey;
  options.slow_ms = 1;
  options.verify_ms = 1;
  ItemUpload archive(loop_, pool_, *outside_, options);
  site_.fail(ArchiveSite::Fault::SlowDown, 1);
  site_.fail(ArchiveSite::Fault::Spoiled, 1);
  const Kept kept = loop_.run_until(archive.upload(item, file, folder_ / "part", meta.size));
  EXPECT_EQ(kept.status, "success") << kept.message;
  EXPECT_EQ(loop_.run_until(archive.verify(item)).status, "success");
  EXPECT_TRUE(loop_.run_until(archive.check_existing(item)).complete);
  const auto items = site_.items();
  EXPECT_EQ(items.at("site.example-1").files.at(file.path).bytes, bytes);
  EXPECT_EQ(items.at("site.example-1").metadata.at("title").front(), "R\xC3\xA4in");
}

TEST_F(ArchiveNetworkTest, OurOwnArchiveKeepsWhatItDownloads) {
  web::Archives archives({.folder = folder_ / "warc", .software = "quern/test"});
  std::vector<OwnRecord> noted;
  OwnArchiveParts parts{loop_, pool_, *outside_, archives.of("dataset-c1-j1-00000000"), {}, {}};
  parts.note = [&noted](OwnRecord record) -> net::Task<Result<>> {
    noted.push_back(std::move(record));
    co_return Result<>();
  };
  OwnArchive own(std::move(parts));
  site_.add(capture("https://site.example/a", "<html>kept</html>"));
  const std::string url = site_.replay() + "20261116060000id_/https://site.example/a";
  const Resource page = loop_.run_until(own.find_page(url, false));
  EXPECT_EQ(page.status, "success") << page.message;
  EXPECT_EQ(page.body, "<html>kept</html>");
  DownloadOrder order;
  order.url = url;
  order.part = folder_ / "part";
  order.bytes_max = 1'000'000;
  const Downloaded got = loop_.run_until(outside_->download(order));
  ASSERT_EQ(got.status, "verified-local") << got.message;
  ManifestFile file;
  file.platform_url = url;
  const Kept kept = loop_.run_until(own.keep_file(file, &got, folder_ / "part"));
  EXPECT_EQ(kept.status, "success") << kept.message;
  EXPECT_EQ(kept.capture.meta.sha1, page.capture.meta.sha1);
  ASSERT_EQ(noted.size(), 2U);
  EXPECT_EQ(noted[0].sha1b32, noted[1].sha1b32);
}

}  // namespace
}  // namespace quern::fileset

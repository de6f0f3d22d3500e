// For tests of downloads: a real outside, and a server that fails on command.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "fileset/net_outside.h"
#include "support/faulty_files.h"
#include "support/temp_folder.h"

namespace quern::fileset {

inline constexpr std::int64_t kTestFileBytes = 1'000'000;

inline Digests digests_of(std::string_view bytes) {
  Sums sums;
  sums.add(bytes);
  return sums.digests();
}

class DownloadFixture : public testing::Test {
 protected:
  DownloadFixture() {
    server_.put("/a", {.size = kTestFileBytes, .seed = 1});
    open();
  }

  // Anew, as a process that has just started.
  void open() {
    outside_.reset();
    fetcher_.reset();
    web::FetcherOptions options;
    options.user_agent = "quern-test/1.0";
    options.spool = folder_.path();
    fetcher_ = web::Fetcher::open(std::move(options)).value();
    NetOutsideOptions net = options_;
    net.allowed = web::AllowedHosts::parse("127.0.0.1").value();
    outside_ = std::make_unique<NetOutside>(NetOutsideParts{loop_, *fetcher_, pool_}, net);
  }

  // All that the manifest could say of it.
  DownloadOrder order(const std::string& path = "/a") {
    const std::string bytes = server_.contents(path);
    const Digests digests = digests_of(bytes);
    DownloadOrder order = bare_order(path);
    order.size = static_cast<std::int64_t>(bytes.size());
    order.md5 = digests.md5;
    order.sha1 = digests.sha1;
    order.sha256 = digests.sha256;
    return order;
  }
  // Nothing but where it is.
  DownloadOrder bare_order(const std::string& path = "/a") {
    DownloadOrder order;
    order.url = server_.url(path);
    order.part = part();
    order.idle_ms = 10'000;
    order.total_ms = 60'000;
    return order;
  }
  Downloaded download(DownloadOrder order) {
    return loop_.run_until(outside_->download(std::move(order)));
  }
  Answer ask(Ask ask) { return loop_.run_until(outside_->ask(std::move(ask))); }

  std::filesystem::path part() const { return folder_ / "files/part"; }
  bool part_exists() const {
    return std::filesystem::exists(part()) || std::filesystem::exists(note_path(part()));
  }
  std::string part_bytes() const {
    std::ifstream in(part(), std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  PartNote note() const {
    return parse_part_note(io::read_file(note_path(part()), kPartNoteBytesMax).value()).value();
  }
  // Whatever came of the download, the part must be the file as the server has it now.
  void expect_verified(const Downloaded& done, const std::string& path = "/a") {
    EXPECT_EQ(done.status, "verified-local") << done.message;
    const std::string bytes = server_.contents(path);
    EXPECT_TRUE(part_bytes() == bytes) << "the part is not the file";
    EXPECT_EQ(done.size, static_cast<std::int64_t>(bytes.size()));
    EXPECT_EQ(done.sha256, digests_of(bytes).sha256);
    EXPECT_EQ(done.md5, digests_of(bytes).md5);
  }
  void expect_gone(const Downloaded& done, std::string_view status) {
    EXPECT_EQ(done.status, status) << done.message;
    EXPECT_FALSE(done.passing);
    EXPECT_NE(done.message, "");
    EXPECT_FALSE(part_exists());
  }

  NetOutsideOptions options_{.backoff_ms = 1, .part_sync_bytes = 128 * 1024};
  support::FaultyFiles server_;
  support::TempFolder folder_;
  net::Loop loop_;
  io::Pool pool_{{.threads = 2}};
  std::unique_ptr<web::Fetcher> fetcher_;
  std::unique_ptr<NetOutside> outside_;
};

}  // namespace quern::fileset

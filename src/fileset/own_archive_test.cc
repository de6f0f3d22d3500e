#include "fileset/own_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "fileset/file_meta.h"
#include "fileset/landing.h"
#include "fileset/scripted_outside.h"
#include "io/file.h"
#include "support/temp_folder.h"
#include "web/archives.h"
#include "web/body.h"
#include "web/warc_message.h"

namespace quern::fileset {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kAtUs = 1'794'808'800'000'000;  // 2026-11-16T06:00:00Z
constexpr char kPrefix[] = "dataset-c1-j1-00000000";
constexpr char kUrl[] = "https://site.example/records/1";

class OwnArchiveTest : public ::testing::Test {
 protected:
  OwnArchiveTest() : pool_({}) {
    web::Archives archives({.folder = folder_ / "warc", .software = "quern/test"});
    archive_ = archives.of(kPrefix);
  }

  // An answer as it came from a socket.
  void serve(const std::string& url, int status, const std::string& body,
             web::HeaderList headers = {}) {
    Answer answer;
    answer.status = status;
    answer.headers = headers;
    answer.body = body;
    answer.url = url;
    answer.last.status = status;
    answer.last.headers = std::move(headers);
    answer.last.raw = web::BodyWriter::in_memory(body);
    answer.last.request_head = "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n";
    answer.last.began_us = kAtUs;
    outside_.add(url, std::move(answer));
  }
  OwnArchiveParts parts() {
    OwnArchiveParts parts{loop_, pool_, outside_, archive_, {}, {}};
    parts.note = [this](OwnRecord record) { return note(this, std::move(record)); };
    parts.find = [this](std::string url) { return find(this, std::move(url)); };
    return parts;
  }
  Resource page(const std::string& url) {
    OwnArchive archive(parts());
    return loop_.run_until(archive.find_page(url, false));
  }
  Kept keep(const ManifestFile& file, const Downloaded& downloaded,
            const std::filesystem::path& part) {
    OwnArchive archive(parts());
    return loop_.run_until(archive.keep_file(file, &downloaded, part));
  }
  std::optional<Kept> find_file(const ManifestFile& file) {
    OwnArchive archive(parts());
    return loop_.run_until(archive.find_file(file));
  }
  // The payload that a record has.
  std::string payload_of(const OwnRecord& record, web::ArchivedHead* head = nullptr) {
    auto reader = web::Archive::read_at(folder_ / "warc" / record.warc, record.offset);
    EXPECT_TRUE(reader.ok());
    const auto found = (*reader)->next();
    EXPECT_TRUE(found.ok() && *found) << "no record";
    auto message = web::ArchivedMessage::open(**reader);
    EXPECT_TRUE(message.ok());
    if (head != nullptr) *head = message->head();
    std::string payload;
    std::string buffer(4096, '\0');
    while (const std::size_t got = *message->read(buffer.data(), buffer.size())) {
      payload.append(buffer, 0, got);
    }
    return payload;
  }
  static net::Task<Result<>> note(OwnArchiveTest* self, OwnRecord record) {
    self->noted_.push_back(std::move(record));
    if (self->notes_fail_) co_return Error{Errc::Full, "the disk is full"};
    co_return Result<>();
  }
  static net::Task<Result<std::vector<OwnCapture>>> find(OwnArchiveTest* self, std::string url) {
    std::vector<OwnCapture> found;
    for (const OwnCapture& capture : self->known_) {
      if (capture.record.url == url) found.push_back(capture);
    }
    co_return found;
  }

  support::TempFolder folder_;
  net::Loop loop_;
  io::Pool pool_;
  ScriptedOutside outside_;
  std::shared_ptr<web::Archive> archive_;
  std::vector<OwnRecord> noted_;
  std::vector<OwnCapture> known_;
  bool notes_fail_ = false;
};

TEST_F(OwnArchiveTest, APageIsCapturedAndNoted) {
  serve(kUrl, 200, "<html>hi</html>", {{"Content-Type", "text/html; charset=utf-8"}});
  const Resource found = page(kUrl);
  EXPECT_EQ(found.status, "success");
  EXPECT_EQ(found.body, "<html>hi</html>");
  EXPECT_EQ(found.capture.terminal_url, kUrl);
  EXPECT_EQ(found.capture.terminal_dt, "20261116060000");
  EXPECT_EQ(found.capture.status_code, 200);
  EXPECT_EQ(found.capture.meta.mimetype, "text/html");
  ASSERT_EQ(noted_.size(), 1U);
  const boost::json::object& cdx = found.capture.cdx;
  EXPECT_EQ(cdx.at("surt"), "example,site)/records/1");
  EXPECT_EQ(cdx.at("mimetype"), "text/html");
  EXPECT_EQ(cdx.at("sha1hex"), boost::json::string(found.capture.meta.sha1));
  EXPECT_EQ(cdx.at("warc_path"), boost::json::string(noted_[0].warc));
  EXPECT_THAT(noted_[0].warc, StartsWith(kPrefix));
  EXPECT_EQ(payload_of(noted_[0]), "<html>hi</html>");
}

TEST_F(OwnArchiveTest, EachHopIsCaptured) {
  serve("https://doi.org/10.5072/1", 302, "", {{"Location", kUrl}});
  serve(kUrl, 301, "moved", {{"Location", "/records/2"}});
  serve("https://site.example/records/2", 200, "page");
  const Resource found = page("https://doi.org/10.5072/1");
  EXPECT_EQ(found.status, "success");
  EXPECT_EQ(found.capture.terminal_url, "https://site.example/records/2");
  ASSERT_EQ(noted_.size(), 3U);
  EXPECT_EQ(noted_[0].status, 302);
  EXPECT_EQ(noted_[1].url, kUrl);
  EXPECT_LE(noted_[0].end, noted_[1].offset);
}

TEST_F(OwnArchiveTest, WhatCannotBeHadHasItsOwnStatus) {
  serve("http://a.example/404", 404, "gone");
  serve("http://a.example/504", 504, "late");
  serve("http://a.example/503", 503, "busy");
  serve("http://a.example/loop", 302, "", {{"Location", "/loop"}});
  serve("http://a.example/bad", 302, "", {{"Location", "http://"}});
  serve("http://a.example/none", 302, "");
  serve("http://a.example/ftp", 302, "", {{"Location", "ftp://a.example/"}});
  serve("http://a.example/empty", 200, "");
  serve("http://a.example/gzip", 200, "\x1F\x8B\x08 broken");
  using Problem = web::FetchProblem;
  outside_.fail("http://a.example/name", Problem::Name, "no address");
  outside_.fail("http://a.example/late", Problem::Timeout, "late");
  outside_.fail("http://a.example/large", Problem::TooLarge, "large");
  outside_.fail("http://a.example/refused", Problem::Connect, "refused");
  outside_.fail("http://a.example/private", Problem::Address, "not public");
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"404", "terminal-bad-status", false}, {"504", "gateway-timeout", true},
      {"503", "terminal-bad-status", true},  {"loop", "redirect-loop", false},
      {"bad", "bad-redirect", false},        {"none", "bad-redirect", false},
      {"ftp", "bad-redirect", false},        {"empty", "empty-blob", false},
      {"gzip", "bad-gzip-encoding", false},  {"name", "invalid-host-resolution", true},
      {"late", "read-timeout", true},        {"large", "body-too-large", false},
      {"refused", "connection-error", true}, {"private", "skip-url-blocklist", false}};
  for (const auto& [name, status, passing] : cases) {
    const Resource found = page("http://a.example/" + std::string(name));
    EXPECT_EQ(found.status, status) << name;
    EXPECT_EQ(found.passing, passing) << name;
    EXPECT_FALSE(found.message.empty()) << name;
    EXPECT_FALSE(found.capture.terminal_url.empty()) << name;
  }
  EXPECT_EQ(page("http://a.example/404").capture.status_code, 404);
}

TEST_F(OwnArchiveTest, AFileThatIsLargerThanAnyPageIsNoPage) {
  Answer answer;
  answer.problem = web::FetchProblem::TooLarge;
  answer.message = "the body is too large";
  answer.status = 200;
  answer.headers = {{"Content-Type", "application/zip"}};
  answer.last.began_us = kAtUs;
  outside_.add("http://a.example/a.zip", answer);
  const Resource found = page("http://a.example/a.zip");
  EXPECT_EQ(found.status, "success");
  EXPECT_EQ(found.capture.meta.mimetype, "application/zip");
  EXPECT_EQ(found.capture.terminal_url, "http://a.example/a.zip");
  EXPECT_EQ(found.capture.terminal_dt, "20261116060000");
  EXPECT_TRUE(found.body.empty());
  EXPECT_TRUE(noted_.empty()) << "who keeps the file captures it";
  answer.headers = {{"Content-Type", "text/html"}};
  outside_.add("http://a.example/page", answer);
  EXPECT_EQ(page("http://a.example/page").status, "body-too-large");
}

TEST_F(OwnArchiveTest, RedirectsAreBounded) {
  for (int i = 0; i <= kHopsMax + 1; ++i) {
    serve("http://a.example/" + std::to_string(i), 302, "",
          {{"Location", "/" + std::to_string(i + 1)}});
  }
  EXPECT_EQ(page("http://a.example/0").status, "redirects-exceeded");
  EXPECT_EQ(noted_.size(), static_cast<std::size_t>(kHopsMax) + 1);
}

TEST_F(OwnArchiveTest, NothingIsKeptThatCouldNotBeNoted) {
  notes_fail_ = true;
  serve(kUrl, 200, "page");
  const Resource found = page(kUrl);
  EXPECT_EQ(found.status, "petabox-error");
  EXPECT_TRUE(found.passing);
  EXPECT_THAT(found.message, HasSubstr("full"));
}

TEST_F(OwnArchiveTest, AFileIsArchivedAsIfItHadComeAtOnce) {
  const std::string bytes(700'000, 'd');
  std::ofstream(folder_ / "part", std::ios::binary) << bytes;
  const FileMeta meta = file_meta_of(bytes);
  ManifestFile file;
  file.platform_url = "https://site.example/a.csv";
  Downloaded downloaded;
  downloaded.status = "verified-local";
  downloaded.size = meta.size;
  downloaded.md5 = meta.md5;
  downloaded.sha1 = meta.sha1;
  downloaded.sha256 = meta.sha256;
  downloaded.terminal_url = "https://files.example/signed?x=1";
  downloaded.http_status = 200;
  downloaded.headers = {{"Content-Type", "text/csv"},
                        {"Content-Length", "1234"},
                        {"Content-Range", "bytes 0-1233/700000"},
                        {"Transfer-Encoding", "chunked"}};
  downloaded.request_head = "GET / HTTP/1.1\r\n\r\n";
  downloaded.began_us = kAtUs;
  const Kept kept = keep(file, downloaded, folder_ / "part");
  EXPECT_EQ(kept.status, "success") << kept.message;
  EXPECT_EQ(kept.capture.terminal_url, "https://files.example/signed?x=1");
  EXPECT_EQ(kept.capture.meta.sha256, meta.sha256);
  ASSERT_EQ(noted_.size(), 1U);
  web::ArchivedHead head;
  EXPECT_EQ(payload_of(noted_[0], &head), bytes);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(web::find_header(head.headers, "Content-Length"), "700000");
  EXPECT_EQ(web::find_header(head.headers, "Content-Range"), "");
  EXPECT_EQ(web::find_header(head.headers, "X-Archive-Orig-Content-Length"), "1234");
  EXPECT_EQ(web::find_header(head.headers, "X-Archive-Orig-Content-Range"), "bytes 0-1233/700000");
  EXPECT_EQ(web::find_header(head.headers, "X-Archive-Orig-Transfer-Encoding"), "chunked");
}

TEST_F(OwnArchiveTest, ACodingIsToldOnlyWhereTheBytesStillHaveIt) {
  const auto coding_of = [this](const std::string& bytes, const std::string& length) {
    std::ofstream(folder_ / "part", std::ios::binary) << bytes;
    Downloaded downloaded;
    downloaded.terminal_url = kUrl;
    downloaded.size = static_cast<std::int64_t>(bytes.size());
    downloaded.headers = {{"Content-Encoding", "gzip"}, {"Content-Length", length}};
    EXPECT_EQ(keep({}, downloaded, folder_ / "part").status, "success");
    web::ArchivedHead head;
    EXPECT_EQ(payload_of(noted_.back(), &head), bytes);
    return std::string(web::find_header(head.headers, "Content-Encoding"));
  };
  EXPECT_EQ(coding_of("\x1F\x8B\x08 packed", "10"), "gzip");
  EXPECT_EQ(coding_of("\x1F\x8B\x08 packed", "7"), "") << "gzip within gzip";
  EXPECT_EQ(coding_of("plain", "25"), "");
}

TEST_F(OwnArchiveTest, APartThatIsNotWhatWasVerifiedIsNotKept) {
  std::ofstream(folder_ / "part", std::ios::binary) << "abcd";
  const FileMeta meta = file_meta_of("abce");
  Downloaded downloaded;
  downloaded.terminal_url = kUrl;
  downloaded.sha1 = meta.sha1;
  downloaded.size = 5;
  EXPECT_EQ(keep({}, downloaded, folder_ / "part").status, "mismatch");
  downloaded.size = 4;
  EXPECT_EQ(keep({}, downloaded, folder_ / "part").status, "mismatch");
  EXPECT_EQ(keep({}, downloaded, folder_ / "none").status, "petabox-error");
}

TEST_F(OwnArchiveTest, AFileWithoutBytesIsKept) {
  std::ofstream(folder_ / "part", std::ios::binary) << "";
  Downloaded downloaded;
  downloaded.terminal_url = kUrl;
  downloaded.sha1 = file_meta_of("").sha1;
  EXPECT_EQ(keep({}, downloaded, folder_ / "part").status, "success");
  ASSERT_EQ(noted_.size(), 1U);
  EXPECT_EQ(payload_of(noted_[0]), "");
}

TEST_F(OwnArchiveTest, AnEarlierCaptureIsFoundByItsDigests) {
  OwnCapture old;
  old.record.url = kUrl;
  old.record.status = 200;
  old.record.at_us = kAtUs;
  old.meta = file_meta_of("one");
  OwnCapture error = old;
  error.record.status = 404;
  error.meta = file_meta_of("two");
  known_ = {error, old};
  ManifestFile file;
  file.platform_url = kUrl;
  EXPECT_FALSE(find_file(file)) << "without a digest nothing is proven";
  file.sha1 = file_meta_of("one").sha1;
  const std::optional<Kept> found = find_file(file);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "success");
  EXPECT_EQ(found->capture.terminal_dt, "20261116060000");
  file.sha1 = file_meta_of("two").sha1;
  EXPECT_FALSE(find_file(file));
  file.sha1 = file_meta_of("one").sha1;
  file.size = 4;
  EXPECT_FALSE(find_file(file));
}

TEST(LandingTest, AMismatchSaysWhatDiffers) {
  const FileMeta meta = file_meta_of("abc");
  ManifestFile file;
  EXPECT_EQ(mismatch_of(file, meta, Compat::Default), "");
  EXPECT_THAT(mismatch_of(file, meta, Compat::Strict), HasSubstr("size"));
  file.size = 3;
  EXPECT_EQ(mismatch_of(file, meta, Compat::Strict), "");
  file.sha256 = std::string(64, '0');
  EXPECT_EQ(mismatch_of(file, meta, Compat::Strict), "");
  EXPECT_THAT(mismatch_of(file, meta, Compat::Default), HasSubstr("SHA-256"));
  file.sha1 = std::string(40, '0');
  EXPECT_THAT(mismatch_of(file, meta, Compat::Strict), HasSubstr("SHA-1"));
  file.md5 = std::string(32, '0');
  EXPECT_THAT(mismatch_of(file, meta, Compat::Strict), HasSubstr("MD5"));
  file.size = 4;
  EXPECT_THAT(mismatch_of(file, meta, Compat::Default), HasSubstr("bytes"));
}

}  // namespace
}  // namespace quern::fileset

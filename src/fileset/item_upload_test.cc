#include "fileset/item_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "fileset/file_meta.h"
#include "fileset/item_files.h"
#include "fileset/scripted_outside.h"
#include "fileset/site_outside.h"
#include "io/file.h"
#include "support/archive_site.h"
#include "support/corpus.h"
#include "support/temp_folder.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using support::ArchiveSite;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Fault = ArchiveSite::Fault;

ManifestFile file_of(const std::string& path, std::string_view bytes) {
  const FileMeta meta = file_meta_of(bytes);
  ManifestFile file;
  file.path = path;
  file.size = meta.size;
  file.md5 = meta.md5;
  file.sha1 = meta.sha1;
  return file;
}

class ItemUploadTest : public ::testing::Test {
 protected:
  ItemUploadTest() : pool_({}), outside_(loop_, site_.origin()) {
    options_.s3 = site_.s3();
    options_.base = site_.origin();
    options_.access_key = ArchiveSite::kAccessKey;
    options_.secret_key = ArchiveSite::kSecretKey;
    options_.slow_ms = 1;
    options_.verify_ms = 1;
    options_.verify_tries_max = 5;
    item_.archiveorg_item_name = "zenodo.org-1";
    item_.archiveorg_item_meta = {{"title", "A title"}, {"collection", "datasets"}};
  }
  Kept upload(const std::string& path, const std::string& bytes) {
    std::ofstream(folder_ / "part", std::ios::binary) << bytes;
    ItemUpload upload(loop_, pool_, outside_, options_);
    return loop_.run_until(upload.upload(item_, file_of(path, bytes), folder_ / "part", 1000));
  }
  ItemArchive::Existing existing() {
    ItemUpload upload(loop_, pool_, outside_, options_);
    return loop_.run_until(upload.check_existing(item_));
  }
  Kept verify() {
    ItemUpload upload(loop_, pool_, outside_, options_);
    return loop_.run_until(upload.verify(item_));
  }

  support::TempFolder folder_;
  ArchiveSite site_;
  net::Loop loop_;
  io::Pool pool_;
  SiteOutside outside_;
  ItemUploadOptions options_;
  PlatformItem item_;
};

TEST_F(ItemUploadTest, TheFirstFileMakesTheItem) {
  item_.archiveorg_item_meta = {
      {"title", "Caf\xC3\xA9 & more"}, {"creator", json::array{"One", "Two"}}, {"is_part_of", "x"}};
  EXPECT_EQ(upload("data/a b.csv", "1,2\n").status, "success");
  const auto items = site_.items();
  ASSERT_TRUE(items.contains("zenodo.org-1"));
  const support::SiteItem& item = items.at("zenodo.org-1");
  EXPECT_EQ(item.files.at("data/a b.csv").bytes, "1,2\n");
  EXPECT_THAT(item.metadata.at("title"), ElementsAre("Caf\xC3\xA9 & more"));
  EXPECT_THAT(item.metadata.at("creator"), ElementsAre("One", "Two"));
  EXPECT_THAT(item.metadata.at("is_part_of"), ElementsAre("x"));
  const support::SiteCall put = site_.calls().back();
  EXPECT_EQ(put.target, "/s3/zenodo.org-1/data/a%20b.csv");
  EXPECT_EQ(*put.headers.find("x-archive-size-hint"), "1000");
  EXPECT_EQ(*put.headers.find("x-archive-queue-derive"), "0");
}

TEST_F(ItemUploadTest, AFileThatIsThereIsNotSentAgain) {
  EXPECT_EQ(upload("a", "one").status, "success");
  EXPECT_EQ(upload("a", "one").status, "exists");
  EXPECT_EQ(site_.calls_to("/s3/zenodo.org-1/"), 1U);
  EXPECT_EQ(upload("a", "two").status, "success");
  EXPECT_EQ(site_.items().at("zenodo.org-1").files.at("a").bytes, "two");
}

TEST_F(ItemUploadTest, SlowDownIsWaitedOut) {
  site_.fail(Fault::SlowDown, 2);
  site_.fail(Fault::OverLimit, 3);
  EXPECT_EQ(upload("a", "one").status, "success");
  EXPECT_EQ(site_.calls_to("/s3/?check_limit=1"), 5U);
}

TEST_F(ItemUploadTest, SlowDownIsNotWaitedOutForEver) {
  options_.slow_tries_max = 4;
  site_.fail(Fault::SlowDown, 1000);
  const Kept kept = upload("a", "one");
  EXPECT_EQ(kept.status, "error-archiveorg-upload");
  EXPECT_TRUE(kept.passing);
  EXPECT_LE(site_.calls_to("/s3/zenodo.org-1/"), 5U);
}

TEST_F(ItemUploadTest, SpoiledBytesAreSentAgain) {
  site_.fail(Fault::Spoiled, 1);
  EXPECT_EQ(upload("a", "one").status, "success");
  EXPECT_EQ(site_.items().at("zenodo.org-1").files.at("a").bytes, "one");
  site_.fail(Fault::Spoiled, 1000);
  const Kept kept = upload("b", "two");
  EXPECT_EQ(kept.status, "error-archiveorg-upload");
  EXPECT_TRUE(kept.passing);
  EXPECT_THAT(kept.message, HasSubstr("Content-MD5"));
}

TEST_F(ItemUploadTest, WhatWillNotHelpIsNotRepeated) {
  options_.secret_key = "wrong";
  Kept kept = upload("a", "one");
  EXPECT_EQ(kept.status, "error-archiveorg-upload");
  EXPECT_FALSE(kept.passing);
  EXPECT_THAT(kept.message, HasSubstr("privileges"));
  EXPECT_EQ(site_.calls_to("/s3/zenodo.org-1/"), 1U);
  options_.secret_key.clear();
  EXPECT_THAT(upload("a", "one").message, HasSubstr("set its access key"));
  options_.secret_key = ArchiveSite::kSecretKey;
  EXPECT_FALSE(upload("", "one").passing);
  EXPECT_EQ(upload("/etc/passwd", "one").status, "error-archiveorg-upload");
  item_.archiveorg_item_name = "../x";
  EXPECT_THAT(upload("a", "one").message, HasSubstr("name of an item"));
}

TEST_F(ItemUploadTest, AFileThatChangedSinceItWasVerifiedIsNotSent) {
  std::ofstream(folder_ / "part", std::ios::binary) << "other";
  ItemUpload upload(loop_, pool_, outside_, options_);
  const Kept kept =
      loop_.run_until(upload.upload(item_, file_of("a", "one"), folder_ / "part", 10));
  EXPECT_EQ(kept.status, "error-archiveorg-upload");
  EXPECT_EQ(site_.calls_to("/s3/"), 0U);
}

TEST_F(ItemUploadTest, AnItemIsCompleteWhateverTheOrder) {
  item_.manifest = {file_of("a", "one"), file_of("b/c", "two")};
  EXPECT_FALSE(existing().complete) << "there is no item";
  (void)upload("a", "one");
  EXPECT_FALSE(existing().complete);
  (void)upload("b/c", "two");
  const ItemArchive::Existing found = existing();  // the service lists them backwards
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.files.size(), 3U);
  options_.compat = Compat::Strict;
  EXPECT_FALSE(existing().complete) << "the original misses them";
  std::ranges::reverse(item_.manifest);
  EXPECT_TRUE(existing().complete);
}

TEST_F(ItemUploadTest, VerificationWaitsForTheItem) {
  item_.manifest = {file_of("a", "one")};
  (void)upload("a", "one");
  site_.fail(Fault::ItemLate, 2);
  EXPECT_EQ(verify().status, "success");
  site_.fail(Fault::ItemLate, 1000);
  const Kept kept = verify();
  EXPECT_EQ(kept.status, "error-archiveorg-upload");
  EXPECT_TRUE(kept.passing);
  site_.fail(Fault::ItemLate, 0);
  item_.manifest.push_back(file_of("b", "two"));
  EXPECT_THAT(verify().message, HasSubstr("b is not in the item"));
}

TEST_F(ItemUploadTest, AServiceThatIsGoneIsAPassingFailure) {
  options_.base = "http://127.0.0.1:1";
  EXPECT_EQ(existing().status, "error-archiveorg-upload");
}

TEST(ItemNameTest, NamesAreThoseOfTheService) {
  EXPECT_TRUE(is_item_name("zenodo.org-1028059"));
  EXPECT_TRUE(is_item_name("abc"));
  EXPECT_TRUE(is_item_name(std::string(100, 'a')));
  EXPECT_FALSE(is_item_name(std::string(101, 'a')));
  for (const char* name :
       {"", "ab", ".abc", "-abc", "_abc", "a b", "a/b", "\xC3\xA9tude", "a\nb"}) {
    EXPECT_FALSE(is_item_name(name)) << name;
  }
}

TEST(ItemNameTest, PathsAreEscapedPieceByPiece) {
  EXPECT_EQ(item_target("item", "a/b c/\xC3\xA9?#%.csv"), "/item/a/b%20c/%C3%A9%3F%23%25.csv");
}

TEST(ItemMetaTest, HeadersCarryAnyText) {
  const web::HeaderList headers = meta_headers({{"title", "plain"},
                                                {"description", "a\r\nX-Evil: 1"},
                                                {"creator", json::array{"\xC3\x89mile", "B", 3}},
                                                {"is_part_of", "x"},
                                                {"bad key\r\n", "v"},
                                                {"nothing", nullptr},
                                                {"object", json::object()},
                                                {"empty", ""}});
  EXPECT_THAT(headers,
              ElementsAre(std::pair("x-archive-meta00-title", "plain"),
                          std::pair("x-archive-meta00-description", "uri(a%0D%0AX-Evil%3A%201)"),
                          std::pair("x-archive-meta00-creator", "uri(%C3%89mile)"),
                          std::pair("x-archive-meta01-creator", "B"),
                          std::pair("x-archive-meta02-creator", "3"),
                          std::pair("x-archive-meta00-is--part--of", "x"),
                          std::pair("x-archive-meta00-badkey", "v")));
}

TEST(ItemMetaTest, HeadersAreBounded) {
  json::array many(kMetaHeadersMax + 5, "x");
  EXPECT_EQ(meta_headers({{"subject", many}}).size(), kMetaHeadersMax);
  const std::string text(kMetaValueBytesMax + 100, 'x');
  EXPECT_EQ(meta_headers({{"title", text}}).at(0).second.size(), kMetaValueBytesMax);
}

TEST(ItemFilesTest, AnswersOfAnyShapeAreRead) {
  EXPECT_TRUE(parse_item_files("{}")->empty());
  EXPECT_TRUE(parse_item_files(R"({"files": 5})")->empty());
  EXPECT_FALSE(parse_item_files("[]").ok());
  EXPECT_FALSE(parse_item_files("{\"files\": [").ok());
  const auto files = parse_item_files(
      R"({"files": [1, {}, {"name": 2}, {"name": "a", "size": "12", "md5": "AB", "sha1": null},
          {"name": "b", "size": -1}, {"name": "c", "size": "99999999999999999999"},
          {"name": "d", "size": 7}]})");
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 4U);
  EXPECT_EQ((*files)[0].size, 12);
  EXPECT_EQ((*files)[0].md5, "ab");
  EXPECT_FALSE((*files)[1].size);
  EXPECT_FALSE((*files)[2].size);
  EXPECT_EQ((*files)[3].size, 7);
}

TEST(ItemFilesCorpusTest, ARecordedItemHasItsFiles) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto text = io::read_file(corpus / "filesets/archiveorg_metadata_nasa.json", 1 << 20);
  if (!text.ok()) GTEST_SKIP() << "QUERN_CORPUS has no filesets";
  const auto files = parse_item_files(*text);
  ASSERT_TRUE(files.ok()) << files.error().message();
  ASSERT_FALSE(files->empty());
  EXPECT_EQ(files->front().md5.size(), 32U);
}

}  // namespace
}  // namespace quern::fileset

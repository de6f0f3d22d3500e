#include "fileset/bundle.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "fileset/keep_step.h"
#include "fileset/scripted_outside.h"
#include "support/temp_folder.h"
#include "web/wacz_zip.h"

namespace quern::fileset {
namespace {

class BundleTest : public testing::Test {
 protected:
  // Stored entries; `zip64_from` small: as a large file has them.
  void write_zip(const std::vector<std::pair<std::string, std::string>>& files,
                 std::int64_t zip64_from = web::kZip64From) {
    std::string bytes;
    auto sink = [&bytes](std::string_view more) -> Result<> {
      bytes += more;
      return {};
    };
    web::ZipWriter writer(sink, 0, zip64_from);
    for (const auto& [name, body] : files) {
      const auto* data = reinterpret_cast<const Bytef*>(body.data());
      const auto crc = static_cast<std::uint32_t>(::crc32_z(0, data, body.size()));
      ASSERT_TRUE(writer.begin({name, static_cast<std::int64_t>(body.size()), crc}).ok());
      ASSERT_TRUE(writer.add(body).ok());
    }
    ASSERT_TRUE(writer.finish().ok());
    write(bytes);
  }
  void write(const std::string& bytes) {
    bytes_ = bytes;
    std::ofstream(zip_, std::ios::binary | std::ios::trunc) << bytes;
  }
  FileRow bundle() {
    FileRow row;
    row.number = kBundleNumber;
    row.file.path = "all.zip";
    row.file.status = "success";
    return row;
  }
  FileRow listed(const std::string& path, const std::string& body) {
    FileRow row;
    row.file.path = path;
    row.file.size = static_cast<std::int64_t>(body.size());
    row.file.md5 = md5_hex(body);
    return row;
  }

  support::TempFolder folder_;
  std::filesystem::path zip_ = folder_ / "all.zip";
  std::string bytes_;
};

TEST_F(BundleTest, FilesOfTheManifestAreFoundAndHashed) {
  write_zip({{"set/", ""}, {"set/a.csv", "hello"}, {"set/deep/b.csv", "world"}});
  FileRow all = bundle();
  const std::vector<FileRow> rows = bundle_members(
      all, {all, listed("a.csv", "hello"), listed("deep/b.csv", "WORLD"), listed("c.csv", "")},
      zip_, {});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].file.status, "success");
  EXPECT_EQ(rows[0].file.sha256, sha256_hex("hello"));
  EXPECT_EQ(rows[1].file.status, "mismatch-md5");
  EXPECT_EQ(rows[2].file.status, "mismatch");
}

TEST_F(BundleTest, WithoutAManifestWhatIsInItIsOne) {
  write_zip({{"a.csv", "hello"}, {"../b.csv", "world"}, {"empty", ""}}, 1);
  FileRow all = bundle();
  const std::vector<FileRow> rows = bundle_members(all, {all}, zip_, {});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].file.status, "success");
  EXPECT_EQ(rows[0].file.md5, md5_hex("hello"));
  EXPECT_EQ(rows[1].file.status, "unsafe-path");
  EXPECT_EQ(rows[2].file.size, 0);
}

TEST_F(BundleTest, WhatIsInItIsWithinTheLimitsOfTheRequest) {
  write_zip({{"a.csv", "hello"}, {"b.csv", "world"}});
  const auto status = [&](BundleLimits limits) {
    FileRow all = bundle();
    const std::vector<FileRow> rows = bundle_members(all, {all}, zip_, limits);
    EXPECT_EQ(rows.size(), is_kept(all.file.status) ? 2U : 0U);
    return all.file.status;
  };
  EXPECT_EQ(status({.files_max = 2, .bytes_max = 10}), "success");
  EXPECT_EQ(status({.files_max = 1, .bytes_max = 10}), "too-many-files");
  EXPECT_EQ(status({.files_max = 2, .bytes_max = 9}), "too-large-size");
  FileRow all = bundle();
  FileRow unsized = listed("b.csv", "world");
  unsized.file.size.reset();
  const std::vector<FileRow> rows = bundle_members(all, {all, listed("a.csv", "hello"), unsized},
                                                   zip_, {.files_max = 2, .bytes_max = 9});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].file.status, "success");
  EXPECT_EQ(rows[1].file.status, "too-large-size");
}

// Its end record says what it likes; it is believed only as far as the limits go.
TEST_F(BundleTest, ADirectoryBeyondItsLimitsIsNotRead) {
  const auto end64 = [](std::uint64_t rows, std::uint64_t bytes) {
    const auto number = [](std::uint64_t value, int width) {
      std::string text;
      for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i));
      return text;
    };
    return number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
           number(rows, 8) + number(rows, 8) + number(bytes, 8) + number(0, 8) +
           number(0x07064b50, 4) + number(0, 4) + number(bytes, 8) + number(1, 4) +
           number(0x06054b50, 4) + number(0, 4) + number(0xFFFF, 2) + number(0xFFFF, 2) +
           number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4) + number(0, 2);
  };
  write(end64(kBundleMembersMax + 1, 0));
  const auto many = list_bundle(zip_);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().kind(), Errc::TooLarge);
  write(end64(1, 0));
  EXPECT_EQ(list_bundle(zip_).error().kind(), Errc::Corrupt) << "just not too large";
  // A hole of so many bytes before the end: the disk has none of them.
  constexpr std::int64_t kHole = kBundleDirectoryBytesMax + 1;
  write("");
  std::filesystem::resize_file(zip_, kHole);
  std::ofstream(zip_, std::ios::binary | std::ios::app) << end64(1, kHole);
  const auto large = list_bundle(zip_);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind(), Errc::TooLarge);
}

TEST_F(BundleTest, AZipThatIsNoneIsAMismatch) {
  write("this is no zip file, however long it may be");
  FileRow all = bundle();
  const std::vector<FileRow> rows = bundle_members(all, {all, listed("a", "b")}, zip_, {});
  EXPECT_EQ(all.file.status, "mismatch");
  EXPECT_EQ(rows[0].file.status, "mismatch");
}

TEST_F(BundleTest, EveryPrefixAndEveryChangedByteIsReadWithoutHarm) {
  write_zip({{"a.csv", "hello"}, {"b.csv", "world"}}, 1);
  const std::string whole = bytes_;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    write(whole.substr(0, cut));
    EXPECT_FALSE(list_bundle(zip_).ok()) << cut;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    write(changed);
    const auto members = list_bundle(zip_);
    if (!members.ok()) continue;
    for (const BundleMember& member : *members) (void)member_meta(zip_, member);
  }
}

TEST(PathTest, OnlyPathsBelowAreKept) {
  const auto good = [](const std::string& path) {
    return path_problem(path, "web-fileset", false).empty();
  };
  EXPECT_TRUE(good("a"));
  EXPECT_TRUE(good("a/b/c/d e.csv"));
  EXPECT_TRUE(good("name"));
  for (const char* path : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\\b", "a\nb"}) {
    EXPECT_FALSE(good(path)) << path;
  }
  EXPECT_FALSE(good(std::string(kPathBytesMax + 1, 'a')));
  std::string deep = "a";
  for (std::size_t i = 0; i < kPathDepthMax; ++i) deep += "/a";
  EXPECT_FALSE(good(deep));
  EXPECT_FALSE(path_problem("x/y/z", "archiveorg-fileset", true).empty());
  EXPECT_FALSE(path_problem("name", "archiveorg-fileset", true).empty());
}

TEST(SameFileTest, WhatBothTellMustAgree) {
  ManifestFile before;
  before.path = "a";
  before.platform_url = "https://a.test/a";
  before.size = 1;
  before.sha1 = std::string(40, 'a');
  before.md5 = std::string(32, 'b');
  ManifestFile now = before;
  EXPECT_TRUE(is_same_file(before, now));
  now.sha1.clear();
  EXPECT_TRUE(is_same_file(before, now));
  EXPECT_TRUE(is_vouched_for(now));
  now.md5.clear();
  EXPECT_TRUE(is_same_file(before, now));
  EXPECT_FALSE(is_vouched_for(now));
  now = before;
  now.size = 2;
  EXPECT_FALSE(is_same_file(before, now));
  now = before;
  now.md5 = std::string(32, 'c');
  EXPECT_FALSE(is_same_file(before, now));
}

}  // namespace
}  // namespace quern::fileset

#include "fileset/file_meta.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"
#include "web/warc_gzip.h"

namespace quern::fileset {
namespace {

using std::literals::operator""s;

std::string gzipped(std::string_view text) {
  std::string out;
  const web::GzipMember::Sink keep = [&out](std::string_view bytes) {
    out.append(bytes);
    return Result<>();
  };
  web::GzipMember member(keep);
  EXPECT_TRUE(member.add(text).ok());
  EXPECT_TRUE(member.finish().ok());
  return out;
}

void write(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST(FileMetaTest, DigestsAreThoseOfTheStandards) {
  const FileMeta meta = file_meta_of("abc");
  EXPECT_EQ(meta.size, 3);
  EXPECT_EQ(meta.md5, "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(meta.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(meta.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(meta.mimetype, "text/plain");
}

TEST(FileMetaTest, AFileHasTheDigestsOfItsBytes) {
  const support::TempFolder folder;
  std::string bytes(1'000'000, 'x');
  bytes[700'000] = '\0';
  write(folder / "a", bytes);
  const Result<FileMeta> meta = meta_of_file(folder / "a");
  ASSERT_TRUE(meta.ok()) << meta.error().message();
  const FileMeta whole = file_meta_of(bytes);
  EXPECT_EQ(meta->size, 1'000'000);
  EXPECT_EQ(meta->sha256, whole.sha256);
  EXPECT_EQ(meta->md5, whole.md5);
  EXPECT_EQ(meta->mimetype, whole.mimetype);
  EXPECT_EQ(meta_of_file(folder / "none").error().kind(), Errc::Missing);
}

TEST(FileMetaTest, TypesAreTakenFromTheBeginning) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "application/x-empty"},
      {"%PDF-1.4\n%\xE2\xE3\n", "application/pdf"},
      {"PK\x03\x04\x14\0\0\0\x08\0"s, "application/zip"},
      {"\x1F\x8B\x08\0\0\0\0\0"s, "application/gzip"},
      {"\x89HDF\r\n\x1A\n\0\0"s, "application/x-hdf5"},
      {"CDF\x01\0\0"s, "application/x-netcdf"},
      {"\x89PNG\r\n\x1A\n", "image/png"},
      {"a,b\n1,2\n", "text/plain"},
      {"caf\xE9\n", "text/plain"},
      {"{\"a\": 1}", "application/json"},
      {"{a}", "text/plain"},
      {"\xEF\xBB\xBF <!DOCTYPE html><html>", "text/html"},
      {"<!-- a --><html>", "text/html"},
      {"<?xml version='1.0'?><html xmlns=\"http://www.w3.org/1999/xhtml\">",
       "application/xhtml+xml"},
      {"<?xml version='1.0'?><article dtd='x'>", "application/jats+xml"},
      {"<?xml version='1.0'?><eml>", "text/xml"},
      {"\0\0\0\0\x01"s, "application/octet-stream"},
  };
  for (const auto& [bytes, type] : cases) EXPECT_EQ(mimetype_of(bytes), type) << bytes;
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_EQ(mimetype_of(tar), "application/x-tar");
}

TEST(FileMetaTest, AnyBytesHaveAType) {
  unsigned seed = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(static_cast<std::size_t>(round % 300), '\0');
    for (char& c : bytes) {
      seed = seed * 1'664'525 + 1'013'904'223;
      c = static_cast<char>(seed >> 24);
    }
    EXPECT_FALSE(mimetype_of(bytes).empty());
  }
}

TEST(FileMetaTest, WhatIsCompressedIsDense) {
  std::string noise(65'536, '\0');
  unsigned seed = 3;
  for (char& c : noise) {
    seed = seed * 1'664'525 + 1'013'904'223;
    c = static_cast<char>(seed >> 24);
  }
  EXPECT_TRUE(is_dense(noise));
  EXPECT_FALSE(is_dense(noise.substr(0, 1000))) << "it is too short to tell";
  EXPECT_FALSE(is_dense(std::string(65'536, 'x')));
  std::string numbers;
  for (int i = 0; i < 10'000; ++i) numbers += std::to_string(i * 7919) + ",";
  EXPECT_FALSE(is_dense(numbers));
}

TEST(FileMetaTest, AGzipCodingComesOffOnlyWhereTheIndexNamesAnotherType) {
  const std::string coded = gzipped("<html>hi</html>");
  auto plain = undo_gzip(coded, "text/html", 1000);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->value_or("none"), "<html>hi</html>");
  EXPECT_FALSE(undo_gzip(coded, "application/gzip", 1000)->has_value());
  EXPECT_FALSE(undo_gzip("<html>hi</html>", "text/html", 1000)->has_value());
  EXPECT_EQ(undo_gzip(coded, "text/html", 5).error().kind(), Errc::TooLarge);
  EXPECT_EQ(undo_gzip(coded.substr(0, coded.size() - 9), "text/html", 1000).error().kind(),
            Errc::Invalid);
}

TEST(FileMetaTest, TheMetaBehindAGzipCodingIsThatOfTheBytesWithin) {
  const support::TempFolder folder;
  const std::string text(300'000, 'q');
  write(folder / "a.gz", gzipped(text));
  const auto inner = gunzipped_meta(folder / "a.gz", "application/octet-stream", 1'000'000);
  ASSERT_TRUE(inner.ok()) << inner.error().message();
  ASSERT_TRUE(inner->has_value());
  EXPECT_EQ((*inner)->sha1, file_meta_of(text).sha1);
  EXPECT_FALSE(gunzipped_meta(folder / "a.gz", "application/gzip", 1'000'000)->has_value());
  EXPECT_EQ(gunzipped_meta(folder / "a.gz", "x/y", 1000).error().kind(), Errc::TooLarge);
}

}  // namespace
}  // namespace quern::fileset

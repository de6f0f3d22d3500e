#include "fileset/bag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "io/fault.h"
#include "io/file.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace quern::fileset {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using support::TempFolder;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNowUs = 1'794'808'800'000'000;
constexpr std::size_t kTextBytesMax = 1 << 20;
constexpr char kEmptySha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbcMd5[] = "900150983cd24fb0d6963f7d28e17f72";
constexpr char kAbcSha256[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class BagTest : public ::testing::Test {
 protected:
  BagOrder order(BagKind kind = BagKind::Bag) const {
    return {folder_ / "out", kind, "rescue", "", "quern test", kNowUs};
  }
  static Result<> put(BagWriter& bag, const BagFile& file, std::string_view bytes) {
    TRY(bag.begin_file(file));
    TRY(bag.add(bytes.substr(0, 1)));
    if (bytes.size() > 1) TRY(bag.add(bytes.substr(1)));
    return bag.end_file();
  }
  // A dataset with three files, and a file beside it.
  static Result<BagSums> fill(BagWriter& bag) {
    TRY(bag.begin_dataset({"zenodo-7", "Tides", "doi:10.5281/zenodo.7", "https://zenodo.org/7",
                           "Water\nlevels", "2026-11-16T06:00:00Z", "success"}));
    const BagFile abc{"a/abc.txt", 3, kAbcMd5, kAbcSha256, "text/plain", "https://x.test/abc"};
    TRY(put(bag, abc, "abc"));
    TRY(put(bag, {.path = "empty", .bytes = 0, .sha256 = kEmptySha256}, ""));
    TRY(put(bag, {.path = "50% of\nlines.csv"}, "1,2"));
    TRY(bag.end_dataset());
    TRY(put(bag, {.path = "leak/letter.txt"}, "Dear"));
    TRY(bag.add_provenance("zenodo-7.json", "{}\n"));
    return bag.finish();
  }
  std::string text(const fs::path& name) const {
    const Result<std::string> read = io::read_file(folder_ / "out" / name, kTextBytesMax);
    EXPECT_TRUE(read.ok()) << read.error().message();
    return read.ok() ? *read : "";
  }
  bool exists(std::string_view name) const { return fs::exists(folder_ / name); }
  // The entities of the crate by their ids.
  std::map<std::string, json::object> crate() const {
    std::map<std::string, json::object> entities;
    const json::value document = json::parse(text("data/ro-crate-metadata.json"));
    for (const json::value& one : document.at("@graph").as_array()) {
      entities[json::value_to<std::string>(one.at("@id"))] = one.as_object();
    }
    return entities;
  }

  TempFolder folder_;
};

TEST_F(BagTest, HasEveryFileInEveryManifest) {
  Result<BagWriter> bag = BagWriter::create(order());
  ASSERT_TRUE(bag.ok()) << bag.error().message();
  const Result<BagSums> sums = fill(*bag);
  ASSERT_TRUE(sums.ok()) << sums.error().message();
  EXPECT_EQ(sums->datasets, 1);
  EXPECT_EQ(sums->files, 4);
  EXPECT_EQ(sums->bytes, 3 + 0 + 3 + 4);
  EXPECT_EQ(text("data/datasets/zenodo-7/a/abc.txt"), "abc");
  EXPECT_EQ(text("data/datasets/zenodo-7/empty"), "");
  EXPECT_EQ(text("data/datasets/zenodo-7/50% of\nlines.csv"), "1,2");
  EXPECT_EQ(text("data/files/leak/letter.txt"), "Dear");

  EXPECT_THAT(text("manifest-md5.txt"),
              HasSubstr(std::string(kAbcMd5) + "  data/datasets/zenodo-7/a/abc.txt\n"));
  EXPECT_THAT(text("manifest-sha256.txt"),
              HasSubstr(std::string(kEmptySha256) + "  data/datasets/zenodo-7/empty\n"));
  EXPECT_THAT(text("manifest-sha512.txt"),
              HasSubstr("  data/datasets/zenodo-7/50%25 of%0Alines.csv\n"));
  EXPECT_THAT(text("manifest-sha512.txt"), HasSubstr("  data/ro-crate-metadata.json\n"));
  for (const char* tag : {"bagit.txt", "bag-info.txt", "manifest-md5.txt", "manifest-sha256.txt",
                          "manifest-sha512.txt", "provenance/zenodo-7.json"}) {
    EXPECT_THAT(text("tagmanifest-sha256.txt"), HasSubstr(std::string("  ") + tag + "\n"));
  }
  EXPECT_THAT(text("tagmanifest-sha256.txt"), Not(HasSubstr("  tagmanifest")));
}

TEST_F(BagTest, SaysWhatItIs) {
  Result<BagWriter> bag = BagWriter::create(order());
  ASSERT_TRUE(bag.ok());
  ASSERT_TRUE(fill(*bag).ok());
  EXPECT_EQ(text("bagit.txt"), "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
  const std::string info = text("bag-info.txt");
  EXPECT_THAT(info, HasSubstr("Bagging-Date: 2026-11-16\n"));
  EXPECT_THAT(info, HasSubstr("External-Identifier: doi:10.5281/zenodo.7\n"));
  EXPECT_THAT(info, HasSubstr("Bag-Software-Agent: quern test\n"));
  EXPECT_THAT(info, Not(HasSubstr("Source-Organization")));
  const auto crate_bytes = text("data/ro-crate-metadata.json").size();
  EXPECT_THAT(info, HasSubstr(fmt::format("Payload-Oxum: {}.5\n", crate_bytes + 10)));
}

TEST_F(BagTest, ItsCrateNamesEveryFile) {
  Result<BagWriter> bag = BagWriter::create(order());
  ASSERT_TRUE(bag.ok());
  ASSERT_TRUE(fill(*bag).ok());
  auto entities = crate();
  const json::object& file = entities["datasets/zenodo-7/a/abc.txt"];
  EXPECT_EQ(file.at("@type"), "File");
  EXPECT_EQ(file.at("contentSize"), "3");
  EXPECT_EQ(file.at("sha256"), kAbcSha256);
  EXPECT_EQ(file.at("encodingFormat"), "text/plain");
  EXPECT_EQ(file.at("url"), "https://x.test/abc");
  EXPECT_TRUE(entities.contains("datasets/zenodo-7/50%25%20of%0Alines.csv"));
  const json::object& dataset = entities["datasets/zenodo-7/"];
  EXPECT_EQ(dataset.at("identifier"), "doi:10.5281/zenodo.7");
  EXPECT_EQ(dataset.at("hasPart").as_array().size(), 3U);
  EXPECT_EQ(entities["./"].at("hasPart").as_array().size(), 2U);
  EXPECT_EQ(entities["#fetch-1"].at("@type"), "CreateAction");
  EXPECT_EQ(entities["#fetch-1"].at("result").at("@id"), "datasets/zenodo-7/");
  EXPECT_EQ(entities["ro-crate-metadata.json"].at("about").at("@id"), "./");
}

TEST_F(BagTest, PlainIsTheFilesAlone) {
  Result<BagWriter> bag = BagWriter::create(order(BagKind::Plain));
  ASSERT_TRUE(bag.ok());
  ASSERT_TRUE(fill(*bag).ok());
  EXPECT_EQ(text("datasets/zenodo-7/a/abc.txt"), "abc");
  EXPECT_EQ(text("files/leak/letter.txt"), "Dear");
  EXPECT_FALSE(exists("out/bagit.txt"));
  EXPECT_FALSE(exists("out/provenance"));
}

TEST_F(BagTest, DatasetsOfOneNameAreKeptApart) {
  Result<BagWriter> bag = BagWriter::create(order());
  ASSERT_TRUE(bag.ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(bag->begin_dataset({.name = "../x y"}).ok());
    ASSERT_TRUE(put(*bag, {.path = "a"}, "a").ok());
    ASSERT_TRUE(bag->end_dataset().ok());
  }
  ASSERT_TRUE(bag->finish().ok());
  EXPECT_EQ(text("data/datasets/.._x y/a"), "a");
  EXPECT_EQ(text("data/datasets/.~2._x y/a"), "a");
  EXPECT_EQ(crate()["./"].at("hasPart").as_array().size(), 2U);
}

TEST_F(BagTest, BytesThatAreNotTheFilesEndIt) {
  const std::vector<BagFile> wrong{{.path = "x", .bytes = 4},
                                   {.path = "x", .md5 = kEmptySha256},
                                   {.path = "x", .sha256 = kEmptySha256}};
  for (const BagFile& file : wrong) {
    Result<BagWriter> bag = BagWriter::create(order());
    ASSERT_TRUE(bag.ok()) << bag.error().message();
    const Result<> put_it = put(*bag, file, "abc");
    ASSERT_FALSE(put_it.ok());
    EXPECT_EQ(put_it.error().kind(), Errc::Corrupt);
    EXPECT_THAT(put_it.error().message(), HasSubstr("x: its "));
  }
  EXPECT_FALSE(exists("out"));
}

// Whatever write fails, nothing has the name, and nothing is left.
TEST_F(BagTest, AnInterruptedOneLeavesNothingThatLooksWhole) {
  const auto make = [this]() -> Result<> {
    TRY_ASSIGN(BagWriter bag, BagWriter::create(order()));
    TRY(fill(bag));
    return {};
  };
  int nth = 1;
  for (; nth < 1000; ++nth) {
    const io::ScopedFault fault({.call = io::FileCall::Write, .nth = nth, .error_number = ENOSPC});
    const Result<> made = make();
    if (made.ok() && !fault.fired()) break;
    EXPECT_FALSE(made.ok()) << nth;
    EXPECT_FALSE(exists("out")) << nth;
    EXPECT_FALSE(exists("out.part")) << nth;
  }
  EXPECT_GT(nth, 10);
  EXPECT_TRUE(exists("out"));
  EXPECT_FALSE(exists("out.part"));
}

TEST_F(BagTest, WhatAKilledOneLeftIsRemoved) {
  fs::create_directories(folder_ / "out.part/data/datasets/x/deep");
  ASSERT_TRUE(io::write_file_durably(folder_ / "out.part/data/datasets/x/deep/a", "half").ok());
  ASSERT_TRUE(io::write_file_durably(folder_ / "out.part/manifest-md5.txt", "half").ok());
  fs::create_symlink(folder_.path(), folder_ / "out.part/data/link");
  Result<BagWriter> bag = BagWriter::create(order());
  ASSERT_TRUE(bag.ok()) << bag.error().message();
  ASSERT_TRUE(fill(*bag).ok());
  EXPECT_FALSE(exists("out/data/datasets/x"));
  EXPECT_FALSE(exists("out/data/link"));
}

TEST_F(BagTest, WhatIsThereStaysThere) {
  fs::create_directory(folder_ / "out");
  const Result<BagWriter> there = BagWriter::create(order());
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.error().kind(), Errc::Conflict);
  fs::remove(folder_ / "out");
  fs::create_directories(folder_ / "out.part");
  ASSERT_TRUE(io::write_file_durably(folder_ / "out.part/mine.txt", "mine").ok());
  const Result<BagWriter> part = BagWriter::create(order());
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.error().message(), HasSubstr("mine.txt"));
  EXPECT_TRUE(exists("out.part/mine.txt"));
}

TEST_F(BagTest, AZipFileHasItAll) {
  BagOrder zipped = order();
  zipped.out = folder_ / "tides.zip";
  Result<BagWriter> bag = BagWriter::create(zipped);
  ASSERT_TRUE(bag.ok());
  ASSERT_TRUE(bag->begin_file({.path = "big"}).ok());
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(bag->add(piece).ok());
  ASSERT_TRUE(bag->end_file().ok());
  EXPECT_FALSE(exists("tides.zip"));
  ASSERT_TRUE(fill(*bag).ok());
  const auto ran = support::run_program(
      {"/usr/bin/python3",
       {"-m", "zipfile", "-e", zipped.out.native(), (folder_ / "out").native()},
       {},
       {}});
  ASSERT_TRUE(ran.ok() && ran->status.exited_with(0)) << ran->standard_error;
  EXPECT_EQ(text("tides/data/files/big").size(), 1'000'000U);
  EXPECT_EQ(text("tides/data/datasets/zenodo-7/a/abc.txt"), "abc");
  EXPECT_THAT(text("tides/manifest-sha256.txt"), HasSubstr("  data/files/big\n"));
}

}  // namespace
}  // namespace quern::fileset

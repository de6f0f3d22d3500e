// The Archive step on archives of every kind, whole and broken.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/file.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/archive_maker.h"
#include "worker/step_harness.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

StepRun unpack(const std::string& name, const std::string& bytes, const Limits& limits = {}) {
  static const bool warmed = (archive_step().warm(), true);
  EXPECT_TRUE(warmed);
  ::setlocale(LC_CTYPE, "C.UTF-8");
  return run_step(archive_step(), name, bytes, limits);
}

// Names and contents, or errors, of the children.
Members children_of(const StepRun& run) {
  Members members;
  for (const auto& [part, body] : run.parts) {
    if (part.ends_with(".json")) {
      const std::size_t begin = body.find(R"("filename":")") + 12;
      members.emplace_back(body.substr(begin, body.find(R"(","contentType")") - begin),
                           "(nothing)");
    } else if (part.ends_with(".blob")) {
      members.back().second = body;
    } else if (part.ends_with(".error")) {
      members.back().second = "error: " + body.substr(0, body.find(",\"message"));
    }
  }
  return members;
}

const Members kFiles = {{"one.txt", "first"}, {"folder/two.txt", "second"}};

class FormatTest : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(FormatTest, MembersBecomeChildren) {
  const auto [format, filter] = GetParam();
  const StepRun run = unpack("x.archive", make_archive(format, filter, kFiles));
  EXPECT_FALSE(run.end.has_value()) << run.end->message;
  EXPECT_THAT(children_of(run),
              ::testing::UnorderedElementsAre(Pair("x.archive/one.txt", "first"),
                                              Pair("x.archive/folder/two.txt", "second")));
}

INSTANTIATE_TEST_SUITE_P(All, FormatTest,
                         ::testing::Values(std::pair("zip", "none"), std::pair("7zip", "none"),
                                           std::pair("ustar", "none"), std::pair("pax", "gzip"),
                                           std::pair("ustar", "bzip2"), std::pair("ustar", "xz"),
                                           std::pair("ustar", "zstd"), std::pair("ustar", "lz4"),
                                           std::pair("ustar", "lzma"),
                                           std::pair("ustar", "compress"),
                                           std::pair("newc", "none"), std::pair("newc", "gzip"),
                                           std::pair("iso9660", "none"), std::pair("xar", "none")),
                         [](const auto& info) {
                           return std::string(info.param.first) + "_" + info.param.second;
                         });

TEST(ArchiveTest, PartsComeInOrderWithProgressBehindEachChild) {
  const StepRun run = unpack("a.zip", make_archive("zip", "none", kFiles));
  std::vector<std::string> names;
  for (const auto& [name, body] : run.parts) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("0.json", "0.blob", "progress", "1.json", "1.blob", "progress"));
  EXPECT_THAT(run.parts[0].second, HasSubstr(R"("contentType":"application/octet-stream")"));
  EXPECT_THAT(run.parts[2].second, HasSubstr(R"({"bytes":{"nProcessed":)"));
}

TEST(ArchiveTest, ACompressedFileIsAnArchiveOfOne) {
  for (const char* filter : {"gzip", "bzip2", "xz", "zstd", "lz4", "compress"}) {
    ArchiveMaker maker("raw", filter);
    maker.add("ignored", "contents of it");
    const StepRun run = unpack("folder/letter.txt.gz", maker.finish());
    EXPECT_THAT(children_of(run),
                ElementsAre(Pair("folder/letter.txt.gz/letter.txt", "contents of it")))
        << filter;
  }
}

TEST(ArchiveTest, ACompressedZipIsTakenApartOneByOne) {
  const std::string zip = make_archive("zip", "none", kFiles);
  ArchiveMaker maker("raw", "gzip");
  maker.add("ignored", zip);
  EXPECT_THAT(children_of(unpack("a.zip.gz", maker.finish())),
              ElementsAre(Pair("a.zip.gz/a.zip", zip)));
}

TEST(ArchiveTest, AnEmptyFileCompressedIsOneEmptyMember) {
  ArchiveMaker maker("raw", "gzip");
  maker.add("ignored", "");
  EXPECT_THAT(children_of(unpack("empty.txt.gz", maker.finish())),
              ElementsAre(Pair("empty.txt.gz/empty.txt", "")));
}

TEST(ArchiveTest, AnEmptyArchiveHasNoChildren) {
  const StepRun run = unpack("a.tar", make_archive("ustar", "none", {}));
  EXPECT_FALSE(run.end.has_value());
  EXPECT_TRUE(children_of(run).empty());
}

TEST(ArchiveTest, WhatIsNoArchiveSaysSo) {
  for (const std::string& bytes : {std::string("just some words\nin a file\n"), std::string("x")}) {
    const StepRun run = unpack("a.zip", bytes);
    ASSERT_TRUE(run.end.has_value());
    EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
    EXPECT_EQ(run.end->message, "Unrecognized archive format");
  }
}

TEST(ArchiveTest, FoldersLinksAndDevicesAreNoChildren) {
  ArchiveMaker maker("pax", "none");
  maker.add("folder/", "");
  maker.add("link", "", AE_IFLNK, "/etc/passwd");
  maker.add("device", "", AE_IFCHR);
  maker.add("file", "contents");
  EXPECT_THAT(children_of(unpack("a.tar", maker.finish())),
              ElementsAre(Pair("a.tar/file", "contents")));
}

TEST(ArchiveTest, NamesLeadNowhereElse) {
  ArchiveMaker maker("ustar", "none");
  maker.add("../../etc/passwd", "one").add("/abs/olute", "two").add("a/./b/../c", "three");
  EXPECT_THAT(children_of(unpack("a.tar", maker.finish())),
              ElementsAre(Pair("a.tar/etc/passwd", "one"), Pair("a.tar/abs/olute", "two"),
                          Pair("a.tar/a/b/c", "three")));
}

TEST(ArchiveTest, NamesInOldCharsetsAreReadable) {
  ::setlocale(LC_CTYPE, "C.UTF-8");  // the maker needs it, too, before anything is unpacked
  const auto zip_of = [](const char* charset, const std::string& name) {
    ArchiveMaker maker("zip", "none", charset);
    return maker.add(name, "x").finish();
  };
  EXPECT_THAT(children_of(unpack("a.zip", zip_of("zip:hdrcharset=CP437", "Größe.txt"))),
              ElementsAre(Pair("a.zip/Größe.txt", "x")));
  EXPECT_THAT(children_of(unpack("a.zip", zip_of("zip:hdrcharset=CP932", "日本語の文書.txt"))),
              ElementsAre(Pair("a.zip/日本語の文書.txt", "x")));
  EXPECT_THAT(children_of(unpack("a.zip", zip_of("zip:hdrcharset=ISO-8859-1", "Größe.txt"))),
              ElementsAre(Pair("a.zip/Größe.txt", "x")));
  EXPECT_THAT(children_of(unpack("a.zip", zip_of("zip:hdrcharset=UTF-8", "日本語.txt"))),
              ElementsAre(Pair("a.zip/日本語.txt", "x")));
  EXPECT_THAT(children_of(unpack("a.tar", make_archive("pax", "none", {{"Größe.txt", "x"}}))),
              ElementsAre(Pair("a.tar/Größe.txt", "x")));
}

TEST(ArchiveTest, NamesOfATarAreReadTogether) {
  ArchiveMaker maker("ustar", "none");
  const std::string koi8[] = {"\xF0\xD2\xC9\xD7\xC5\xD4", "\xEB\xC1\xCB \xC4\xC5\xCC\xC1",
                              "\xD7\xD3\xC5 \xC8\xCF\xD2\xCF\xDB\xCF"};
  for (const std::string& name : koi8) maker.add(name, "x");
  EXPECT_THAT(children_of(unpack("a.tar", maker.finish())),
              ElementsAre(Pair("a.tar/Привет", "x"), Pair("a.tar/Как дела", "x"),
                          Pair("a.tar/все хорошо", "x")));
}

// newc: the bytes of a file with two names come with the second.
TEST(ArchiveTest, AFileWithTwoNamesKeepsItsBytes) {
  const auto entry = [](const std::string& name, int links, const std::string& data) {
    std::string head = fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", 7, 0100644,
                                   0, 0, links, 0, data.size());
    head += fmt::format("{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", 1, 1, 0, 0, name.size() + 1, 0);
    std::string bytes = head + name + '\0';
    bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
    bytes += data;
    bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
    return bytes;
  };
  const StepRun run = unpack(
      "a.cpio", entry("one", 2, "") + entry("two", 2, "the bytes") + entry("TRAILER!!!", 1, ""));
  EXPECT_THAT(children_of(run),
              ElementsAre(Pair("a.cpio/one", ""), Pair("a.cpio/two", "the bytes")));
}

TEST(ArchiveTest, QuotesInNamesAreEscaped) {
  const StepRun run = unpack("a\"b.tar", make_archive("ustar", "none", {{"c\"\\d", "x"}}));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"({"filename":"a\"b.tar/c\"\\d","contentType")"));
}

TEST(ArchiveTest, AnEncryptedMemberFailsAloneWhereItCan) {
  support::TempFolder folder;
  for (const auto& [name, contents] : kFiles) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << contents;
  }
  support::ProgramOptions zip{"/usr/bin/zip", {"-q", "-P", "word", "a.zip", "one.txt"}};
  zip.folder = folder.path();
  ASSERT_TRUE(support::run_program(zip)->status.exited_with(0));
  zip.arguments = {"-q", "a.zip", "folder/two.txt"};
  ASSERT_TRUE(support::run_program(zip)->status.exited_with(0));
  const StepRun run = unpack("a.zip", *io::read_file(folder / "a.zip", 1 << 20));
  EXPECT_THAT(children_of(run), ElementsAre(Pair("a.zip/one.txt", R"(error: {"kind":"encrypted")"),
                                            Pair("a.zip/folder/two.txt", "second")));
}

TEST(ArchiveTest, AnEncryptedSevenZipIsEncrypted) {
  support::TempFolder folder;
  std::ofstream(folder / "one.txt") << "first";
  for (const char* hidden : {"-mhe=on", "-mhe=off"}) {
    support::ProgramOptions seven{"/usr/bin/7z", {"a", "-pword", hidden, "a.7z", "one.txt"}};
    seven.folder = folder.path();
    ASSERT_TRUE(support::run_program(seven)->status.exited_with(0));
    const StepRun run = unpack("a.7z", *io::read_file(folder / "a.7z", 1 << 20));
    const Members members = children_of(run);
    const bool all = run.end && run.end->kind == ErrorKind::Encrypted;
    const bool member =
        members.size() == 1 && members[0].second.find("encrypted") != std::string::npos;
    EXPECT_TRUE(all || member) << hidden << (run.end ? run.end->message : "");
    std::filesystem::remove(folder / "a.7z");
  }
}

TEST(ArchiveTest, ATruncatedArchiveKeepsWhatIsWhole) {
  const Members files = {{"one", std::string(50'000, '1')}, {"two", std::string(50'000, '2')}};
  ArchiveMaker maker("zip", "none", "zip:compression=store");
  for (const auto& [name, contents] : files) maker.add(name, contents);
  const std::string zip = maker.finish();
  const StepRun run = unpack("a.zip", zip.substr(0, 80'000));
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  EXPECT_THAT(run.end->message, HasSubstr("after 1 members"));
  EXPECT_THAT(children_of(run), ElementsAre(Pair("a.zip/one", files[0].second)));
  EXPECT_EQ(run.parts.back().first, "progress");
}

TEST(ArchiveTest, WhatHasComeOfALargeMemberIsNotCalledWhole) {
  ArchiveMaker maker("ustar", "none");
  maker.add("small", "s").add("large", std::string(2 << 20, 'L'));
  const StepRun run = unpack("a.tar", maker.finish().substr(0, 1 << 20));
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  // Its blob has begun; the part that says "whole" is missing behind it.
  EXPECT_EQ(run.parts.back().first, "1.blob");
}

TEST(ArchiveTest, ADamagedMemberFailsAloneAndTheNextAreRead) {
  ArchiveMaker maker("zip", "none", "zip:compression=store");
  maker.add("one", "contents of one").add("two", "contents of two").add("three", "and of three");
  std::string zip = maker.finish();
  zip[zip.find("contents of two")] = 'X';
  const StepRun run = unpack("a.zip", zip);
  EXPECT_FALSE(run.end.has_value());
  EXPECT_THAT(children_of(run), ElementsAre(Pair("a.zip/one", "contents of one"),
                                            Pair("a.zip/two", R"(error: {"kind":"corrupt")"),
                                            Pair("a.zip/three", "and of three")));
}

TEST(ArchiveTest, AMemberThatExpandsBeyondReasonIsAnErrorOfItsOwn) {
  Limits limits;
  limits.ratio = 100;
  limits.ratio_from_bytes = 1 << 20;
  ArchiveMaker maker("zip", "none");
  maker.add("bomb", std::string(8 << 20, '\0')).add("good", "fine");
  const StepRun run = unpack("a.zip", maker.finish(), limits);
  EXPECT_FALSE(run.end.has_value());
  const Members members = children_of(run);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].second, R"(error: {"kind":"ratio")");
  EXPECT_EQ(members[1].second, "fine");
  EXPECT_LT(run.part("0.blob").size(), 4U << 20);
}

// A zip whose entries of the directory all name one and the same member.
std::string overlapping_zip(int count, const std::string& contents) {
  ArchiveMaker maker("zip", "none");
  std::string zip = maker.add("m", contents).finish();
  const std::size_t directory = zip.find("PK\x01\x02");
  const std::size_t end = zip.find("PK\x05\x06");
  const std::string entry = zip.substr(directory, end - directory);
  std::string tail = zip.substr(end);
  std::string all = zip.substr(0, directory);
  for (int i = 0; i < count; ++i) all += entry;
  const auto put = [&tail](std::size_t at, std::uint64_t number, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) tail[at + i] = static_cast<char>(number >> (8 * i));
  };
  put(8, static_cast<std::uint64_t>(count), 2);
  put(10, static_cast<std::uint64_t>(count), 2);
  put(12, entry.size() * static_cast<std::uint64_t>(count), 4);
  return all + tail;
}

TEST(ArchiveTest, MembersThatLieOverOneAnotherEndTheArchive) {
  Limits limits;
  limits.ratio = 100;
  limits.ratio_from_bytes = 4 << 20;
  const StepRun run = unpack("a.zip", overlapping_zip(200, std::string(1 << 20, 'x')), limits);
  std::size_t bytes = 0;
  for (const auto& [name, contents] : children_of(run)) bytes += contents.size();
  EXPECT_LT(bytes, 8U << 20);
  // Where the reader itself sees through it, that is as good.
  if (run.end) EXPECT_EQ(run.end->kind, ErrorKind::Ratio) << run.end->message;
}

TEST(ArchiveTest, ManyGoodMembersTogetherAreNoBomb) {
  Limits limits;
  limits.ratio_from_bytes = 1 << 20;
  Members files;
  for (int i = 0; i < 40; ++i) files.emplace_back(std::to_string(i), std::string(100'000, 'y'));
  const StepRun run = unpack("a.zip", make_archive("zip", "none", files), limits);
  EXPECT_FALSE(run.end.has_value());
  EXPECT_EQ(children_of(run).size(), 40U);
}

TEST(ArchiveTest, LibrariesAndPackagesAreArchives) {
  for (const char* format : {"arbsd", "argnu"}) {
    const StepRun run = unpack("a.deb", make_archive(format, "none", {{"one.txt", "first"}}));
    EXPECT_FALSE(run.end.has_value()) << run.end->message;
    EXPECT_THAT(children_of(run), ElementsAre(Pair("a.deb/one.txt", "first"))) << format;
  }
}

TEST(ArchiveTest, TooManyMembersEndTheArchive) {
  Limits limits;
  limits.members = 2;
  const StepRun run =
      unpack("a.tar", make_archive("ustar", "none", {{"1", "a"}, {"2", "b"}, {"3", "c"}}), limits);
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::TooMany);
  EXPECT_EQ(children_of(run).size(), 2U);
}

TEST(ArchiveTest, SparseFilesAreWhole) {
  support::TempFolder folder;
  {
    std::ofstream file(folder / "sparse");
    file.seekp(300'000);
    file << "end";
  }
  support::ProgramOptions tar{"/usr/bin/tar", {"-cSf", "a.tar", "sparse"}};
  tar.folder = folder.path();
  ASSERT_TRUE(support::run_program(tar)->status.exited_with(0));
  const StepRun run = unpack("a.tar", *io::read_file(folder / "a.tar", 1 << 20));
  EXPECT_EQ(run.part("0.blob"), std::string(300'000, '\0') + "end");
}

TEST(ArchiveTest, TheSameArchiveGivesTheSameBytes) {
  const std::string zip = make_archive("zip", "none", kFiles);
  EXPECT_EQ(unpack("a.zip", zip).parts, unpack("a.zip", zip).parts);
}

}  // namespace
}  // namespace quern::worker

// A zip above 4 GB: sparse on the disk, made byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "support/temp_folder.h"
#include "worker/archive_reader.h"
#include "worker/scratch_file.h"
#include "worker/tnef_maker.h"

namespace quern::worker {
namespace {

constexpr std::uint64_t kLarge = (4ULL << 30) + 5;

// Of so many zeros, without reading them: the sum of twice as many is made of two sums.
std::uint32_t crc_of_zeros(std::uint64_t count) {
  unsigned long sum = ::crc32(0, nullptr, 0);
  const unsigned char zero = 0;
  unsigned long piece = ::crc32(0, &zero, 1);
  for (std::uint64_t size = 1; size <= count; size *= 2) {
    if ((count & size) != 0) sum = ::crc32_combine(sum, piece, static_cast<z_off_t>(size));
    piece = ::crc32_combine(piece, piece, static_cast<z_off_t>(size));
  }
  return static_cast<std::uint32_t>(sum);
}

struct ZipEntry {
  std::string name;
  std::uint64_t size;
  std::uint32_t crc;
  std::uint64_t offset;
};

// Version, flags, method (stored), time, date, sum, sizes that say "look further".
std::string common_fields(const ZipEntry& entry) {
  return little(45, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(entry.crc, 4) +
         std::string(8, '\xFF') + little(entry.name.size(), 2);
}

std::string local_head(const ZipEntry& entry) {
  const std::string extra =
      little(1, 2) + little(16, 2) + little(entry.size, 8) + little(entry.size, 8);
  return "PK\x03\x04" + common_fields(entry) + little(extra.size(), 2) + entry.name + extra;
}

std::string directory_entry(const ZipEntry& entry) {
  const std::string extra = little(1, 2) + little(24, 2) + little(entry.size, 8) +
                            little(entry.size, 8) + little(entry.offset, 8);
  return "PK\x01\x02" + little(45, 2) + common_fields(entry) + little(extra.size(), 2) +
         little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + std::string(4, '\xFF') +
         entry.name + extra;
}

std::string directory_end(std::uint64_t at, std::uint64_t size) {
  const std::uint64_t end = at + size;
  return "PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
         little(2, 8) + little(2, 8) + little(size, 8) + little(at, 8) + "PK\x06\x07" +
         little(0, 4) + little(end, 8) + little(1, 4) + "PK\x05\x06" + little(0, 4) +
         std::string(4, '\xFF') + std::string(8, '\xFF') + little(0, 2);
}

struct LargeZip {
  io::Descriptor file;
  std::uint64_t bytes;
};

LargeZip make_large_zip(const std::string& folder) {
  const std::string small = "behind four gigabytes";
  ZipEntry first{"large", kLarge, crc_of_zeros(kLarge), 0};
  const auto* letters = reinterpret_cast<const unsigned char*>(small.data());
  ZipEntry second{"small", small.size(),
                  static_cast<std::uint32_t>(::crc32(0, letters, small.size())), 0};
  LargeZip zip{*make_unnamed_file(folder), 0};
  CHECK_OK(write_at(zip.file, 0, local_head(first)));
  second.offset = local_head(first).size() + kLarge;
  CHECK_OK(write_at(zip.file, second.offset, local_head(second) + small));
  const std::uint64_t directory = second.offset + local_head(second).size() + small.size();
  const std::string entries = directory_entry(first) + directory_entry(second);
  const std::string end = directory_end(directory, entries.size());
  CHECK_OK(write_at(zip.file, directory, entries + end));
  zip.bytes = directory + entries.size() + end.size();
  return zip;
}

TEST(Zip64Test, AMemberBehindFourGigabytesIsRead) {
  support::TempFolder folder;
  const LargeZip zip = make_large_zip(folder.path());
  std::unique_ptr<ArchiveReader> reader;
  const auto failed = ArchiveReader::open({zip.file.get(), zip.bytes, 0, ""}, reader);
  ASSERT_FALSE(failed.has_value()) << failed->message;
  // The large one is passed over: reading zeros for ten seconds would prove nothing more.
  Member member;
  ASSERT_EQ(reader->next(member), ArchiveReader::Next::Member);
  EXPECT_EQ(member.raw_name, "large");
  ASSERT_EQ(reader->next(member), ArchiveReader::Next::Member);
  EXPECT_EQ(member.raw_name, "small");
  EXPECT_GT(reader->position(), kLarge);
  ArchiveReader::Block block;
  std::string contents;
  ArchiveReader::Data data = ArchiveReader::Data::Bytes;
  while ((data = reader->read(block)) == ArchiveReader::Data::Bytes) contents += block.bytes;
  EXPECT_EQ(data, ArchiveReader::Data::End) << reader->failure().message;
  EXPECT_EQ(contents, "behind four gigabytes");
  EXPECT_EQ(reader->next(member), ArchiveReader::Next::End);
}

}  // namespace
}  // namespace quern::worker

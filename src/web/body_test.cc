#include "web/body.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace quern::web {
namespace {

std::string pattern(std::size_t bytes) {
  std::string out(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 31 % 251);
  return out;
}

TEST(BodyTest, WhatIsShortNeedsNoFolder) {
  BodyWriter writer("nowhere", 1'000'000);
  const std::string bytes = pattern(kBodyInMemory);
  ASSERT_TRUE(writer.add(bytes).ok());
  const Body body = writer.finish();
  EXPECT_EQ(body.size(), static_cast<std::int64_t>(kBodyInMemory));
  EXPECT_EQ(body.whole(1 << 20).value(), bytes);
  BodyWriter longer("nowhere", 1'000'000);
  EXPECT_EQ(longer.add(pattern(kBodyInMemory + 1)).error().kind(), Errc::Missing);
}

TEST(BodyTest, WhatIsLongGoesToAFileWithoutAName) {
  const support::TempFolder folder;
  BodyWriter writer(folder.path(), 1 << 20);
  const std::string bytes = pattern(3 * kBodyInMemory + 17);
  for (std::size_t at = 0; at < bytes.size(); at += 10'000) {
    ASSERT_TRUE(writer.add(std::string_view(bytes).substr(at, 10'000)).ok());
  }
  const Body body = writer.finish();
  const Body copy = body;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(copy.whole(1 << 20).value(), bytes);
  std::string read;
  ASSERT_TRUE(copy.read([&read](std::string_view piece) -> Result<> {
                    EXPECT_LE(piece.size(), 64U * 1024);
                    read += piece;
                    return {};
                  })
                  .ok());
  EXPECT_EQ(read, bytes);
}

TEST(BodyTest, TheLimitIsExact) {
  BodyWriter writer("nowhere", 10);
  ASSERT_TRUE(writer.add("0123456789").ok());
  EXPECT_EQ(writer.add("x").error().kind(), Errc::TooLarge);
  const Body body = writer.finish();
  EXPECT_EQ(body.whole(10).value(), "0123456789");
  EXPECT_EQ(body.whole(9).error().kind(), Errc::TooLarge);

  BodyWriter cut("nowhere", 10);
  EXPECT_EQ(cut.add("0123456789ab").error().kind(), Errc::TooLarge);
  EXPECT_EQ(cut.finish().whole(10).value(), "0123456789") << "what fits is kept";
}

TEST(BodyTest, ABodyMayBeAFileThatLosesItsName) {
  const support::TempFolder folder;
  const std::string bytes = pattern(500'000);
  std::ofstream(folder / "part", std::ios::binary) << bytes;
  std::ofstream(folder / "empty", std::ios::binary) << "";
  const Result<Body> body = BodyWriter::of_file(folder / "part");
  ASSERT_TRUE(body.ok()) << body.error().message();
  std::filesystem::remove(folder / "part");
  EXPECT_EQ(body->whole(1 << 20).value(), bytes);
  EXPECT_EQ(BodyWriter::of_file(folder / "empty")->whole(0).value(), "");
  EXPECT_EQ(BodyWriter::of_file(folder / "part").error().kind(), Errc::Missing);
}

TEST(BodyTest, AnErrorOfTheReaderEndsIt) {
  int calls = 0;
  const Body body = BodyWriter::in_memory(pattern(200'000));
  const auto result = body.read([&calls](std::string_view) -> Result<> {
    ++calls;
    return Error{Errc::Canceled, "enough"};
  });
  EXPECT_EQ(result.error().kind(), Errc::Canceled);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Body().size(), 0);
  EXPECT_EQ(Body().whole(0).value(), "");
}

}  // namespace
}  // namespace quern::web

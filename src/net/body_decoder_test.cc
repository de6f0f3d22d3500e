#include "net/body_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quern::net {
namespace {

constexpr Framing kChunked{Framing::Kind::Chunked, 0};

struct Decoded {
  Result<std::string> body;
  std::size_t consumed = 0;
};

// Feeds the pieces one after the other, with an output of so many bytes.
Decoded decode(Framing framing, const std::vector<std::string>& pieces, std::size_t output_bytes) {
  BodyDecoder decoder(framing);
  std::string body;
  std::size_t total = 0;
  std::vector<char> output(output_bytes);
  for (std::string_view rest : pieces) {
    while (!rest.empty() && !decoder.done()) {
      const auto step = decoder.decode(rest, output);
      if (!step) return {step.error(), total};
      body.append(output.data(), step->produced);
      rest.remove_prefix(step->consumed);
      total += step->consumed;
    }
  }
  if (const auto end = decoder.end_of_input(); !end) return {end.error(), total};
  return {body, total};
}

const std::string kBody =
    "5\r\nhello\r\n1;name=\"v\"\r\n \r\nA \r\n0123456789\r\n0\r\nT: x\r\n\r\n";
constexpr char kText[] = "hello 0123456789";

TEST(BodyDecoderTest, TakesChunksWithBordersAnywhere) {
  for (std::size_t cut = 0; cut <= kBody.size(); ++cut) {
    for (const std::size_t output_bytes : {1, 3, 4096}) {
      const auto decoded =
          decode(kChunked, {kBody.substr(0, cut), kBody.substr(cut)}, output_bytes);
      ASSERT_TRUE(decoded.body.ok()) << cut << ": " << decoded.body.error().message();
      EXPECT_EQ(*decoded.body, kText) << cut;
      EXPECT_EQ(decoded.consumed, kBody.size()) << cut;
    }
  }
}

TEST(BodyDecoderTest, TakesChunksByteByByte) {
  std::vector<std::string> bytes;
  for (const char c : kBody) bytes.emplace_back(1, c);
  EXPECT_EQ(*decode(kChunked, bytes, 16).body, kText);
}

TEST(BodyDecoderTest, LeavesWhatFollowsTheBody) {
  const auto decoded = decode(kChunked, {kBody + "GET / HTTP/1.1\r\n"}, 4096);
  EXPECT_EQ(decoded.consumed, kBody.size());
  const auto fixed = decode({Framing::Kind::Length, 3}, {"abcdef"}, 4096);
  EXPECT_EQ(*fixed.body, "abc");
  EXPECT_EQ(fixed.consumed, 3u);
}

TEST(BodyDecoderTest, EveryCutIsNoticed) {
  for (std::size_t cut = 0; cut < kBody.size(); ++cut) {
    const auto decoded = decode(kChunked, {kBody.substr(0, cut)}, 4096);
    ASSERT_FALSE(decoded.body.ok()) << cut;
    EXPECT_EQ(decoded.body.error().kind(), Errc::Unavailable);
  }
  EXPECT_FALSE(decode({Framing::Kind::Length, 3}, {"ab"}, 4096).body.ok());
}

TEST(BodyDecoderTest, RefusesWhatIsNotChunked) {
  for (const char* wrong :
       {"x\r\n", "\r\n", "-1\r\n", "5\nhello", "5\r\nhelloX\r\n", "5\r\nhello\rX", "5\rX",
        "5;a\nb\r\n", "5x\r\n", "1234567890abcdef\r\n", "0\r\nT: x\n\r\n", "0\r\nT\rX"}) {
    const auto decoded = decode(kChunked, {wrong}, 4096);
    ASSERT_FALSE(decoded.body.ok()) << wrong;
    EXPECT_EQ(decoded.body.error().kind(), Errc::Invalid) << wrong;
  }
}

TEST(BodyDecoderTest, LimitsExtensionsAndTrailers) {
  const std::string fits(kChunkLineBytesMax - 2, 'e');
  EXPECT_TRUE(decode(kChunked, {"0;" + fits + "\r\n\r\n"}, 16).body.ok());
  const std::string long_extension(kChunkLineBytesMax + 1, 'e');
  EXPECT_EQ(decode(kChunked, {"1;" + long_extension}, 16).body.error().kind(), Errc::TooLarge);
  const std::string long_trailer(kTrailerBytesMax + 1, 't');
  EXPECT_EQ(decode(kChunked, {"0\r\n" + long_trailer}, 16).body.error().kind(), Errc::TooLarge);
}

TEST(BodyDecoderTest, ABodyMayLastUntilTheEnd) {
  EXPECT_EQ(*decode({Framing::Kind::UntilClose, 0}, {"ab", "c"}, 2).body, "abc");
  EXPECT_EQ(*decode({Framing::Kind::None, 0}, {"abc"}, 2).body, "");
}

TEST(BodyDecoderTest, RawBytesMayGoPastIt) {
  BodyDecoder decoder(kChunked);
  std::vector<char> output(16);
  EXPECT_EQ(decoder.raw_bytes_ahead(), 0u);
  ASSERT_TRUE(decoder.decode("5\r\n", output).ok());
  EXPECT_EQ(decoder.raw_bytes_ahead(), 5u);
  decoder.passed_raw(5);
  EXPECT_EQ(decoder.raw_bytes_ahead(), 0u);
  ASSERT_TRUE(decoder.decode("\r\n0\r\n\r\n", output).ok());
  EXPECT_TRUE(decoder.done());
}

}  // namespace
}  // namespace quern::net

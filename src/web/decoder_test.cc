#include "web/decoder.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "web/compressed.h"

namespace quern::web {
namespace {

struct Decoded {
  std::string bytes;
  bool is_whole = true;
};

Decoded decoded(std::string_view coding, std::string_view bytes, std::size_t piece = 1 << 20) {
  Decoded out;
  const auto decoder = make_decoder(coding, [&out](std::string_view part) -> Result<> {
    EXPECT_LE(part.size(), kDecodePieceBytes);
    out.bytes += part;
    return {};
  });
  CHECK(decoder.ok() && *decoder != nullptr);
  for (std::size_t at = 0; at < bytes.size() && out.is_whole; at += piece) {
    out.is_whole = (*decoder)->write(bytes.substr(at, piece)).ok();
  }
  out.is_whole = out.is_whole && (*decoder)->finish().ok();
  return out;
}

std::string text_of(std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += "line " + std::to_string(i * i) + "\n";
  return out.substr(0, bytes);
}

struct Case {
  std::string_view coding;
  std::string bytes;
};
std::vector<Case> cases_of(const std::string& text) {
  return {{"gzip", gzip_of(text)},
          {"X-GZIP", gzip_of(text)},
          {"deflate", deflated(text, MAX_WBITS)},
          {"deflate", deflated(text, -MAX_WBITS)},
          {"zstd", zstd_of(text)},
          {"gzip, zstd", zstd_of(gzip_of(text))},
          {"identity, gzip", gzip_of(text)}};
}

TEST(DecoderTest, EveryCodingIsTakenOffWhereverThePiecesEnd) {
  const std::string text = text_of(300'000);
  for (const Case& c : cases_of(text)) {
    for (const std::size_t piece : {1, 7, 4096, 1 << 20}) {
      const Decoded out = decoded(c.coding, c.bytes, piece);
      EXPECT_TRUE(out.is_whole) << c.coding << " in pieces of " << piece;
      EXPECT_EQ(out.bytes, text) << c.coding << " in pieces of " << piece;
    }
  }
  for (const std::size_t piece : {1, 5, 100}) {
    EXPECT_EQ(decoded("br", brotli_sample(), piece).bytes, kBrotliText);
  }
}

TEST(DecoderTest, WhatIsCutShortSaysSo) {
  const std::string text = text_of(50'000);
  for (const Case& c : cases_of(text)) {
    const Decoded out = decoded(c.coding, std::string_view(c.bytes).substr(0, c.bytes.size() / 2));
    EXPECT_FALSE(out.is_whole) << c.coding;
    EXPECT_TRUE(text.starts_with(out.bytes)) << c.coding;
    EXPECT_FALSE(decoded(c.coding, std::string_view(c.bytes).substr(0, 1)).is_whole) << c.coding;
  }
  EXPECT_FALSE(decoded("br", std::string_view(brotli_sample()).substr(0, 12)).is_whole);
}

TEST(DecoderTest, NothingIsNothingInAnyCoding) {
  for (const std::string_view coding : {"gzip", "deflate", "br", "zstd", "gzip, br"}) {
    const Decoded out = decoded(coding, "");
    EXPECT_TRUE(out.is_whole && out.bytes.empty()) << coding;
  }
}

TEST(DecoderTest, SeveralMembersAreOneBody) {
  const std::string two = gzip_of("one ") + gzip_of("") + gzip_of("two");
  for (const std::size_t piece : {1, 2, 1000}) {
    EXPECT_EQ(decoded("gzip", two, piece).bytes, "one two");
  }
  EXPECT_EQ(decoded("zstd", zstd_of("one ") + zstd_of("two")).bytes, "one two");
}

TEST(DecoderTest, JunkBehindTheEndIsPassedOver) {
  for (const std::string& junk : {std::string("junk"), std::string(8, '\0'), std::string("\x1F"),
                                  std::string("\x1F\x8Bjunk")}) {
    for (const std::size_t piece : {1, 1000}) {
      const Decoded out = decoded("gzip", gzip_of("text") + junk, piece);
      EXPECT_TRUE(out.is_whole);
      EXPECT_EQ(out.bytes, "text");
    }
  }
}

TEST(DecoderTest, OtherBytesAreNoCoding) {
  const std::string text = "<html>this was never compressed at all</html>";
  for (const std::string_view coding : {"gzip", "deflate", "br", "zstd"}) {
    EXPECT_FALSE(decoded(coding, text).is_whole) << coding;
  }
}

TEST(DecoderTest, WhoeverTakesThePiecesStopsABomb) {
  const std::string zeros(64 << 20, '\0');
  for (const auto& [coding, bomb] :
       {Case{"gzip", gzip_of(zeros)}, Case{"zstd", zstd_of(zeros)}, Case{"br", brotli_bomb()},
        Case{"gzip, gzip", gzip_of(gzip_of(zeros))}}) {
    std::size_t taken = 0;
    const auto decoder = make_decoder(coding, [&taken](std::string_view piece) -> Result<> {
      taken += piece.size();
      if (taken > 1'000'000) return Error{Errc::TooLarge, "enough"};
      return {};
    });
    EXPECT_EQ((*decoder)->write(bomb).error().kind(), Errc::TooLarge) << coding;
    EXPECT_LE(taken, 1'000'000 + kDecodePieceBytes) << coding;
  }
}

TEST(DecoderTest, UnknownCodingsAreLeftOnAndManyAreRefused) {
  const auto sink = [](std::string_view) -> Result<> { return {}; };
  for (const std::string_view header : {"", "identity", "utf-8", "gzip, none", " , "}) {
    EXPECT_EQ(make_decoder(header, sink).value(), nullptr) << header;
  }
  EXPECT_TRUE(make_decoder("gzip,gzip,gzip,gzip", sink).ok());
  EXPECT_EQ(make_decoder("gzip,gzip,gzip,gzip,gzip", sink).error().kind(), Errc::Invalid);
}

}  // namespace
}  // namespace quern::web

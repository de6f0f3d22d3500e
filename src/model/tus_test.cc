#include "model/tus.h"

#include <gtest/gtest.h>

namespace quern::model {
namespace {

TEST(TusTest, MetadataIsKeysWithBase64Values) {
  EXPECT_EQ(parse_tus_metadata("filename d29ybGQ=,is_confidential, type dGV4dA== ").value(),
            (TusMetadata{{"filename", "world"}, {"is_confidential", ""}, {"type", "text"}}));
  EXPECT_EQ(parse_tus_metadata("").value(), TusMetadata{});
  EXPECT_EQ(parse_tus_metadata("a /w==").value(), (TusMetadata{{"a", "\xFF"}}));
}

TEST(TusTest, MetadataThatBreaksTheRulesIsRefused) {
  for (const char* header : {",", "a,", ",a", "a d29ybGQ=,,b", "a x", "a d29y bGQ=", "a d29ybGQ",
                             "a Zg==,a Zg==", "\xC3\xA4 Zg==", "a\x01 Zg=="}) {
    const auto metadata = parse_tus_metadata(header);
    ASSERT_FALSE(metadata.ok()) << header;
    EXPECT_EQ(metadata.error().kind(), Errc::Invalid) << header;
  }
  const std::string large(kTusMetadataBytesMax + 1, 'a');
  EXPECT_EQ(parse_tus_metadata(large).error().kind(), Errc::TooLarge);
}

TEST(TusTest, MetadataThatIsWrittenIsReadBack) {
  const TusMetadata metadata = {
      {"filename", "Grüße, 日本.txt"}, {"bytes", std::string("\0\xFF", 2)}, {"flag", ""}};
  EXPECT_EQ(parse_tus_metadata(format_tus_metadata(metadata)).value(), metadata);
}

TEST(TusTest, NumbersAreDigitsWithin63Bits) {
  EXPECT_EQ(parse_tus_number("Upload-Offset", "0").value(), 0);
  EXPECT_EQ(parse_tus_number("Upload-Offset", " 70 ").value(), 70);
  EXPECT_EQ(parse_tus_number("Upload-Offset", "9223372036854775807").value(), INT64_MAX);
  for (const char* header : {"", " ", "-1", "+1", "1.0", "1e3", "0x1", "1 2", "9223372036854775808",
                             "99999999999999999999"}) {
    const auto number = parse_tus_number("Upload-Offset", header);
    ASSERT_FALSE(number.ok()) << header;
    EXPECT_NE(number.error().message().find("Upload-Offset"), std::string::npos);
  }
}

TEST(TusTest, ALengthIsNeededAtOnce) {
  const std::string length = "5";
  const std::string one = "1";
  EXPECT_EQ(parse_tus_length(&length, nullptr).value(), 5);
  EXPECT_FALSE(parse_tus_length(nullptr, nullptr).ok());
  for (const std::string* given : {static_cast<const std::string*>(nullptr), &length}) {
    const auto refused = parse_tus_length(given, &one);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message().find("Upload-Defer-Length"), std::string::npos);
  }
}

TEST(TusTest, ChecksumsAreReadAndWritten) {
  const std::string sha1 = "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=";
  const auto checksum = parse_tus_checksum(sha1);
  ASSERT_TRUE(checksum.ok());
  EXPECT_EQ(checksum->algorithm, TusChecksum::Algorithm::Sha1);
  EXPECT_EQ(checksum->digest.size(), 20U);
  EXPECT_EQ(format_tus_checksum(*checksum), sha1);

  const TusChecksum sha256{TusChecksum::Algorithm::Sha256, std::string(32, '\xAA')};
  EXPECT_EQ(parse_tus_checksum(format_tus_checksum(sha256)).value(), sha256);
}

TEST(TusTest, OtherChecksumsAreRefused) {
  for (const char* header :
       {"", "sha1", "sha1 ", "sha1 Zg==", "sha256 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "md5 Zg==",
        "SHA1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0"}) {
    const auto checksum = parse_tus_checksum(header);
    ASSERT_FALSE(checksum.ok()) << header;
    EXPECT_EQ(checksum.error().kind(), Errc::Invalid);
  }
}

}  // namespace
}  // namespace quern::model

#include "blob/s3_sign.h"

#include <gmock/gmock.h>

#include "blob/digest.h"

namespace quern::blob {
namespace {

using testing::HasSubstr;

// The numbers are those of the examples in the documentation of the signature.
const S3Credentials kCredentials{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                 ""};
constexpr std::int64_t kTime = 1'369'353'600'000'000;  // 2013-05-24T00:00:00Z
const std::string kHost = "examplebucket.s3.amazonaws.com";

std::string authorization(const S3Request& request) {
  return s3_signed_headers(request, kCredentials, "us-east-1", kTime).back().second;
}

TEST(S3SignTest, AReadOfARange) {
  const S3Request request{
      "GET", "/test.txt", {}, {{"host", kHost}, {"range", "bytes=0-9"}}, hex_of(sha256_of(""))};
  EXPECT_EQ(authorization(request),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3SignTest, AWriteUnderANameThatIsEscaped) {
  const S3Request request{"PUT",
                          "/test$file.text",
                          {},
                          {{"host", kHost},
                           {"date", "Fri, 24 May 2013 00:00:00 GMT"},
                           {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                          hex_of(sha256_of("Welcome to Amazon S3."))};
  EXPECT_THAT(
      authorization(request),
      HasSubstr("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
  EXPECT_EQ(s3_target(request), "/test%24file.text");
}

TEST(S3SignTest, AQueryWithoutAValue) {
  const S3Request request{
      "GET", "/", {{"lifecycle", ""}}, {{"host", kHost}}, hex_of(sha256_of(""))};
  EXPECT_THAT(
      authorization(request),
      HasSubstr("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(S3SignTest, AQueryIsSorted) {
  const S3Request request{
      "GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {{"host", kHost}}, hex_of(sha256_of(""))};
  EXPECT_THAT(
      authorization(request),
      HasSubstr("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
  EXPECT_EQ(s3_target(request), "/?max-keys=2&prefix=J");
}

TEST(S3SignTest, ASessionTokenIsSent) {
  S3Credentials credentials = kCredentials;
  credentials.session_token = "token";
  const S3Request request{"GET", "/", {}, {{"host", kHost}}, hex_of(sha256_of(""))};
  const Pairs headers = s3_signed_headers(request, credentials, "us-east-1", kTime);
  EXPECT_THAT(headers, testing::Contains(testing::Pair("x-amz-security-token", "token")));
  EXPECT_THAT(headers.back().second, HasSubstr("x-amz-security-token,"));
}

}  // namespace
}  // namespace quern::blob

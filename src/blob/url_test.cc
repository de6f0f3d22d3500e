#include "blob/url.h"

#include <gtest/gtest.h>

namespace quern::blob {
namespace {

TEST(BlobUrlTest, AFolderIsAPath) {
  const Result<BlobUrl> url = BlobUrl::parse("file:/data/my blobs");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->kind, BlobUrl::Kind::Folder);
  EXPECT_EQ(url->folder, "/data/my blobs");
  EXPECT_EQ(url->text(), "file:/data/my blobs");
}

TEST(BlobUrlTest, ABucketHasAPrefixAnEndpointAndARegion) {
  const Result<BlobUrl> url = BlobUrl::parse(
      "s3://papers/quern/blobs/?endpoint=http%3A%2F%2F127.0.0.1:7480/&region=eu-central-1");
  ASSERT_TRUE(url.ok()) << url.error().message();
  EXPECT_EQ(url->kind, BlobUrl::Kind::S3);
  EXPECT_EQ(url->bucket, "papers");
  EXPECT_EQ(url->prefix, "quern/blobs");
  EXPECT_EQ(url->endpoint, "http://127.0.0.1:7480");
  EXPECT_EQ(url->region, "eu-central-1");
  const Result<BlobUrl> again = BlobUrl::parse(url->text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->text(), url->text());
}

TEST(BlobUrlTest, ABucketAloneIsEnough) {
  for (const char* text : {"s3://papers", "s3://papers/"}) {
    const Result<BlobUrl> url = BlobUrl::parse(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(url->prefix, "");
    EXPECT_EQ(url->endpoint, "");
    EXPECT_EQ(url->region, "us-east-1");
  }
}

TEST(BlobUrlTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", "/data", "file:", "http://x/y", "s3:", "s3://", "s3:///x", "s3://a b/c", "s3://b/../c",
        "s3://b/c?key=secret", "s3://b?endpoint=ftp://x", "s3://b?endpoint=http://x/y",
        "s3://b?endpoint=http://user@x", "s3://b?region=", "s3://b?region=a/b", "s3://b/%zz"}) {
    const Result<BlobUrl> url = BlobUrl::parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind(), Errc::Invalid) << text;
  }
}

}  // namespace
}  // namespace quern::blob

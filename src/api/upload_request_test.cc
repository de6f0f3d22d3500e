#include "api/upload_request.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace quern::api {
namespace {

constexpr std::int64_t kLengthMax = 1000;

std::string metadata_of(const model::TusMetadata& metadata) {
  return model::format_tus_metadata(metadata);
}

Result<UploadOrder> parsed(const model::TusMetadata& metadata) {
  return parse_upload({{"Upload-Length", "5"}, {"Upload-Metadata", metadata_of(metadata)}},
                      kLengthMax);
}

Errc kind_of(const model::TusMetadata& metadata) {
  const Result<UploadOrder> order = parsed(metadata);
  return order.ok() ? Errc::Internal : order.error().kind();
}

TEST(UploadRequestTest, AnUploadSaysWhatItIsAndWhereItGoes) {
  const Result<UploadOrder> order = parsed({{"filename", "ä/b.pdf"},
                                            {"content_type", "application/pdf"},
                                            {"collection", "leak"},
                                            {"job", "7"},
                                            {"index", "3"},
                                            {"ocr", "true"},
                                            {"split_by_page", "1"},
                                            {"language", "de"},
                                            {"metadata", R"({"a":1})"},
                                            {"mine", "\xFF"}});
  ASSERT_TRUE(order.ok()) << order.error().message();
  EXPECT_EQ(order->length, 5);
  EXPECT_EQ(order->root.filename, "ä/b.pdf");
  EXPECT_EQ(order->root.content_type, "application/pdf");
  EXPECT_EQ(order->collection, "leak");
  EXPECT_EQ(order->job, 7);
  EXPECT_EQ(order->index, 3);
  EXPECT_TRUE(order->root.options.ocr);
  EXPECT_TRUE(order->root.options.split_by_page);
  EXPECT_EQ(order->root.options.language, "de");
  EXPECT_EQ(order->root.options.user_metadata, R"({"a":1})");
  EXPECT_NE(order->metadata.find("mine /w=="), std::string::npos) << order->metadata;
}

TEST(UploadRequestTest, OnlyAFilenameIsNeeded) {
  const Result<UploadOrder> order = parsed({{"filename", "a"}});
  ASSERT_TRUE(order.ok()) << order.error().message();
  EXPECT_EQ(order->collection, "default");
  EXPECT_EQ(order->job, 0);
  EXPECT_EQ(order->root.content_type, "application/octet-stream");
  EXPECT_EQ(order->key, "");
  EXPECT_EQ(kind_of({}), Errc::Invalid);
}

TEST(UploadRequestTest, BrowsersCallTheTypeFiletype) {
  EXPECT_EQ(parsed({{"filename", "a"}, {"filetype", "text/plain"}})->root.content_type,
            "text/plain");
  EXPECT_EQ(parsed({{"filename", "a"}, {"filetype", ""}})->root.content_type,
            "application/octet-stream");
  EXPECT_EQ(parsed({{"filename", "a"}, {"filetype", "x/y"}, {"content_type", "text/html"}})
                ->root.content_type,
            "text/html");
}

TEST(UploadRequestTest, WhatCannotBeMeantIsRefused) {
  EXPECT_EQ(kind_of({{"filename", ""}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "\xFF"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", std::string("a\0b", 3)}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"content_type", std::string("a\0b", 3)}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"collection", "a/b"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"job", "7"}}), Errc::Invalid) << "where in it?";
  EXPECT_EQ(kind_of({{"filename", "a"}, {"index", "7"}}), Errc::Invalid) << "of which job?";
  EXPECT_EQ(kind_of({{"filename", "a"}, {"job", "0"}, {"index", "0"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"job", "x"}, {"index", "0"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"ocr", "perhaps"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", "a"}, {"metadata", "[1]"}}), Errc::Invalid);
  EXPECT_EQ(kind_of({{"filename", std::string(kFilenameBytesMax + 1, 'a')}}), Errc::TooLarge);
}

TEST(UploadRequestTest, ALengthIsNeededAndLimited) {
  const std::string name = metadata_of({{"filename", "a"}});
  EXPECT_EQ(parse_upload({{"Upload-Metadata", name}}, 10).error().kind(), Errc::Invalid);
  EXPECT_EQ(
      parse_upload({{"Upload-Defer-Length", "1"}, {"Upload-Metadata", name}}, 10).error().kind(),
      Errc::Invalid);
  EXPECT_EQ(parse_upload({{"Upload-Length", "11"}, {"Upload-Metadata", name}}, 10).error().kind(),
            Errc::TooLarge);
  EXPECT_TRUE(parse_upload({{"Upload-Length", "10"}, {"Upload-Metadata", name}}, 10).ok());
}

TEST(UploadRequestTest, APieceHasAnOffsetAndPerhapsAChecksum) {
  EXPECT_EQ(parse_piece({}).error().kind(), Errc::Invalid);
  EXPECT_EQ(parse_piece({{"Upload-Offset", "-1"}}).error().kind(), Errc::Invalid);
  EXPECT_EQ(parse_piece({{"Upload-Offset", "7"}})->offset, 7);
  EXPECT_FALSE(parse_piece({{"Upload-Offset", "7"}})->checksum.has_value());
  const std::string digest = base64_encoded(std::string(20, 'x'));
  const Result<PieceOrder> piece =
      parse_piece({{"Upload-Offset", "7"}, {"Upload-Checksum", "sha1 " + digest}});
  EXPECT_EQ(piece->checksum->digest, std::string(20, 'x'));
  EXPECT_EQ(
      parse_piece({{"Upload-Offset", "7"}, {"Upload-Checksum", "md5 " + digest}}).error().kind(),
      Errc::Invalid);
}

TEST(UploadRequestTest, TheContentTypeMayHaveParameters) {
  EXPECT_TRUE(has_upload_content_type({{"Content-Type", "application/offset+octet-stream"}}));
  EXPECT_TRUE(has_upload_content_type({{"content-type", "Application/Offset+Octet-Stream ; a=b"}}));
  EXPECT_FALSE(has_upload_content_type({{"Content-Type", "application/octet-stream"}}));
  EXPECT_FALSE(has_upload_content_type({}));
}

TEST(UploadRequestTest, AnOverriddenMethodWins) {
  net::RequestHead request;
  request.method = net::Method::Post;
  EXPECT_EQ(tus_method(request), net::Method::Post);
  request.headers.set("X-HTTP-Method-Override", "PATCH");
  EXPECT_EQ(tus_method(request), net::Method::Patch);
  request.headers.set("X-HTTP-Method-Override", "NONSENSE");
  EXPECT_EQ(tus_method(request), net::Method::Other);
}

TEST(UploadRequestTest, WhoMayOnlyReadChangesNothingByOverriding) {
  net::RequestHead request;
  request.headers.set("X-HTTP-Method-Override", "DELETE");
  EXPECT_EQ(tus_method(request), net::Method::Get);
  request.method = net::Method::Options;
  EXPECT_EQ(tus_method(request), net::Method::Options);
}

TEST(UploadRequestTest, NamesAreHexAndNothingElse) {
  EXPECT_TRUE(is_upload_name("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_upload_name("0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(is_upload_name("../../../../etc/passwd.........."));
  EXPECT_FALSE(is_upload_name(""));
}

TEST(UploadRequestTest, DatesAreThoseOfHttp) {
  EXPECT_EQ(http_date(784'111'777'000'000), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace quern::api

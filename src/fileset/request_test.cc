#include "fileset/request.h"

#include <gtest/gtest.h>

namespace quern::fileset {
namespace {

namespace json = boost::json;

std::string cleaned(std::string_view url) {
  const Result<std::string> clean = clean_base_url(url);
  return clean.ok() ? *clean : "invalid";
}

std::string problem(std::string_view text) {
  const Result<Request> request = parse_request_text(text);
  return request.ok() ? "" : request.error().message();
}

TEST(RequestTest, AddressesAreCleanedForFetchingOnly) {
  EXPECT_EQ(cleaned("http://BLAH.COM/file.pdf"), "http://blah.com/file.pdf");
  EXPECT_EQ(cleaned("https://host.test:/path"), "https://host.test/path");
  EXPECT_EQ(cleaned("  https://host.test:443/a/../b c#d \n"), "https://host.test/b%20c#d");
  EXPECT_EQ(cleaned("https://bücher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(cleaned("ftp://host.test/a"), "invalid");
  EXPECT_EQ(cleaned("javascript:alert(1)"), "invalid");
  EXPECT_EQ(cleaned(""), "invalid");
  const Result<Request> request =
      parse_request_text(R"({"ingest_type":"dataset","base_url":"http://BLAH.COM/file.pdf"})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->base_url, "http://BLAH.COM/file.pdf");
  EXPECT_EQ(request->clean_url, "http://blah.com/file.pdf");
}

TEST(RequestTest, UnknownFieldsAreEchoed) {
  const std::string text =
      R"({"base_url":"https://a.test/","ingest_type":"dataset","release_stage":"published",)"
      R"("fatcat":{"release_ident":"x"},"odd":[1,null,{"a":"b"}],"force_recrawl":true})";
  const Result<Request> request = parse_request_text(text);
  ASSERT_TRUE(request.ok()) << request.error().message();
  EXPECT_EQ(request->raw, json::parse(text));
  EXPECT_TRUE(request->force_recrawl);
  EXPECT_EQ(request->release_stage, "published");
}

TEST(RequestTest, BadOnesSayWhatIsWrong) {
  EXPECT_NE(problem("{"), "");
  EXPECT_EQ(problem("[]"), "a request must be a JSON object");
  EXPECT_EQ(problem(R"({"base_url":"https://a.test/"})"), "'ingest_type' is missing");
  EXPECT_EQ(problem(R"({"ingest_type":"dataset"})"), "'base_url' is missing");
  EXPECT_EQ(problem(R"({"ingest_type":7,"base_url":"https://a.test/"})"),
            "'ingest_type' must be a text");
  EXPECT_EQ(problem(R"({"ingest_type":"dataset","base_url":"x","force_recrawl":"yes"})"),
            "'force_recrawl' must be true or false");
  EXPECT_NE(problem(R"({"ingest_type":"dataset","base_url":"not an address"})"), "");
  const std::string long_url = "https://a.test/" + std::string(kBaseUrlBytesMax, 'a');
  EXPECT_NE(problem(R"({"ingest_type":"dataset","base_url":")" + long_url + "\"}"), "");
  EXPECT_NE(problem("{\"a\":\"" + std::string(kRequestBytesMax, 'a') + "\"}"), "");
}

TEST(RequestTest, NulCharactersAreLeftOut) {
  const Result<Request> request = parse_request_text(
      "{\"ingest_type\":\"dataset\",\"base_url\":\"https://a.test/"
      "\\u0000b\",\"x\\u0000\":[\"\\u0000\"]}");
  ASSERT_TRUE(request.ok()) << request.error().message();
  EXPECT_EQ(request->base_url, "https://a.test/b");
  EXPECT_EQ(request->raw.at("x"), json::value(json::array{""}));
}

TEST(RequestTest, OptionsComeBackAsTheyWere) {
  RequestOptions options;
  options.strict = true;
  options.bundle = true;
  options.strategy = "archiveorg-fileset-bundled";
  options.files_max = 7;
  const Result<RequestOptions> back = parse_options(to_json(options), {});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, options);
  EXPECT_FALSE(parse_options({{"strategy", "web-files"}}, {}).ok());
  EXPECT_FALSE(parse_options({{"max_files", 0}}, {}).ok());
  EXPECT_FALSE(parse_options({{"max_files", "many"}}, {}).ok());
  EXPECT_FALSE(parse_options({{"colour", "red"}}, {}).ok());
}

}  // namespace
}  // namespace quern::fileset

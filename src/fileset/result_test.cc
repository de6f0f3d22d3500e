// Golden results, made by hand from the published schema.
#include "fileset/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fileset/status.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

const std::string kSha1(40, 'a');
const std::string kSha256(64, 'b');
const std::string kMd5(32, 'c');

Request request_for(const std::string& url) {
  return *parse_request(request_of(url));
}

Capture capture_of(const std::string& url) {
  Capture capture;
  capture.terminal_url = url;
  capture.terminal_dt = "20200101000000";
  capture.status_code = 200;
  capture.meta = {12, kMd5, kSha1, kSha256, "text/html"};
  capture.cdx = {{"url", url}};
  return capture;
}

struct Made {
  Request request = request_for("https://doi.org/10.1234/a");
  Landed landed;
  PlatformItem item;
  ManifestFile file;

  Made() {
    landed.hops = {"https://doi.org/10.1234/a", "https://data.test/1"};
    landed.capture = capture_of("https://data.test/1");
    landed.accepted = true;
    file.path = "a.csv";
    file.size = 12;
    file.md5 = kMd5;
    file.platform_url = "https://data.test/a.csv";
    item.platform_name = "zenodo";
    item.platform_domain = "data.test";
    item.platform_id = "1";
    item.archiveorg_item_name = "data.test-1";
    item.web_base_url = "https://data.test/1";
    item.manifest = {file};
  }
  ResultParts parts(const std::string& status) const {
    return {.request = request,
            .strict = true,
            .status = status,
            .message = {},
            .landed = landed,
            .item = item,
            .strategy = {},
            .files = {},
            .bundle = {}};
  }
};

std::string shown(const ResultParts& parts) {
  return json::serialize(make_result(parts));
}

constexpr char kLandingJson[] =
    R"("cdx":{"url":"https://data.test/1"},)"
    R"("file_meta":{"md5hex":"cccccccccccccccccccccccccccccccc","mimetype":"text/html",)"
    R"("sha1hex":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
    R"("sha256hex":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",)"
    R"("size_bytes":12},)";
constexpr char kTerminalJson[] =
    R"("terminal":{"terminal_dt":"20200101000000",)"
    R"("terminal_sha1hex":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
    R"("terminal_status_code":200,"terminal_url":"https://data.test/1"})";
constexpr char kRequestJson[] =
    R"("request":{"base_url":"https://doi.org/10.1234/a","ingest_type":"dataset"},)";
constexpr char kHopsJson[] = R"("hops":["https://doi.org/10.1234/a","https://data.test/1"],)";

TEST(ResultTest, ALandingThatIsNoneHasItsTerminalAlone) {
  const Request request = request_for("https://a.test/none");
  Landed landed;
  landed.hops = {"https://a.test/none"};
  landed.capture.emplace();
  landed.capture->terminal_url = "https://a.test/none";
  const ResultParts parts{.request = request,
                          .strict = true,
                          .status = "no-capture",
                          .message = {},
                          .landed = landed,
                          .item = {},
                          .strategy = {},
                          .files = {},
                          .bundle = {}};
  EXPECT_EQ(shown(parts), R"({"hit":false,"hops":["https://a.test/none"],)"
                          R"("request":{"base_url":"https://a.test/none","ingest_type":"dataset"},)"
                          R"("status":"no-capture","terminal":{"terminal_dt":null,)"
                          R"("terminal_status_code":null,"terminal_url":"https://a.test/none"}})");
}

TEST(ResultTest, WithoutAPlatformThereIsTheLandingPage) {
  const Made made;
  ResultParts parts = made.parts("no-platform-match");
  parts.item.reset();
  EXPECT_EQ(shown(parts), std::string("{") + kLandingJson + R"("hit":false,)" + kHopsJson +
                              kRequestJson + R"("status":"no-platform-match",)" + kTerminalJson +
                              "}");
}

TEST(ResultTest, WhatIsTooLargeStillShowsItsManifest) {
  const Made made;
  const json::object result = make_result(made.parts("too-large-size"));
  EXPECT_EQ(result.at("file_count"), 1);
  EXPECT_EQ(result.at("total_size"), 12);
  EXPECT_FALSE(result.contains("ingest_strategy"));
  EXPECT_TRUE(result.at("platform_base_url").is_null());
  EXPECT_EQ(json::serialize(result.at("manifest")),
            R"([{"md5":"cccccccccccccccccccccccccccccccc","path":"a.csv",)"
            R"("platform_url":"https://data.test/a.csv","size":12}])");
}

TEST(ResultTest, VeryLongManifestsAreCut) {
  Made made;
  made.item.manifest.assign(kManifestShownWhole + 1, made.file);
  const json::object result = make_result(made.parts("too-many-files"));
  EXPECT_EQ(result.at("manifest").as_array().size(), kManifestCutTo);
  EXPECT_EQ(result.at("file_count"), kManifestShownWhole + 1);
}

TEST(ResultTest, AnEmptyManifestIsNotShown) {
  Made made;
  made.item.manifest.clear();
  const json::object result = make_result(made.parts("empty-manifest"));
  EXPECT_FALSE(result.contains("manifest"));
  EXPECT_FALSE(result.contains("file_count"));
  EXPECT_EQ(result.at("platform_id"), "1");
}

TEST(ResultTest, ASingleFileIsAListOfOneInStrictModeOnly) {
  Made made;
  ResultParts parts = made.parts("success-file");
  parts.strategy = "web-file";
  made.file.status = "success";
  made.file.sha1 = kSha1;
  parts.files = {{made.file, capture_of("https://data.test/a.csv"), ""}};
  const json::object strict = make_result(parts);
  const json::object& one = strict.at("fileset_file").as_object();
  EXPECT_TRUE(one.at("file_meta").is_array());
  EXPECT_FALSE(one.at("terminal").as_object().contains("terminal_sha1hex"));
  parts.strict = false;
  const json::object fixed = make_result(parts);
  EXPECT_TRUE(fixed.at("fileset_file").at("file_meta").is_object());
  EXPECT_EQ(fixed.at("platform_base_url"), "https://data.test/1");
  const std::optional<json::object> file = file_result(parts);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->at("request").at("ingest_type"), "dataset-file");
  EXPECT_EQ(file->at("file_meta").at("sha1hex"), json::value(kSha1));
  EXPECT_EQ(file->at("terminal").at("terminal_sha1hex"), json::value(kSha1));
}

TEST(ResultTest, ASingleFileOfAnItemIsDescribedByDefaultOnly) {
  Made made;
  ResultParts parts = made.parts("success-file");
  parts.strategy = "archiveorg-file";
  made.file.status = "success";
  made.file.sha1 = kSha1;
  parts.files = {{made.file, {}, ""}};
  EXPECT_EQ(make_result(parts).at("fileset_file"), json::value(json::object()));
  EXPECT_FALSE(file_result(parts));
  parts.strict = false;
  EXPECT_EQ(make_result(parts).at("fileset_file").at("file_meta").at("sha1hex"),
            json::value(kSha1));
  EXPECT_TRUE(file_result(parts));
}

TEST(ResultTest, ABundleIsDescribedByDefaultOnly) {
  Made made;
  ResultParts parts = made.parts("success");
  parts.strategy = "archiveorg-fileset-bundled";
  made.file.status = "success";
  parts.files = {{made.file, {}, ""}, {made.file, {}, ""}};
  ManifestFile bundle;
  bundle.path = "data.test-1.zip";
  bundle.sha1 = kSha1;
  parts.bundle = FileOutcome{bundle, {}, ""};
  EXPECT_FALSE(make_result(parts).contains("fileset_bundle"));
  parts.strict = false;
  const json::object result = make_result(parts);
  EXPECT_EQ(result.at("fileset_bundle").at("archiveorg_bundle_path"), "data.test-1.zip");
  EXPECT_EQ(result.at("fileset_bundle").at("file_meta").at("sha1hex"), json::value(kSha1));
}

TEST(ResultTest, InStrictModeNothingIsSaidBehindTheFirstFailedDownload) {
  Made made;
  made.item.manifest = {made.file, made.file};
  ResultParts parts = made.parts("error-platform-download");
  parts.strategy = "archiveorg-fileset";
  made.file.status = "error-platform-download";
  ManifestFile later = made.file;
  later.status = "success";
  parts.files = {{made.file, {}, ""}, {later, {}, ""}};
  json::array manifest = make_result(parts).at("manifest").as_array();
  EXPECT_EQ(manifest[0].at("status"), "error-platform-download");
  EXPECT_FALSE(manifest[1].as_object().contains("status"));
  parts.strict = false;
  manifest = make_result(parts).at("manifest").as_array();
  EXPECT_EQ(manifest[1].at("status"), "success");
}

TEST(ResultTest, TheFirstFileThatFailsDecides) {
  const auto overall = [](std::vector<std::string> statuses, const std::string& strategy) {
    std::vector<FileOutcome> files;
    for (const std::string& status : statuses) {
      files.emplace_back();
      files.back().file.status = status;
    }
    return overall_status(files, strategy);
  };
  EXPECT_EQ(overall({"success", "success"}, "web-fileset"), "success");
  EXPECT_EQ(overall({"success"}, "web-file"), "success-file");
  EXPECT_EQ(overall({"exists", "exists"}, "archiveorg-fileset"), "success-existing");
  EXPECT_EQ(overall({"exists", "success"}, "archiveorg-fileset"), "success");
  EXPECT_EQ(overall({"success", "mismatch", "no-capture"}, "web-fileset"), "mismatch");
  EXPECT_EQ(overall({"success", ""}, "web-fileset"), "not-processed");
}

TEST(ResultTest, LongMessagesAreCutBetweenCharacters) {
  const Made made;
  ResultParts parts = made.parts("platform-error");
  parts.item.reset();
  parts.message = std::string(kErrorMessageBytesMax - 1, 'x') + "ü";
  const std::string message(make_result(parts).at("error_message").as_string());
  EXPECT_EQ(message, std::string(kErrorMessageBytesMax - 1, 'x'));
}

// Every status that a request can end with has a result of the same shape.
class StatusTest : public testing::TestWithParam<const char*> {};

TEST_P(StatusTest, HasAResult) {
  const Made made;
  ResultParts parts = made.parts(GetParam());
  parts.item.reset();
  const bool hit = is_hit(GetParam());
  EXPECT_EQ(shown(parts), std::string("{") + kLandingJson + R"("hit":)" +
                              (hit ? "true," : "false,") + kHopsJson + kRequestJson +
                              R"("status":")" + GetParam() + "\"," + kTerminalJson + "}");
}
INSTANTIATE_TEST_SUITE_P(
    All, StatusTest,
    testing::Values("success", "success-file", "success-existing", "skip-url-blocklist",
                    "blocked-cookie", "empty-blob", "body-too-large", "bad-gzip-encoding",
                    "not-implemented", "spn2-error", "petabox-error", "cdx-error", "wayback-error",
                    "wayback-content-error", "no-capture", "bad-redirect", "redirect-loop",
                    "redirects-exceeded", "terminal-bad-status", "invalid-url", "not-found",
                    "invalid-host-resolution", "gateway-timeout", "too-many-redirects",
                    "read-timeout", "forbidden", "remote-server-error", "spn2-backoff",
                    "spn2-no-ftp", "spn2-recent-capture", "spn2-success-partial-url",
                    "spn2-cdx-lookup-failure", "spn2-wayback-error", "connection-error",
                    "no-platform-match", "platform-scope", "platform-restricted", "platform-404",
                    "platform-http-error", "platform-error", "empty-manifest", "too-large-size",
                    "too-many-files", "no-strategy-helper", "exists", "mismatch-existing",
                    "unsafe-path", "error-platform-download", "mismatch-size", "mismatch-sha1",
                    "mismatch-sha256", "mismatch-md5", "error-archiveorg-upload", "too-much-spn",
                    "mismatch", "transfer-encoding-error", "not-processed", "timeout", "canceled"));

TEST(ResultTest, BadLinesAreResultsToo) {
  EXPECT_EQ(json::serialize(bad_request("what", "no JSON")),
            R"({"error_message":"no JSON","hit":false,"hops":[],"request":"what",)"
            R"("status":"bad-request"})");
}

TEST(ResultTest, RowsComeBackAsTheyWere) {
  const Made made;
  const Result<Landed> landed = parse_landed(to_json(made.landed));
  ASSERT_TRUE(landed.ok());
  EXPECT_EQ(to_json(*landed), to_json(made.landed));
  EXPECT_FALSE(parse_landed(json::value(3)).ok());
  EXPECT_FALSE(parse_capture(json::object{{"terminal_url", 7}}).ok());
}

}  // namespace
}  // namespace quern::fileset

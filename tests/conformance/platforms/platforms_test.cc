// Every platform, against the stand-in of its site: what it says of each dataset is what that is.
#include <gtest/gtest.h>

#include "fileset/platform.h"
#include "net/loop.h"
#include "support/platform_site.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr int kTries = 3;

// Asks the stand-in, follows redirects within it, and asks again where it says "later".
class SiteOutside : public Outside {
 public:
  explicit SiteOutside(support::PlatformSite& site) : site_(site) {}

  net::Task<Answer> ask(Ask ask) override {
    Answer answer;
    answer.url = ask.url;
    for (int hop = 0, tries = 0; hop < kHopsMax; ++hop) {
      const net::Response response = site_.get(answer.url);
      answer.status = response.status;
      answer.body = response.body;
      const bool later = response.status == 429 || response.status == 503;
      if (later && ++tries < kTries) continue;
      const std::string* location = response.headers.find("Location");
      if (location == nullptr || !location->starts_with("https://")) break;
      answer.url = *location;
    }
    co_return answer;
  }

  net::Task<Downloaded> download(DownloadOrder) override { co_return Downloaded(); }

 private:
  support::PlatformSite& site_;
};

class PlatformsConformanceTest : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { site_ = new support::PlatformSite; }
  static void TearDownTestSuite() {
    delete site_;
    site_ = nullptr;
  }

  PlatformAnswer ask(const std::string& dataset) {
    const std::string url = site_->landing(GetParam(), dataset);
    SiteOutside outside(*site_);
    Ask first;
    first.url = url;
    net::Loop loop;
    const Answer page = loop.run_until(outside.ask(std::move(first)));
    Landing landing;
    landing.base_url = url;
    landing.terminal_url = page.url;
    landing.status = page.status;
    const bool is_page = page.status == 200;
    landing.mimetype = is_page ? "text/html" : "application/octet-stream";
    if (is_page) landing.html = page.body;
    for (const auto& platform : platforms({})) {
      if (!platform->match(landing)) continue;
      net::Loop asking;
      return asking.run_until(platform->process(landing, outside));
    }
    PlatformAnswer none;
    none.status = "no-platform-match";
    return none;
  }

  static bool is(std::string_view name) { return name == GetParam(); }
  static bool keeps_paths() {
    return !is("github") && !is("ckan") && !is("dataone") && !is("datacite") && !is("schemaorg") &&
           !is("single");
  }

  void expect_files(const std::string& dataset) {
    SCOPED_TRACE(dataset);
    const PlatformAnswer answer = ask(dataset);
    ASSERT_EQ(answer.status, "success") << answer.message;
    const json::array& files = site_->dataset(dataset).at("files").as_array();
    if (!is("single")) ASSERT_EQ(answer.item.manifest.size(), files.size());
    for (std::size_t i = 0; i < answer.item.manifest.size(); ++i) {
      expect_file(answer.item.manifest[i], files[i].as_object());
    }
  }

  static void expect_file(const ManifestFile& file, const json::object& known) {
    const auto text = [&](const char* key) { return std::string(known.at(key).as_string()); };
    if (keeps_paths()) EXPECT_EQ(file.path, text("path"));
    if (file.size) EXPECT_EQ(*file.size, known.at("size").to_number<std::int64_t>());
    if (!file.md5.empty()) EXPECT_EQ(file.md5, text("md5"));
    if (!file.sha1.empty()) EXPECT_EQ(file.sha1, text("sha1"));
    if (!file.sha256.empty()) EXPECT_EQ(file.sha256, text("sha256"));
    if (keeps_paths()) EXPECT_FALSE((file.md5 + file.sha1 + file.sha256).empty());
    const net::Response bytes = site_->get(file.platform_url);
    EXPECT_EQ(bytes.status, 302) << file.platform_url;
    const std::string* location = bytes.headers.find("Location");
    EXPECT_TRUE(location != nullptr && location->starts_with("http://127.0.0.1:"));
  }

  static support::PlatformSite* site_;
};

support::PlatformSite* PlatformsConformanceTest::site_ = nullptr;

TEST_P(PlatformsConformanceTest, ItsDatasetsAreWhatTheyAre) {
  for (const char* dataset : {"plain", "single", "folders", "many", "zero"}) expect_files(dataset);
}

TEST_P(PlatformsConformanceTest, AnInterfaceThatIsBusyIsAskedAgain) {
  expect_files("api429");
  expect_files("api503");
}

TEST_P(PlatformsConformanceTest, FailuresHaveTheirNames) {
  if (is("single") || is("schemaorg")) return expect_files("cutjson");  // has no interface
  const PlatformAnswer cut = ask("cutjson");
  EXPECT_EQ(cut.status, "platform-error");
  EXPECT_TRUE(cut.passing);
  EXPECT_EQ(ask("gone").status,
            is("zenodo") || is("invenio") ? "platform-restricted" : "platform-http-error");
  EXPECT_EQ(ask("empty").status, is("datacite") ? "no-platform-match" : "empty-manifest");
  if (is("datacite") || is("dataone")) return;  // they know nothing of that
  EXPECT_EQ(ask("restricted").status, "platform-restricted");
}

INSTANTIATE_TEST_SUITE_P(Platforms, PlatformsConformanceTest,
                         testing::Values("zenodo", "invenio", "figshare", "dataverse", "archiveorg",
                                         "dryad", "osf", "github", "ckan", "dataone", "datacite",
                                         "schemaorg", "single"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace quern::fileset

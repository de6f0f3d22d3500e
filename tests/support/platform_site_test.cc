#include "support/platform_site.h"

#include <gtest/gtest.h>

namespace quern::support {
namespace {

namespace json = boost::json;

TEST(PlatformSiteTest, EveryPlatformHasALandingForEveryDataset) {
  PlatformSite site;
  for (const char* platform : {"zenodo", "invenio", "figshare", "dataverse", "archiveorg", "dryad",
                               "osf", "github", "ckan", "dataone", "schemaorg"}) {
    const net::Response page = site.get(site.landing(platform, "plain"));
    EXPECT_EQ(page.status, 200) << platform;
    EXPECT_NE(page.body.find("plain"), std::string::npos) << platform;
  }
  EXPECT_EQ(site.get("https://zenodo.org/records/9").status, 404);
  EXPECT_EQ(site.get("https://nowhere.example/").status, 404);
}

TEST(PlatformSiteTest, FilesAreServedByTheSecondPort) {
  PlatformSite site;
  const net::Response moved = site.get(site.landing("single", "plain"));
  EXPECT_EQ(moved.status, 302);
  const std::string* location = moved.headers.find("Location");
  ASSERT_NE(location, nullptr);
  EXPECT_TRUE(location->starts_with("http://127.0.0.1:")) << *location;
  EXPECT_TRUE(location->ends_with("/files.example/plain/0")) << *location;
}

TEST(PlatformSiteTest, ARecordNamesItsFilesWithTheirDigests) {
  PlatformSite site;
  const json::value record = json::parse(site.get("https://zenodo.org/api/records/1000").body);
  const json::object& plain = site.dataset("plain");
  ASSERT_EQ(record.at("files").as_array().size(), plain.at("files").as_array().size());
  const json::value& file = record.at("files").at(0);
  EXPECT_EQ(file.at("size"), plain.at("files").at(0).at("size"));
  EXPECT_EQ("md5:" + std::string(plain.at("files").at(0).at("md5").as_string()),
            std::string(file.at("checksum").as_string()));
  EXPECT_EQ(record.at("metadata").at("creators").at(0).at("name"), "Doe, Jane");
}

TEST(PlatformSiteTest, InterfacesFailByName) {
  PlatformSite site;
  const std::string base = "https://zenodo.org/api/records/";
  const net::Response many = site.get(base + "1010");
  EXPECT_EQ(many.status, 429);
  EXPECT_NE(many.headers.find("Retry-After"), nullptr);
  EXPECT_EQ(site.get(base + "1010").status, 200);
  EXPECT_EQ(site.get(base + "1011").status, 503);
  EXPECT_EQ(site.get(base + "1011").status, 200);
  boost::system::error_code failed;
  (void)json::parse(site.get(base + "1012").body, failed);
  EXPECT_TRUE(failed);
  EXPECT_EQ(site.get(base + "1013").status, 410);
  EXPECT_EQ(site.log().size(), 6U);
}

TEST(PlatformSiteTest, ItsBasesNameEveryHost) {
  PlatformSite site;
  const auto bases = site.bases();
  EXPECT_EQ(bases.at("https://zenodo.org"),
            "http://127.0.0.1:" + std::to_string(site.port()) + "/zenodo.org");
  EXPECT_TRUE(bases.contains("https://api.datacite.org"));
  EXPECT_EQ(site.environment().at(0).first, "QUERN_PLATFORM_BASES");
}

}  // namespace
}  // namespace quern::support

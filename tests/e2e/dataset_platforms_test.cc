// Every platform, as its stand-in plays it: the landing page of a dataset becomes verified files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>

#include "e2e/quern.h"
#include "support/platform_site.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using support::PlatformSite;
using support::Ran;

constexpr const char* kPlatforms[] = {"zenodo",  "invenio",  "figshare",  "dataverse",
                                      "dryad",   "osf",      "github",    "ckan",
                                      "dataone", "datacite", "schemaorg", "single"};

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.as_object().if_contains(key);
  return found == nullptr || !found->is_string() ? "" : std::string(found->get_string());
}

class DatasetPlatformsTest : public testing::Test {
 protected:
  // The results of the same dataset on these platforms.
  std::vector<json::value> keep(const std::vector<std::string>& urls) {
    const std::filesystem::path file = folder_.path().parent_path() / "requests.jsonl";
    std::ofstream out(file);
    for (const std::string& url : urls) {
      const json::object request{{"ingest_type", "dataset"}, {"base_url", url}};
      out << json::serialize(request) << "\n";
    }
    out.close();
    support::Environment environment = site_.environment();
    environment.emplace_back("QUERN_ALLOW_PRIVATE", "*");
    environment.emplace_back("QUERN_STEPS", "none");
    environment.emplace_back("QUERN_FREE_MIN", "0");
    auto program = folder_.start({"dataset", "--requests", file.string()}, environment);
    const auto ended = program->wait(std::chrono::minutes(3));
    EXPECT_TRUE(ended.ok());
    std::istringstream lines(program->text(support::Output::Standard));
    std::vector<json::value> results;
    for (std::string line; std::getline(lines, line);) results.push_back(json::parse(line));
    EXPECT_EQ(results.size(), urls.size()) << program->text(support::Output::Error);
    return results;
  }
  std::set<std::string> digests_of(const std::string& dataset) {
    std::set<std::string> digests;
    for (const json::value& file : site_.dataset(dataset).at("files").as_array()) {
      digests.insert(text(file, "sha256"));
    }
    return digests;
  }

  PlatformSite site_;
  DataFolder folder_;
};

TEST_F(DatasetPlatformsTest, ADatasetIsKeptFromEach) {
  std::vector<std::string> urls;
  for (const char* platform : kPlatforms) urls.push_back(site_.landing(platform, "plain"));
  const std::vector<json::value> results = keep(urls);
  const std::set<std::string> digests = digests_of("plain");
  ASSERT_EQ(results.size(), std::size(kPlatforms));
  for (std::size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(kPlatforms[i]);
    EXPECT_TRUE(results[i].at("hit").as_bool()) << json::serialize(results[i]);
    if (!results[i].as_object().contains("manifest")) continue;
    for (const json::value& file : results[i].at("manifest").as_array()) {
      EXPECT_EQ(text(file, "status"), "success");
      EXPECT_TRUE(digests.contains(text(file, "sha256"))) << json::serialize(file);
    }
  }
}

}  // namespace
}  // namespace quern::e2e

// Datasets that have no platform of their own: a page that describes itself, a DOI, a file.
#include <gtest/gtest.h>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

TEST(SchemaorgTest, DistributionsAreTheFiles) {
  const PlatformAnswer answer = ask_sample(schemaorg_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "10.1594/SEA.1");
  ASSERT_EQ(answer.item.manifest.size(), 3U);
  EXPECT_EQ(answer.item.manifest[0].path, "SEA.1.zip");
  EXPECT_EQ(answer.item.manifest[0].size, 1234);
  EXPECT_EQ(answer.item.manifest[0].mimetype, "application/zip");
  EXPECT_EQ(answer.item.manifest[0].platform_url, "https://sea.example/10.1594/SEA.1?format=zip");
  EXPECT_EQ(answer.item.manifest[1].path, "a.csv");
  EXPECT_FALSE(answer.item.manifest[1].size) << "1.2 MB is no number of bytes";
  EXPECT_EQ(answer.item.manifest[2].path, "a-2.csv");
  EXPECT_EQ(answer.item.archiveorg_item_meta.at("creator").at(0), "Jane Doe");
  EXPECT_EQ(answer.item.archiveorg_item_meta.at("license"), "https://cc.example");
}

TEST(SchemaorgTest, WhatIsNotFreeIsRestricted) {
  const PlatformAnswer answer = ask_sample(changed(
      schemaorg_sample(), R"("isAccessibleForFree":true)", R"("isAccessibleForFree":false)"));
  EXPECT_EQ(answer.status, "platform-restricted");
}

TEST(SchemaorgTest, ADescriptionWithoutContentIsNoMatch) {
  const std::string html =
      R"(<script type="application/ld+json">{"@type":"Dataset","name":"x"}</script>)";
  EXPECT_EQ(matching(landing_of("https://sea.example/1", html)), "");
}

TEST(DataciteTest, ContentIsTaken) {
  const PlatformAnswer answer = ask_sample(datacite_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "10.9999/abc");
  EXPECT_EQ(file_of(answer, 0).path, "fish.csv");
  EXPECT_EQ(file_of(answer, 0).mimetype, "text/csv");
}

TEST(DataciteTest, APageOfAKnownPlatformIsFollowed) {
  Sample sample = changed(datacite_sample(), R"(["https://fish.example/files/fish.csv"])", "null");
  EXPECT_EQ(ask_sample(sample).status, "no-platform-match");
  sample = changed(sample, "https://fish.example/10.9999/abc", "https://zenodo.org/records/4711");
  sample.answers.push_back(zenodo_sample().answers[0]);
  const PlatformAnswer answer = ask_sample(sample);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_name, "zenodo");
}

TEST(DataciteTest, WhatItDoesNotKnowIsNoMatch) {
  ScriptedOutside outside;
  const PlatformAnswer answer =
      ask_platforms(landing_of("https://doi.org/10.9999/abc", "<html>"), outside);
  EXPECT_EQ(answer.status, "no-platform-match");
  ScriptedOutside broken;
  broken.answer(datacite_sample().answers[0].first, 503, "");
  const PlatformAnswer later =
      ask_platforms(landing_of("https://doi.org/10.9999/abc", "<html>"), broken);
  EXPECT_EQ(later.status, "platform-http-error");
  EXPECT_TRUE(later.passing);
}

TEST(DataciteTest, TheDoiMayStandInThePage) {
  Landing landing = landing_of("https://fish.example/1", "<html>");
  EXPECT_EQ(matching(landing), "");
  landing.html_biblio["doi"] = "10.9999/abc";
  EXPECT_EQ(matching(landing), "datacite");
  landing.html_biblio["doi"] = 7;
  EXPECT_EQ(matching(landing), "");
}

TEST(SingleTest, AFileIsADataset) {
  const PlatformAnswer answer = ask_sample(single_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_domain, "files.example");
  EXPECT_EQ(file_of(answer, 0).path, "a b.zip");
  EXPECT_EQ(file_of(answer, 0).platform_url, "https://files.example/pub/a%20b.zip");
  EXPECT_EQ(answer.item.archiveorg_item_name, "files.example--pub-a-20b.zip");
}

TEST(SingleTest, AFileWithoutANameGetsOne) {
  Sample sample = single_sample();
  sample.url = "https://files.example/";
  EXPECT_EQ(file_of(ask_sample(sample), 0).path, "data.zip");
  sample.url = "https://files.example/get%2Fx";
  EXPECT_EQ(file_of(ask_sample(sample), 0).path, "data.zip");
}

TEST(SingleTest, APageIsNone) {
  EXPECT_EQ(matching(landing_of("https://x.example/", "", "text/html")), "");
  EXPECT_EQ(matching(landing_of("https://x.example/", "", "application/xhtml+xml")), "");
  EXPECT_EQ(matching(landing_of("https://x.example/", "", "")), "");
}

}  // namespace
}  // namespace quern::fileset

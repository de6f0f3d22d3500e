#include "fileset/platform_dataverse.h"

#include <gtest/gtest.h>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

TEST(DataverseTest, FoldersOriginalsAndNumbersOfFilesAreKept) {
  const PlatformAnswer answer = ask_sample(dataverse_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  const PlatformItem& item = answer.item;
  EXPECT_EQ(item.platform_domain, "data.example.edu");
  EXPECT_EQ(item.platform_id, "doi:10.5072/FK2/ABCDEF");
  EXPECT_EQ(item.archiveorg_item_name, "data.example.edu-ABCDEF-v2.1");
  ASSERT_EQ(item.manifest.size(), 2U);
  const ManifestFile& table = item.manifest[0];
  EXPECT_EQ(table.path, "data/raw/leaves.csv");
  EXPECT_EQ(table.size, 700);
  EXPECT_EQ(table.md5, kMd5);
  EXPECT_EQ(table.mimetype, "text/csv");
  EXPECT_EQ(table.platform_url,
            "https://data.example.edu/api/access/datafile/:persistentId/?persistentId="
            "doi:10.5072/FK2/ABCDEF/GHIJKL&format=original");
  EXPECT_EQ(boost::json::serialize(table.extra), R"({"version":2,"description":"Table"})");
  const ManifestFile& text = item.manifest[1];
  EXPECT_EQ(text.path, "readme.txt");
  EXPECT_EQ(text.sha1, kSha1);
  EXPECT_TRUE(text.md5.empty());
  EXPECT_EQ(text.platform_url, "https://data.example.edu/api/access/datafile/102");
  EXPECT_EQ(item.web_bundle_url,
            "https://data.example.edu/api/access/dataset/:persistentId/versions/2.1?persistentId="
            "doi:10.5072/FK2/ABCDEF&format=original");
  EXPECT_EQ(item.archiveorg_item_meta.at("description"), "Of trees\n<br>\nBe kind");
  EXPECT_EQ(item.archiveorg_item_meta.at("doi"), "10.5072/FK2/ABCDEF");
  EXPECT_EQ(item.archiveorg_item_meta.at("creator").at(0), "Doe, Jane");
}

TEST(DataverseTest, AVersionThatIsNamedIsTheOneThatIsAskedFor) {
  const auto data = boost::json::parse(dataverse_sample().answers[0].second);
  ScriptedOutside outside;
  const std::string url =
      "https://data.example.edu/api/datasets/:persistentId/versions/1.3?persistentId="
      "doi:10.5072/FK2/ABCDEF";
  boost::json::object version = data.at("data").at("latestVersion").as_object();
  version["versionNumber"] = 1;
  version["versionMinorNumber"] = 3;
  outside.answer(url, 200, boost::json::serialize(boost::json::object{{"data", version}}));
  const PlatformAnswer answer =
      ask_platforms(landing_of(dataverse_sample().url + "&version=1.3"), outside);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.archiveorg_item_name, "data.example.edu-ABCDEF-v1.3");
  EXPECT_EQ(outside.asked_urls(), std::vector<std::string>{url});
}

TEST(DataverseTest, RestrictedFilesAreLeftOutAndSaid) {
  const Sample one = changed(dataverse_sample(), R"("restricted":false)", R"("restricted":true)");
  const PlatformAnswer answer = ask_sample(one);
  ASSERT_EQ(answer.status, "success");
  ASSERT_EQ(answer.item.manifest.size(), 1U);
  EXPECT_EQ(answer.item.manifest[0].path, "readme.txt");
  EXPECT_EQ(answer.message, "1 file is left out: data/raw/leaves.csv (restricted)");
  EXPECT_EQ(answer.item.archiveorg_item_meta.at("notes").as_string(), answer.message);
  const Sample all = changed(one, R"("restricted":false)", R"("restricted":true)");
  EXPECT_EQ(ask_sample(all).status, "platform-restricted");
}

TEST(DataverseTest, AnEmbargoIsSaidWithItsDate) {
  const Sample sample =
      changed(changed(dataverse_sample(), R"("filesize":12)",
                      R"("filesize":12,"embargo":{"dateAvailable":"2099-01-01"})"),
              R"("restricted":false)", R"("restricted":true)");
  const PlatformAnswer answer = ask_sample(sample);
  EXPECT_EQ(answer.status, "platform-restricted");
  EXPECT_NE(answer.message.find("under embargo until 2099-01-01"), std::string::npos);
}

TEST(DataverseTest, WhatIsNoWholePublishedDatasetIsRefused) {
  const std::string base = "https://data.example.edu/";
  const std::string pid = "persistentId=doi:10.5072/FK2/ABCDEF";
  ScriptedOutside outside;
  const auto status = [&](const std::string& url) {
    return ask_platforms(landing_of(url), outside).status;
  };
  EXPECT_EQ(status(base + "dataset.xhtml?" + pid + "/GHIJKL"), "platform-scope");
  EXPECT_EQ(status(base + "file.xhtml?" + pid), "platform-scope");
  EXPECT_EQ(status(base + "dataset.xhtml?" + pid + "&version=DRAFT"), "platform-restricted");
  EXPECT_TRUE(outside.asked().empty());
  EXPECT_EQ(status(base + "dataset.xhtml?" + pid), "platform-404");
  EXPECT_EQ(status(base + "dataset.xhtml?persistentId=other:1/2"), "no-platform-match");
  EXPECT_EQ(ask_sample(changed(dataverse_sample(), "RELEASED", "DEACCESSIONED")).status,
            "platform-restricted");
  EXPECT_EQ(ask_sample(changed(dataverse_sample(), "latestVersion", "nothing")).status,
            "platform-scope");
  EXPECT_EQ(ask_sample(changed(dataverse_sample(), R"("files":[)", R"("filez":[)")).status,
            "platform-error");
  const Sample other = changed(dataverse_sample(), R"("datasetPersistentId":"doi:10.5072/FK2/A)",
                               R"("datasetPersistentId":"doi:10.5072/FK2/Z)");
  EXPECT_EQ(ask_sample(other).status, "platform-error");
}

TEST(DataverseTest, OldAnswersWithoutThePidAreRead) {
  const Sample old =
      changed(dataverse_sample(), R"("datasetPersistentId":"doi:10.5072/FK2/ABCDEF",)", "");
  EXPECT_EQ(ask_sample(old).status, "success");
}

TEST(DataverseTest, PidsAreReadInAllTheirForms) {
  for (const char* url :
       {"https://d.example/dataset.xhtml?persistentId=doi%3A10.5072%2FFK2%2FABCDEF",
        "https://d.example/dataset.xhtml?persistentid=doi:10.5072/FK2/LONGER-ID",
        "https://d.example/citation?persistentId=https://doi.org/10.5072/FK2/ABCDEF",
        "https://d.example/dataset.xhtml?persistentId=hdl:20.500.12690/RIN/IDDOAH",
        "https://d.example/dataset.xhtml?persistentId=https://hdl.handle.net/20.500/A"}) {
    EXPECT_EQ(matching(landing_of(url)), "dataverse") << url;
  }
}

TEST(DataverseTest, OtherChecksumsAreKeptBeside) {
  const PlatformAnswer answer = ask_sample(changed(dataverse_sample(), "SHA-1", "SHA-512"));
  ASSERT_EQ(answer.status, "success");
  EXPECT_TRUE(file_of(answer, 1).sha1.empty());
  EXPECT_EQ(file_of(answer, 1).extra.at("checksum").as_string(), std::string("sha512:") + kSha1);
}

}  // namespace
}  // namespace quern::fileset

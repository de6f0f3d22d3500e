#include "fileset/platform_zenodo.h"

#include <gtest/gtest.h>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

TEST(ZenodoTest, ARecordOfTodayIsRead) {
  const PlatformAnswer answer = ask_sample(zenodo_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "4711");
  EXPECT_EQ(answer.item.archiveorg_item_name, "zenodo.org-4711");
  EXPECT_EQ(answer.item.web_bundle_url, "https://zenodo.org/api/records/4711/files-archive");
  EXPECT_EQ(file_of(answer, 0).path, "a/b.csv");
  EXPECT_EQ(file_of(answer, 0).md5, kMd5);
  EXPECT_EQ(file_of(answer, 1).sha256, kSha256);
  EXPECT_EQ(file_of(answer, 1).platform_url,
            "https://zenodo.org/api/records/4711/files/c.bin/content");
  const auto& meta = answer.item.archiveorg_item_meta;
  EXPECT_EQ(meta.at("source"), "https://zenodo.org/records/4711");
  EXPECT_EQ(meta.at("version"), "1.2");
  EXPECT_FALSE(meta.contains("license"));
}

TEST(ZenodoTest, OtherSitesOfItsSoftwareAreRead) {
  const PlatformAnswer answer = ask_sample(invenio_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_domain, "repo.example.org");
  EXPECT_EQ(answer.item.archiveorg_item_name, "repo.example.org-82kn8-3nk04");
  EXPECT_EQ(file_of(answer, 0).path, "w.nc");
  EXPECT_EQ(file_of(answer, 0).size, 8);
  EXPECT_EQ(file_of(answer, 0).mimetype, "application/x-netcdf");
  EXPECT_EQ(file_of(answer, 0).platform_url,
            "https://repo.example.org/api/records/82kn8-3nk04/files/w.nc/content");
  const auto& meta = answer.item.archiveorg_item_meta;
  EXPECT_EQ(meta.at("creator").at(0), "Roe, Rick");
  EXPECT_EQ(meta.at("doi"), "10.1234/82kn8-3nk04");
  EXPECT_EQ(meta.at("license"), "cc-by-4.0");
}

TEST(ZenodoTest, FilesThatAreListedElsewhereAreAskedFor) {
  Sample sample = changed(invenio_sample(), R"("entries":)", R"("count_":)");
  EXPECT_EQ(ask_sample(sample).status, "platform-404");
  sample.answers.emplace_back("https://repo.example.org/api/records/82kn8-3nk04/files",
                              R"({"enabled":true,"entries":[{"key":"w.nc","size":8,
"checksum":"md5:0cc175b9c0f1b6a831c399e269772661",
"links":{"content":"https://repo.example.org/w"}}]})");
  const PlatformAnswer answer = ask_sample(sample);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(file_of(answer, 0).platform_url, "https://repo.example.org/w");
}

TEST(ZenodoTest, AConceptLeadsToItsLatestVersion) {
  ScriptedOutside outside;
  outside.answer("https://zenodo.org/api/records/4710", 200, zenodo_sample().answers[0].second);
  const PlatformAnswer answer =
      ask_platforms(landing_of("https://zenodo.org/records/4710"), outside);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "4711");
}

TEST(ZenodoTest, AnotherRecordThanTheOneAskedForIsAnError) {
  ScriptedOutside outside;
  outside.answer("https://zenodo.org/api/records/9", 200, zenodo_sample().answers[0].second);
  EXPECT_EQ(ask_platforms(landing_of("https://zenodo.org/records/9"), outside).status,
            "platform-error");
}

TEST(ZenodoTest, WhatIsGoneOrClosedIsRestricted) {
  ScriptedOutside outside;
  outside.answer("https://zenodo.org/api/records/4711", 410, "{}");
  EXPECT_EQ(ask_platforms(landing_of(zenodo_sample().url), outside).status, "platform-restricted");
  const PlatformAnswer embargo =
      ask_sample(changed(zenodo_sample(), R"("access_right":"open")",
                         R"("access_right":"embargoed","embargo_date":"2099-01-02")"));
  EXPECT_EQ(embargo.status, "platform-restricted");
  EXPECT_EQ(embargo.message, "under embargo until 2099-01-02");
  EXPECT_EQ(ask_sample(changed(zenodo_sample(), R"(":"open")", R"(":"closed")")).status,
            "platform-restricted");
  EXPECT_EQ(ask_sample(changed(invenio_sample(), R"("files":"public")", R"("files":"restricted")"))
                .status,
            "platform-restricted");
  const PlatformAnswer until = ask_sample(
      changed(invenio_sample(), R"("active":false)", R"("active":true,"until":"2099-05-05")"));
  EXPECT_EQ(until.message, "under embargo until 2099-05-05");
}

TEST(ZenodoTest, AddressesOfAllKindsMatch) {
  for (const char* url :
       {"https://zenodo.org/record/1", "https://zenodo.org/records/1",
        "https://www.zenodo.org/records/1", "https://sandbox.zenodo.org/records/1",
        "https://zenodo.org/records/1/files/a.csv?download=1", "http://zenodo.org/record/1#x"}) {
    EXPECT_EQ(matching(landing_of(url)), "zenodo") << url;
  }
}

TEST(ZenodoTest, ARecordWithoutFilesIsEmpty) {
  const PlatformAnswer answer =
      ask_sample(changed(invenio_sample(), R"("enabled":true)", R"("enabled":false)"));
  EXPECT_EQ(answer.status, "empty-manifest");
  EXPECT_EQ(answer.item.platform_id, "82kn8-3nk04");
}

}  // namespace
}  // namespace quern::fileset

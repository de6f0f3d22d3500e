// Platforms whose files are listed page by page, folder by folder, or not at all: Dryad, OSF,
// GitHub, CKAN, DataONE.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fileset/platform_api.h"
#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

// -- Dryad --

TEST(DryadTest, AllPagesOfTheLatestVersionAreRead) {
  const PlatformAnswer answer = ask_sample(dryad_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "10.5061/dryad.abc12");
  EXPECT_EQ(answer.item.archiveorg_item_name, "datadryad.org-dryad.abc12-v2");
  ASSERT_EQ(answer.item.manifest.size(), 2U) << "a deleted file is none";
  EXPECT_EQ(answer.item.manifest[0].sha256, kSha256);
  EXPECT_EQ(answer.item.manifest[0].platform_url, "https://datadryad.org/api/v2/files/1/download");
  EXPECT_EQ(answer.item.manifest[1].path, "README.md");
  EXPECT_EQ(answer.item.web_bundle_url, "https://datadryad.org/api/v2/versions/93/download");
}

TEST(DryadTest, TheTokenIsSentWhereThereIsOne) {
  ScriptedOutside outside;
  for (const auto& [url, body] : dryad_sample().answers) outside.answer(url, 200, body);
  PlatformOptions options;
  options.dryad_token = "t0ken";
  EXPECT_EQ(ask_platforms(landing_of(dryad_sample().url), outside, options).status, "success");
  for (const Ask& ask : outside.asked()) {
    EXPECT_EQ(web::find_header(ask.headers, "authorization"), "Bearer t0ken");
  }
}

TEST(DryadTest, DownloadsFromTheSiteHaveTheToken) {
  PlatformOptions options;
  options.dryad_token = "t0ken";
  const auto all = platforms(options);
  const auto dryad = std::ranges::find(all, "dryad", [](const auto& one) { return one->name(); });
  ASSERT_NE(dryad, all.end());
  const auto token_for = [&](const char* url) {
    const web::HeaderList headers = (*dryad)->download_headers(url);
    return std::string(web::find_header(headers, "authorization"));
  };
  EXPECT_EQ(token_for("https://datadryad.org/api/v2/files/1/download"), "Bearer t0ken");
  EXPECT_EQ(token_for("https://datadryad.org.x.example/files/1"), "");
  EXPECT_EQ(token_for("https://x.example/files/1"), "");
}

TEST(DryadTest, NextPagesStayOnTheSite) {
  const PlatformAnswer answer = ask_sample(
      changed(dryad_sample(), R"("/api/v2/versions/93/files?page=2")", R"("https://x.example/")"));
  EXPECT_EQ(answer.status, "platform-error");
}

TEST(DryadTest, PagesWithoutAnEndAreGivenUp) {
  Sample sample = dryad_sample();
  sample.answers.pop_back();
  sample = changed(sample, R"("next":{"href":"/api/v2/versions/93/files?page=2"})",
                   R"("next":{"href":"/api/v2/versions/93/files"})");
  ScriptedOutside outside;
  for (const auto& [url, body] : sample.answers) outside.answer(url, 200, body);
  EXPECT_EQ(ask_platforms(landing_of(sample.url), outside).status, "too-many-files");
  EXPECT_LE(outside.asked().size(), static_cast<std::size_t>(kPagesMax) + 1);
}

TEST(DryadTest, WhatIsNotPublicYetIsRestricted) {
  EXPECT_EQ(ask_sample(changed(dryad_sample(), R"(":"public")", R"(":"restricted")")).status,
            "platform-restricted");
  EXPECT_EQ(ask_sample(changed(dryad_sample(), "stash:version", "stash:nothing")).status,
            "platform-error");
}

TEST(DryadTest, OldAddressesMatch) {
  for (const char* url : {"https://datadryad.org/stash/dataset/doi:10.5061/dryad.abc12",
                          "https://datadryad.org/dataset/doi%3A10.5061%2Fdryad.abc12",
                          "https://datadryad.org/stash/landing/show?id=doi:10.5061/dryad.abc12"}) {
    EXPECT_EQ(matching(landing_of(url)), "dryad") << url;
  }
}

// -- OSF --

TEST(OsfTest, FoldersAndPagesAreFollowed) {
  const PlatformAnswer answer = ask_sample(osf_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  ASSERT_EQ(answer.item.manifest.size(), 2U);
  EXPECT_EQ(answer.item.manifest[0].path, "top.txt");
  EXPECT_EQ(answer.item.manifest[0].md5, kMd5);
  EXPECT_EQ(answer.item.manifest[0].sha256, kSha256);
  EXPECT_EQ(answer.item.manifest[1].path, "raw/x.csv");
  EXPECT_EQ(answer.item.manifest[1].platform_url, "https://osf.io/download/f2/");
  EXPECT_EQ(answer.item.web_bundle_url,
            "https://files.osf.io/v1/resources/ab3de/providers/osfstorage/?zip=");
}

TEST(OsfTest, AFolderInItselfIsGivenUp) {
  Sample sample = osf_sample();
  const auto list = [](const std::string& href) {
    return fmt::format(R"({{"data":[{{"attributes":{{"kind":"folder"}},"relationships":{{"files":
{{"links":{{"related":{{"href":"{}"}}}}}}}}}}],"links":{{"next":null}}}})",
                       href);
  };
  sample.answers[1].second = list(sample.answers[1].first);
  EXPECT_EQ(ask_sample(sample).status, "platform-scope");
  sample.answers[1].second = list("https://elsewhere.example/");
  EXPECT_EQ(ask_sample(sample).status, "platform-error");
  sample.answers[1].second =
      fmt::format(R"({{"data":[],"links":{{"next":"{}"}}}})", sample.answers[1].first);
  EXPECT_EQ(ask_sample(sample).status, "too-many-files");
}

TEST(OsfTest, OnlyPublicProjectsAndRegistrationsAreTaken) {
  const Sample sample = osf_sample();
  EXPECT_EQ(ask_sample(changed(sample, R"("type":"nodes")", R"("type":"preprints")")).status,
            "platform-scope");
  EXPECT_EQ(ask_sample(changed(sample, R"("public":true)", R"("public":false)")).status,
            "platform-restricted");
  EXPECT_EQ(ask_sample(changed(sample, R"("public":true)", R"("withdrawn":true)")).status,
            "platform-restricted");
  const PlatformAnswer embargo = ask_sample(
      changed(sample, R"("public":true)", R"("embargoed":true,"embargo_end_date":"2099-01-01")"));
  EXPECT_EQ(embargo.status, "platform-restricted");
  EXPECT_EQ(embargo.message, "under embargo until 2099-01-01");
}

// -- GitHub --

TEST(GithubTest, TheAssetsAreTheFiles) {
  const PlatformAnswer answer = ask_sample(github_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "octo/data@v1.0");
  EXPECT_EQ(answer.item.archiveorg_item_name, "github.com-octo-data-v1.0");
  ASSERT_EQ(answer.item.manifest.size(), 1U) << "an upload that has not ended is none";
  EXPECT_EQ(answer.item.manifest[0].sha256, kSha256);
  EXPECT_EQ(answer.item.manifest[0].size, 77);
  EXPECT_EQ(answer.item.web_bundle_url, "");
}

TEST(GithubTest, TheLatestReleaseIsAskedForAndTheTokenSent) {
  ScriptedOutside outside;
  outside.answer("https://api.github.com/repos/octo/data/releases/latest", 200,
                 github_sample().answers[0].second);
  PlatformOptions options;
  options.github_token = "t0ken";
  for (const char* url :
       {"https://github.com/octo/data/releases/latest", "https://github.com/octo/data/releases"}) {
    EXPECT_EQ(ask_platforms(landing_of(url), outside, options).status, "success") << url;
  }
  EXPECT_EQ(web::find_header(outside.asked()[0].headers, "authorization"), "Bearer t0ken");
}

TEST(GithubTest, WithoutAssetsTheSourceIsTheFile) {
  ScriptedOutside outside;
  outside.answer("https://api.github.com/repos/octo/data/releases/tags/a%2Fb", 200,
                 R"({"tag_name":"a/b","zipball_url":"https://api.github.com/z","assets":[]})");
  const PlatformAnswer answer =
      ask_platforms(landing_of("https://github.com/octo/data/releases/tag/a/b"), outside);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(file_of(answer, 0).path, "data-a-b.zip");
  EXPECT_EQ(file_of(answer, 0).platform_url, "https://api.github.com/z");
  EXPECT_FALSE(file_of(answer, 0).size);
}

TEST(GithubTest, WhoHasAskedTooOftenMayAskLater) {
  ScriptedOutside outside;
  const std::string url = github_sample().answers[0].first;
  outside.answer(url, 403, "{}", {{"x-ratelimit-remaining", "0"}});
  outside.answer(url, 403, "{}");
  const Landing landing = landing_of(github_sample().url);
  const PlatformAnswer throttled = ask_platforms(landing, outside);
  EXPECT_EQ(throttled.status, "platform-http-error");
  EXPECT_TRUE(throttled.passing);
  EXPECT_FALSE(ask_platforms(landing, outside).passing);
}

TEST(GithubTest, ADraftIsNotPublic) {
  EXPECT_EQ(ask_sample(changed(github_sample(), R"("draft":false)", R"("draft":true)")).status,
            "platform-restricted");
}

// -- CKAN --

TEST(CkanTest, ResourcesBecomeFilesWithNamesOfTheirOwn) {
  const PlatformAnswer answer = ask_sample(ckan_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  ASSERT_EQ(answer.item.manifest.size(), 3U);
  EXPECT_EQ(answer.item.manifest[0].path, "stops.csv");
  EXPECT_EQ(answer.item.manifest[0].size, 55);
  EXPECT_EQ(answer.item.manifest[0].md5, kMd5);
  EXPECT_EQ(answer.item.manifest[1].path, "stops-2.csv");
  EXPECT_FALSE(answer.item.manifest[1].size);
  EXPECT_EQ(answer.item.manifest[2].path, "By street.json");
  EXPECT_EQ(answer.item.manifest[2].size, 12);
  EXPECT_EQ(answer.message, "1 file is left out: Paper (no address of a file)");
  EXPECT_EQ(answer.item.archiveorg_item_name, "open.example.gov-bus-stops");
}

TEST(CkanTest, WhatIsNotPublicIsRefused) {
  const Sample sample = ckan_sample();
  EXPECT_EQ(ask_sample(changed(sample, R"("private":false)", R"("private":true)")).status,
            "platform-restricted");
  EXPECT_EQ(ask_sample(changed(sample, R"("state":"active")", R"("state":"deleted")")).status,
            "platform-404");
  EXPECT_EQ(ask_sample(changed(sample, R"("success":true)", R"("success":false)")).status,
            "platform-error");
  Sample resource = sample;
  resource.url += "/resource/r1";
  EXPECT_EQ(ask_sample(resource).status, "platform-scope");
}

// -- DataONE --

TEST(DataoneTest, ThePackageOfTheNewestMapIsRead) {
  const PlatformAnswer answer = ask_sample(dataone_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  ASSERT_EQ(answer.item.manifest.size(), 2U);
  EXPECT_EQ(answer.item.manifest[0].path, "doi-10.18739-A2XYZ.xml");
  EXPECT_EQ(answer.item.manifest[0].sha1, kSha1);
  EXPECT_EQ(answer.item.manifest[1].path, "t.csv");
  EXPECT_EQ(answer.item.manifest[1].mimetype, "text/csv");
  EXPECT_EQ(answer.item.manifest[1].platform_url,
            "https://cn.dataone.org/cn/v2/resolve/urn%3Auuid%3A1");
  EXPECT_EQ(answer.item.archiveorg_item_meta.at("doi"), "10.18739/A2XYZ");
}

TEST(DataoneTest, WhatIsNoPackageIsRefused) {
  const Sample sample = dataone_sample();
  EXPECT_EQ(ask_sample(changed(sample, R"(["old_map","map_2"])", "[]")).status, "platform-scope");
  EXPECT_EQ(ask_sample(changed(sample, R"("docs":[{"identifier":"doi:10.18739/A2XYZ",
"formatType":"METADATA","resourceMap":["old_map","map_2"]}])",
                               R"("docs":[])"))
                .status,
            "platform-404");
  EXPECT_EQ(ask_sample(changed(sample, R"("numFound":2)", R"("numFound":9000)")).status,
            "too-many-files");
}

}  // namespace
}  // namespace quern::fileset

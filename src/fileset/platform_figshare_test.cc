#include "fileset/platform_figshare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

json::value file_row(int number) {
  return {{"id", number},
          {"name", fmt::format("f{}.txt", number)},
          {"size", 1},
          {"computed_md5", kMd5},
          {"is_link_only", false},
          {"download_url", fmt::format("https://ndownloader.figshare.com/files/{}", number)}};
}

std::string rows(int begin, int end) {
  json::array all;
  for (int i = begin; i < end; ++i) all.push_back(file_row(i));
  return json::serialize(all);
}

TEST(FigshareTest, EveryTypeOfArticleIsRead) {
  const PlatformAnswer answer = ask_sample(figshare_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.platform_id, "4242");
  EXPECT_EQ(answer.item.archiveorg_item_name, "figshare.com-4242-v3");
  EXPECT_EQ(answer.item.web_bundle_url,
            "https://ndownloader.figshare.com/articles/4242/versions/3");
  EXPECT_EQ(file_of(answer, 0).path, "a.zip");
  EXPECT_EQ(file_of(answer, 0).size, 10);
  EXPECT_EQ(file_of(answer, 0).mimetype, "application/zip");
  EXPECT_EQ(file_of(answer, 1).size, 0);
  EXPECT_EQ(file_of(answer, 1).md5, kMd5) << "as supplied";
  EXPECT_EQ(answer.item.archiveorg_item_meta.at("license"), "https://mit.example");
}

TEST(FigshareTest, WithoutAVersionTheLatestIsTaken) {
  ScriptedOutside outside;
  outside.answer("https://api.figshare.com/v2/articles/4242", 200,
                 figshare_sample().answers[0].second);
  const PlatformAnswer answer =
      ask_platforms(landing_of("https://plos.figshare.com/articles/figure/7/4242"), outside);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.archiveorg_item_name, "plos.figshare.com-4242-v3");
}

TEST(FigshareTest, MoreThanTenFilesAreListedPageByPage) {
  const std::string article =
      R"({"id":4242,"version":3,"is_public":true,"title":"Many","files":)" + rows(0, 10) + "}";
  const std::string list = "https://api.figshare.com/v2/articles/4242/versions/3/files?page=";
  ScriptedOutside outside;
  outside.answer(figshare_sample().answers[0].first, 200, article);
  outside.answer(list + "1&page_size=1000", 200, rows(0, 1000));
  outside.answer(list + "2&page_size=1000", 200, rows(1000, 1003));
  const PlatformAnswer answer = ask_platforms(landing_of(figshare_sample().url), outside);
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.manifest.size(), 1003U);
  EXPECT_EQ(outside.asked().size(), 3U);
}

TEST(FigshareTest, AListWithoutAnEndIsGivenUp) {
  class Endless : public ScriptedOutside {
   public:
    net::Task<Answer> ask(Ask) override {
      Answer answer;
      answer.status = 200;
      const int page = pages_++;
      answer.body = page == 0 ? R"({"id":4242,"version":3,"files":)" + rows(0, 10) + "}"
                              : rows(page * 1000, page * 1000 + 1000);
      co_return answer;
    }
    int pages_ = 0;
  };
  Endless outside;
  const PlatformAnswer answer = ask_platforms(landing_of(figshare_sample().url), outside);
  EXPECT_EQ(answer.status, "too-many-files");
  EXPECT_LT(outside.pages_, 60);
}

TEST(FigshareTest, WhatIsNotPublicIsRestricted) {
  const Sample sample = figshare_sample();
  EXPECT_EQ(ask_sample(changed(sample, R"("is_public":true)", R"("is_public":false)")).status,
            "platform-restricted");
  EXPECT_EQ(
      ask_sample(changed(sample, R"("is_confidential":false)", R"("is_confidential":true)")).status,
      "platform-restricted");
  const PlatformAnswer embargo =
      ask_sample(changed(sample, R"("is_embargoed":false,"embargo_date":null)",
                         R"("is_embargoed":true,"embargo_date":"2099-12-31","files_":null)"));
  EXPECT_EQ(embargo.status, "platform-restricted");
  EXPECT_EQ(embargo.message, "under embargo until 2099-12-31");
}

TEST(FigshareTest, FilesElsewhereAreLeftOut) {
  const Sample one =
      changed(figshare_sample(), R"("is_link_only":false)", R"("is_link_only":true)");
  const PlatformAnswer answer = ask_sample(one);
  EXPECT_EQ(answer.status, "success");
  EXPECT_EQ(answer.item.manifest.size(), 1U);
  EXPECT_NE(answer.message.find("a.zip"), std::string::npos);
  EXPECT_EQ(ask_sample(changed(one, R"("is_link_only":false)", R"("is_link_only":true)")).status,
            "platform-scope");
}

TEST(FigshareTest, CollectionsAreNotWhatIsKept) {
  ScriptedOutside outside;
  EXPECT_EQ(
      ask_platforms(landing_of("https://figshare.com/collections/Things/123/1"), outside).status,
      "platform-scope");
  EXPECT_EQ(ask_platforms(landing_of("https://figshare.com/projects/Things/123"), outside).status,
            "platform-scope");
  EXPECT_TRUE(outside.asked().empty());
}

TEST(FigshareTest, ASlugMayBeANumber) {
  struct Row {
    const char* path;
    const char* asked;
  };
  const Row rows[] = {
      {"figure/7/4242", "4242"},
      {"figure/7/4242/3", "4242/versions/3"},
      {"7/4242", "4242"},
      {"Some_code/4242/3", "4242/versions/3"},
      {"dataset/Some_code/4242", "4242"},
  };
  for (const Row& row : rows) {
    ScriptedOutside outside;
    (void)ask_platforms(landing_of(std::string("https://figshare.com/articles/") + row.path),
                        outside);
    ASSERT_EQ(outside.asked().size(), 1U) << row.path;
    EXPECT_EQ(outside.asked()[0].url,
              std::string("https://api.figshare.com/v2/articles/") + row.asked);
  }
}

TEST(FigshareTest, PortalsAreKnownByTheirPage) {
  const std::string url = "https://data.uni.example/articles/dataset/Things/4242/3";
  EXPECT_EQ(matching(landing_of(url, "<img src=https://ndownloader.figshare.com/x>")), "figshare");
  EXPECT_EQ(matching(landing_of(url, "<html>")), "");
  const std::string html = "<img src=https://ndownloader.figshare.com/x>";
  Sample sample = figshare_sample();
  sample.url = url;
  sample.html = html;
  EXPECT_EQ(ask_sample(sample).status, "no-platform-match") << "it is an article of figshare.com";
  sample = changed(sample, R"("url_public_html":"https://figshare.com/)",
                   R"("url_public_html":"https://data.uni.example/)");
  EXPECT_EQ(ask_sample(sample).status, "success");
  EXPECT_EQ(matching(landing_of("https://notfigshare.com/articles/dataset/Things/4242/3")), "");
}

TEST(FigshareTest, AnArticleWithoutFilesIsEmpty) {
  ScriptedOutside outside;
  outside.answer(figshare_sample().answers[0].first, 200,
                 R"({"id":4242,"version":3,"is_public":true,"files":[]})");
  const PlatformAnswer answer = ask_platforms(landing_of(figshare_sample().url), outside);
  EXPECT_EQ(answer.status, "empty-manifest");
  EXPECT_EQ(answer.item.archiveorg_item_name, "figshare.com-4242-v3");
}

}  // namespace
}  // namespace quern::fileset

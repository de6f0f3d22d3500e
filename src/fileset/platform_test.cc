#include "fileset/platform.h"

#include <gtest/gtest.h>

#include "fileset/platform_api.h"
#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kMiB = 1LL << 20;

PlatformItem item_of(std::int64_t files, std::int64_t bytes_each) {
  PlatformItem item;
  for (std::int64_t i = 0; i < files; ++i) {
    ManifestFile file;
    file.path = std::to_string(i);
    file.size = bytes_each;
    file.platform_url = "https://x.example/" + file.path;
    item.manifest.push_back(std::move(file));
  }
  return item;
}

// -- Strategies --

TEST(StrategyTest, NumberAndSizesDecide) {
  struct Row {
    std::int64_t files;
    std::int64_t bytes_each;
    std::string usual;
    std::string strict;
  };
  const Row rows[] = {
      {1, 0, "web-file", "web-file"},
      {1, 64 * kMiB - 1, "web-file", "web-file"},
      {1, 64 * kMiB, "web-file", "archiveorg-file"},
      {1, 128 * kMiB, "web-file", "archiveorg-file"},
      {1, 128 * kMiB + 1, "archiveorg-file", "archiveorg-file"},
      {2, 64 * kMiB - 1, "web-fileset", "web-fileset"},
      {2, 64 * kMiB, "web-fileset", "archiveorg-fileset"},
      {2, 128 * kMiB + 1, "archiveorg-fileset", "archiveorg-fileset"},
      {16, 63 * kMiB, "web-fileset", "web-fileset"},
      {17, 63 * kMiB, "archiveorg-fileset", "web-fileset"},
      {20, 1, "web-fileset", "web-fileset"},
      {21, 1, "archiveorg-fileset", "web-fileset"},
      {200, 1, "archiveorg-fileset", "web-fileset"},
      {2100, 63 * kMiB, "archiveorg-fileset", "archiveorg-fileset"},
  };
  for (const Row& row : rows) {
    const PlatformItem item = item_of(row.files, row.bytes_each);
    StrategyOptions options;
    EXPECT_EQ(choose_by_size(item, options), row.usual) << row.files << " x " << row.bytes_each;
    options.strict = true;
    EXPECT_EQ(choose_by_size(item, options), row.strict) << row.files << " x " << row.bytes_each;
    options.archiveorg = false;
    EXPECT_EQ(choose_by_size(item, options), row.files == 1 ? "web-file" : "web-fileset");
    options.forced = "archiveorg-fileset-bundled";
    EXPECT_EQ(choose_by_size(item, options), options.forced);
  }
}

TEST(StrategyTest, ABundleIsTakenWhenItIsAskedForOrAllThereIs) {
  PlatformItem item = item_of(3, 1);
  StrategyOptions options;
  options.bundle = true;
  EXPECT_EQ(choose_by_size(item, options), "web-fileset") << "there is no bundle";
  item.web_bundle_url = "https://x.example/all.zip";
  EXPECT_EQ(choose_by_size(item, options), "web-fileset-bundled");
  options.strict = true;
  EXPECT_EQ(choose_by_size(item, options), "web-fileset");
  options = {};
  EXPECT_EQ(choose_by_size(item, options), "web-fileset");
  for (ManifestFile& file : item.manifest) file.platform_url.clear();
  EXPECT_EQ(choose_by_size(item, options), "web-fileset-bundled");
  PlatformItem large = item_of(30, 1);
  large.web_bundle_url = item.web_bundle_url;
  options.bundle = true;
  EXPECT_EQ(choose_by_size(large, options), "archiveorg-fileset-bundled");
}

TEST(StrategyTest, AZipThatIsAFileOfTheDatasetIsNoBundle) {
  PlatformItem item = item_of(2, 1);
  item.manifest[0].path = "all.zip";
  item.web_bundle_url = item.manifest[0].platform_url;
  StrategyOptions options;
  options.bundle = true;
  EXPECT_EQ(choose_by_size(item, options), "web-fileset");
}

TEST(StrategyTest, LimitsCanBeSet) {
  StrategyOptions options;
  options.limits.files = 2;
  EXPECT_EQ(choose_by_size(item_of(3, 1), options), "archiveorg-fileset");
  EXPECT_EQ(choose_by_size(item_of(2, 1), options), "web-fileset");
}

// -- Addresses --

TEST(AddressTest, DoisBecomeAddresses) {
  EXPECT_EQ(address_of("10.5281/zenodo.77"), "https://doi.org/10.5281/zenodo.77");
  EXPECT_EQ(address_of(" doi:10.5281/zenodo.77 "), "https://doi.org/10.5281/zenodo.77");
  EXPECT_EQ(address_of("DOI:10.1/a#b?c d"), "https://doi.org/10.1/a%23b%3Fc%20d");
  EXPECT_EQ(address_of("https://doi.org/10.5281/zenodo.77"), "https://doi.org/10.5281/zenodo.77");
  EXPECT_EQ(address_of("https://zenodo.org/record/77"), "https://zenodo.org/record/77");
  EXPECT_EQ(address_of("10.x/y"), "10.x/y");
  EXPECT_EQ(address_of("10.5281/"), "10.5281/");
  EXPECT_EQ(address_of(""), "");
}

TEST(ItemNameTest, HasOnlyWhatTheArchiveAllows) {
  EXPECT_EQ(item_name({"zenodo.org", "77"}), "zenodo.org-77");
  EXPECT_EQ(item_name({"_a", "b/c d"}), "a-b-c-d");
  EXPECT_EQ(item_name({"x"}), "x00");
  EXPECT_EQ(item_name({}), "000");
  const std::string longest = item_name({std::string(200, 'a')});
  EXPECT_EQ(longest.size(), kItemNameMax);
  EXPECT_NE(longest, item_name({std::string(201, 'a')}));
}

TEST(DoiTest, IsFoundInAddressesOnly) {
  EXPECT_EQ(doi_in("https://doi.org/10.1/a%2Fb?x=1"), "10.1/a/b");
  EXPECT_EQ(doi_in("http://dx.doi.org/10.1/a"), "10.1/a");
  EXPECT_EQ(doi_in("https://zenodo.org/10.1/a"), "");
  EXPECT_EQ(doi_in("doi:11.1/a"), "");
}

TEST(LinkTest, NobodyIsLedElsewhere) {
  EXPECT_EQ(link_within("https://a.org/v2/", "/v3?page=2"), "https://a.org/v3?page=2");
  EXPECT_EQ(link_within("https://a.org/v2/", "https://a.org/x"), "https://a.org/x");
  EXPECT_EQ(link_within("https://a.org/v2/", "https://b.org/x"), "");
  EXPECT_EQ(link_within("https://a.org/v2/", "http://a.org/x"), "");
  EXPECT_EQ(link_within("https://a.org/v2/", "//169.254.169.254/"), "");
  EXPECT_EQ(link_within("https://a.org/v2/", ""), "");
}

// -- What an API's statuses mean --

TEST(ApiTest, EachStatusHasItsMeaning) {
  struct Row {
    int http;
    std::string status;
    bool passing;
  };
  const Row rows[] = {
      {400, "platform-http-error", false}, {401, "platform-http-error", false},
      {403, "platform-http-error", false}, {404, "platform-404", false},
      {410, "platform-http-error", false}, {429, "platform-http-error", true},
      {500, "platform-error", true},       {502, "platform-error", true},
      {503, "platform-http-error", true},  {504, "platform-error", true},
      {302, "platform-http-error", false},
  };
  const Sample sample = figshare_sample();
  for (const bool strict : {false, true}) {
    for (const Row& row : rows) {
      ScriptedOutside outside;
      outside.answer(sample.answers[0].first, row.http, "{}");
      PlatformOptions options;
      options.strict = strict;
      const std::string url = "https://figshare.com/articles/dataset/Some_code/4242/3";
      const PlatformAnswer answer = ask_platforms(landing_of(url), outside, options);
      EXPECT_EQ(answer.status, row.status) << row.http;
      EXPECT_EQ(answer.passing, row.passing) << row.http;
      EXPECT_FALSE(answer.message.empty());
    }
  }
}

TEST(ApiTest, NoAnswerAndNoJsonMayPass) {
  const Sample sample = figshare_sample();
  ScriptedOutside outside;
  outside.fail(sample.answers[0].first, web::FetchProblem::Timeout, "too slow");
  outside.answer(sample.answers[0].first, 200, R"({"id":4242,"fil)");
  outside.answer(sample.answers[0].first, 200, std::string(100, '['));
  outside.answer(sample.answers[0].first, 200, "");
  for (int i = 0; i < 4; ++i) {
    const PlatformAnswer answer = ask_platforms(landing_of(sample.url), outside);
    EXPECT_EQ(answer.status, "platform-error") << i;
    EXPECT_TRUE(answer.passing) << i;
  }
}

TEST(ApiTest, TheDayDecidesWhetherADateLiesAhead) {
  ApiAnswer answer;
  EXPECT_TRUE(answer.is_ahead("1999-01-01")) << "the day is unknown";
  answer.asked_us = 1'700'000'000'000'000;  // 2023-11-14
  EXPECT_FALSE(answer.is_ahead("2023-11-14"));
  EXPECT_TRUE(answer.is_ahead("2023-11-15T00:00:00Z"));
}

// -- All --

TEST(PlatformsTest, EachSampleIsFoundAndIsASuccess) {
  for (const Sample& sample : all_samples()) {
    EXPECT_EQ(matching(landing_of(sample.url, sample.html, sample.mimetype)), sample.platform);
    const PlatformAnswer answer = ask_sample(sample);
    EXPECT_EQ(answer.status, "success") << sample.platform << ": " << answer.message;
    EXPECT_EQ(answer.item.platform_name, sample.platform);
    EXPECT_FALSE(answer.item.platform_domain.empty());
    EXPECT_FALSE(answer.item.platform_id.empty());
    EXPECT_FALSE(answer.item.archiveorg_item_name.empty());
    for (const ManifestFile& file : answer.item.manifest) {
      EXPECT_TRUE(is_web_address(file.platform_url)) << sample.platform << " " << file.path;
    }
  }
}

TEST(PlatformsTest, OrdinaryPagesAreNone) {
  for (const char* url :
       {"https://example.org/", "https://example.org/records/1", "https://example.org/dataset/x",
        "https://example.org/articles/a/1", "https://github.com/octo/data", "https://osf.io/",
        "https://osf.io/search", "https://zenodo.org/communities/x", "https://zenodo.org/records/x",
        "https://datadryad.org/about", "https://archive.org/details/", "mailto:a@b.example", ""}) {
    EXPECT_EQ(matching(landing_of(url, "<html>hello</html>")), "") << url;
  }
}

TEST(PlatformsTest, TwoFilesOfOnePathAreAnError) {
  const PlatformAnswer answer =
      ask_sample(changed(figshare_sample(), R"("name":"b.txt")", R"("name":"a.zip")"));
  EXPECT_EQ(answer.status, "platform-error");
  EXPECT_NE(answer.message.find("a.zip"), std::string::npos);
}

}  // namespace
}  // namespace quern::fileset

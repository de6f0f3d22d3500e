#include "fileset/platform_archiveorg.h"

#include <gtest/gtest.h>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

TEST(ArchiveorgTest, WhatTheItemWasMadeOfIsTheManifest) {
  const PlatformAnswer answer = ask_sample(archiveorg_sample());
  ASSERT_EQ(answer.status, "success") << answer.message;
  EXPECT_EQ(answer.item.archiveorg_item_name, "Cat_Pictures");
  ASSERT_EQ(answer.item.manifest.size(), 2U);
  EXPECT_EQ(answer.item.manifest[0].path, "one cat.csv");
  EXPECT_EQ(answer.item.manifest[0].size, 100);
  EXPECT_EQ(answer.item.manifest[0].sha1, kSha1);
  EXPECT_EQ(answer.item.manifest[0].mimetype, "text/csv");
  EXPECT_EQ(answer.item.manifest[0].platform_url,
            "https://archive.org/download/Cat_Pictures/one%20cat.csv");
  EXPECT_EQ(answer.item.manifest[1].mimetype, "") << "a format that has no type here";
}

TEST(ArchiveorgTest, StrictlyAnUnknownFormatIsAnError) {
  PlatformOptions options;
  options.strict = true;
  const Sample sample = archiveorg_sample();
  const PlatformAnswer refusal = ask_sample(sample, options);
  EXPECT_EQ(refusal.status, "platform-error");
  EXPECT_NE(refusal.message.find("two.parquet"), std::string::npos);
  const Sample known = changed(sample, "Parquet", "Unknown");
  const PlatformAnswer answer = ask_sample(known, options);
  ASSERT_EQ(answer.status, "success");
  EXPECT_EQ(file_of(answer, 0).platform_url,
            "https://archive.org/download/Cat_Pictures/one cat.csv");
}

TEST(ArchiveorgTest, TheFilesAreThereAlready) {
  for (const auto& platform : platforms({})) {
    if (platform->name() != "archiveorg") continue;
    PlatformItem item;
    item.manifest.resize(1);
    StrategyOptions options;
    options.archiveorg = false;
    EXPECT_EQ(platform->choose_strategy(item, options), "archiveorg-file");
    item.manifest.resize(2);
    EXPECT_EQ(platform->choose_strategy(item, options), "archiveorg-fileset");
    options.forced = "web-fileset";
    EXPECT_EQ(platform->choose_strategy(item, options), "web-fileset");
  }
}

TEST(ArchiveorgTest, WhatIsNoItemOfFilesIsRefused) {
  const Sample sample = archiveorg_sample();
  EXPECT_EQ(
      ask_sample(changed(sample, R"("mediatype":"data")", R"("mediatype":"collection")")).status,
      "platform-scope");
  EXPECT_EQ(ask_sample(changed(sample, R"("is_dark":false)", R"("is_dark":true)")).status,
            "platform-restricted");
  EXPECT_EQ(
      ask_sample(changed(sample, R"("title":"Cats")", R"("access-restricted-item":"true")")).status,
      "platform-restricted");
  EXPECT_EQ(ask_sample(changed(sample, R"("files":[)", R"("filez":[)")).status, "platform-error");
  ScriptedOutside outside;
  outside.answer(sample.answers[0].first, 200, "{}");
  EXPECT_EQ(ask_platforms(landing_of(sample.url), outside).status, "platform-404");
  EXPECT_EQ(ask_platforms(landing_of(sample.url + "/one.csv"), outside).status, "platform-scope");
  EXPECT_EQ(outside.asked().size(), 1U);
}

TEST(ArchiveorgTest, PrivateFilesAreLeftOut) {
  const PlatformAnswer answer = ask_sample(
      changed(archiveorg_sample(), R"("size":"100")", R"("size":"100","private":"true")"));
  EXPECT_EQ(answer.status, "success");
  EXPECT_EQ(answer.item.manifest.size(), 1U);
  EXPECT_EQ(answer.message, "1 file is left out: one cat.csv (private)");
}

TEST(ArchiveorgTest, AddressesOfItemsMatch) {
  for (const char* url : {"https://archive.org/details/abc", "https://www.archive.org/details/abc/",
                          "http://archive.org/download/abc"}) {
    EXPECT_EQ(matching(landing_of(url)), "archiveorg") << url;
  }
  EXPECT_EQ(matching(landing_of("https://archive.org/about/")), "");
}

}  // namespace
}  // namespace quern::fileset

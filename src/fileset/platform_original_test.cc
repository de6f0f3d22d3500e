// The platforms as the original had them.
#include "fileset/platform_original.h"

#include <gtest/gtest.h>

#include "fileset/platform_samples.h"
#include "io/file.h"
#include "support/corpus.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kFileBytesMax = 16 * 1024 * 1024;

PlatformOptions strictly() {
  PlatformOptions options;
  options.strict = true;
  return options;
}

TEST(OriginalTest, PidsAreDividedByTheirLengths) {
  for (const char* pid :
       {"doi:10.25625/LL6WXZ", "doi:10.5072/FK2/J8SJZB", "doi:10.7910/DVN/6HPRIG"}) {
    ASSERT_TRUE(parse_original_pid(pid)) << pid;
    EXPECT_FALSE(parse_original_pid(pid)->is_file) << pid;
  }
  for (const char* pid : {"doi:10.5072/FK2/J8SJZB/LL6WXZ", "hdl:20.500.12690/RIN/IDDOAH/BTNH25",
                          "doi:10.25625/LL6WXZ/ABCDEF"}) {
    ASSERT_TRUE(parse_original_pid(pid)) << pid;
    EXPECT_TRUE(parse_original_pid(pid)->is_file) << pid;
  }
  for (const char* pid : {"doi:10.25625/abcd", "other:10.25625/LL6WXZ", "10.25625/LL6WXZ",
                          "doi:10.5072/FK2/J8SJZB/LL6WXZv123", "doi:10.5072", ""}) {
    EXPECT_FALSE(parse_original_pid(pid)) << pid;
  }
}

TEST(OriginalTest, ItsRulesOfMatchingAreKept) {
  struct Row {
    const char* url;
    const char* platform;
  };
  const Row rows[] = {
      {"https://zenodo.org/record/77", "zenodo"},
      {"https://zenodo.org/records/77", ""},
      {"https://www.zenodo.org/record/77", ""},
      {"https://sandbox.zenodo.org/record/77", ""},
      {"https://figshare.com/articles/dataset/A/1/2", "figshare"},
      {"https://figshare.com/articles/A/1/2", "figshare"},
      {"https://notfigshare.com/articles/A/1/2", "figshare"},
      {"https://figshare.com/articles/A/1", ""},
      {"https://figshare.com/articles/figure/A/1/2", ""},
      {"https://archive.org/details/x", "archiveorg"},
      {"https://github.com/octo/data/releases/latest", ""},
      {"https://osf.io/ab3de/", ""},
      {"https://x.example/?persistentId=doi:10.5072/FK2/ABCDEF", "dataverse"},
      {"https://x.example/?persistentid=doi:10.5072/FK2/ABCDEF", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(matching(landing_of(row.url), strictly()), row.platform) << row.url;
  }
  EXPECT_EQ(matching(landing_of("https://x.example/a.zip", "", "application/zip"), strictly()), "");
}

TEST(OriginalTest, WhereItCrashedTheMessageSaysWhatWasMissing) {
  Sample sample = zenodo_sample();
  sample.url = "https://zenodo.org/record/4711";
  const PlatformAnswer answer = ask_sample(sample, strictly());
  EXPECT_EQ(answer.status, "platform-error");
  EXPECT_NE(answer.message.find("md5 checksum"), std::string::npos) << answer.message;
  sample.url = "https://zenodo.org/record/x";
  EXPECT_EQ(ask_sample(sample, strictly()).status, "platform-error");
}

TEST(OriginalTest, ItsWordsAreKept) {
  ScriptedOutside outside;
  outside.answer("https://zenodo.org/api/records/77", 403, "{}");
  outside.answer("https://zenodo.org/api/records/77", 410, "{}");
  const Landing landing = landing_of("https://zenodo.org/record/77");
  const PlatformAnswer forbidden = ask_platforms(landing, outside, strictly());
  EXPECT_EQ(forbidden.status, "platform-http-error");
  EXPECT_EQ(forbidden.message, "403");
  const PlatformAnswer deleted = ask_platforms(landing, outside, strictly());
  EXPECT_EQ(deleted.status, "platform-restricted");
  EXPECT_EQ(deleted.message, "record deleted");
}

// -- What was recorded --

// As the records have it: with platform_status, without empty parts.
json::object recorded_form(const PlatformItem& item) {
  json::object object = to_json(item);
  object["platform_status"] = "success";
  return object;
}

class RecordedCase {
 public:
  RecordedCase(const json::object& row, std::string body) : row_(row), body_(std::move(body)) {}

  void check() const {
    const std::string url(row_.at("terminal_url").as_string());
    SCOPED_TRACE(url);
    const Landing landing = landing_of(url);
    const bool matches = row_.at("match").as_bool();
    EXPECT_EQ(!matching(landing, strictly()).empty(), matches);
    if (!matches) return;
    ScriptedOutside outside;
    std::vector<std::string> calls;
    for (const json::value& call : row_.at("api_calls").as_array()) {
      calls.emplace_back(call.as_string());
      outside.answer(calls.back(), is_deleted() ? 410 : 200, body_);
    }
    const PlatformAnswer answer = ask_platforms(landing, outside, strictly());
    EXPECT_EQ(outside.asked_urls(), calls);
    if (row_.contains("error")) return check_error(answer);
    ASSERT_EQ(answer.status, "success") << answer.message;
    EXPECT_EQ(json::value(recorded_form(answer.item)), row_.at("item"));
    EXPECT_EQ(answer.item.manifest.size(), row_.at("file_count").to_number<std::size_t>());
    EXPECT_EQ(answer.item.total_size(), row_.at("total_size").to_number<std::int64_t>());
    StrategyOptions options;
    options.strict = true;
    EXPECT_EQ(choose_by_size(answer.item, options), row_.at("strategy").as_string());
  }

 private:
  bool is_deleted() const {
    return row_.contains("error") && row_.at("error").as_string() == "PlatformRestrictedError";
  }

  void check_error(const PlatformAnswer& answer) const {
    const std::string error(row_.at("error").as_string());
    const std::map<std::string, std::string> named = {
        {"PlatformScopeError", "platform-scope"},
        {"PlatformRestrictedError", "platform-restricted"}};
    const auto known = named.find(error);
    // What no name of its own was a crash.
    EXPECT_EQ(answer.status, known == named.end() ? "platform-error" : known->second) << error;
    EXPECT_FALSE(answer.message.empty());
    if (known == named.end()) return;
    EXPECT_EQ(answer.message, std::string(row_.at("error_message").as_string()));
  }

  const json::object& row_;
  std::string body_;
};

TEST(OriginalCorpusTest, EveryRecordedItemIsTheSame) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto text =
      io::read_file(corpus / "filesets" / "expected_platform_items.json", kFileBytesMax);
  ASSERT_TRUE(text.ok()) << text.error().message();
  const json::value rows = json::parse(*text);
  ASSERT_GE(rows.as_array().size(), 11U);
  for (const json::value& row : rows.as_array()) {
    const std::string fixture(row.at("fixture").as_string());
    const auto body = io::read_file(corpus / "filesets" / fixture, kFileBytesMax);
    ASSERT_TRUE(body.ok()) << body.error().message();
    RecordedCase(row.as_object(), *body).check();
  }
}

// The same recorded answers as today's platforms read them.
TEST(OriginalCorpusTest, WhatItCouldNotReadIsReadToday) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto read = [&](const std::string& name) {
    return *io::read_file(corpus / "filesets" / name, kFileBytesMax);
  };
  ScriptedOutside outside;
  const std::string harvard = "https://dataverse.harvard.edu/";
  outside.answer(harvard + "api/datasets/:persistentId/?persistentId=doi:10.7910/DVN/TJCLKP", 200,
                 read("dataverse_TJCLKP_dataset_2019.json"));
  outside.answer("https://zenodo.org/api/records/3463499", 200,
                 read("zenodo_record_3463499_2019.json"));
  outside.answer("https://api.figshare.com/v2/articles/123456", 200,
                 read("figshare_article_123456.json"));
  outside.answer("https://archive.org/metadata/nasa", 200, read("archiveorg_metadata_nasa.json"));
  const auto status = [&](const std::string& url) {
    return ask_platforms(landing_of(url), outside).status;
  };
  EXPECT_EQ(status(harvard + "dataset.xhtml?persistentId=doi:10.7910/DVN/TJCLKP"), "success");
  EXPECT_EQ(status("https://zenodo.org/records/3463499"), "success");
  EXPECT_EQ(status("https://plos.figshare.com/articles/figure/T/123456"), "success");
  EXPECT_EQ(status("https://archive.org/details/nasa"), "platform-scope");
  const std::string page = read("pangaea_836178_landing.html");
  EXPECT_EQ(matching(landing_of("https://doi.pangaea.de/10.1594/PANGAEA.836178", page)),
            "schemaorg");
}

}  // namespace
}  // namespace quern::fileset

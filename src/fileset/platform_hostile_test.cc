// Whatever an API says: a status that is known, and no crash.
#include <gtest/gtest.h>

#include <set>

#include "fileset/platform_samples.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

const std::set<std::string> kStatuses = {
    "success",        "platform-scope",      "platform-restricted",
    "platform-404",   "platform-http-error", "platform-error",
    "empty-manifest", "too-many-files",      "no-platform-match"};

json::value deep() {
  json::value value = 1;
  for (int i = 0; i < 30; ++i) value = json::array{std::move(value)};
  return value;
}

const std::vector<json::value>& odd_values() {
  static const std::vector<json::value> kValues = {
      nullptr,
      true,
      false,
      -1,
      1e300,
      0.5,
      std::numeric_limits<std::uint64_t>::max(),
      "",
      "\r\n../../../etc/passwd",
      "file:///etc/passwd",
      json::string(5000, 'x'),
      "99999999999999999999",
      json::array{},
      json::array{nullptr, 1, "x", json::array{}, json::object{}},
      json::object{},
      json::object{{"a", 1}},
      deep(),
  };
  return kValues;
}

// Calls it with each value of the tree in its turn changeable.
void each_node(json::value& node, const std::function<void(json::value&)>& visit) {
  visit(node);
  if (json::object* object = node.if_object()) {
    for (auto& member : *object) each_node(member.value(), visit);
  } else if (json::array* array = node.if_array()) {
    for (json::value& value : *array) each_node(value, visit);
  }
}

void check(const Sample& sample, const std::string& url, const json::value& root, bool strict) {
  ScriptedOutside outside;
  for (const auto& [other, body] : sample.answers) {
    outside.answer(other, 200, other == url ? json::serialize(root) : body);
  }
  PlatformOptions options;
  options.strict = strict;
  const PlatformAnswer answer =
      ask_platforms(landing_of(sample.url, sample.html, sample.mimetype), outside, options);
  ASSERT_TRUE(kStatuses.contains(answer.status)) << answer.status;
  ASSERT_LE(outside.asked().size(), 2'000U);
  for (const ManifestFile& file : answer.item.manifest) {
    ASSERT_FALSE(file.path.empty() && answer.status == "success" && !strict);
    ASSERT_GE(file.size.value_or(0), 0);
    ASSERT_TRUE(file.md5.empty() || file.md5.size() == 32 || strict);
  }
  ASSERT_GE(answer.item.total_size(), 0);
}

void change_each_value(const Sample& sample, bool strict) {
  for (const auto& [url, body] : sample.answers) {
    json::value root = json::parse(body);
    each_node(root, [&](json::value& node) {
      const json::value kept = node;
      for (const json::value& odd : odd_values()) {
        node = odd;
        check(sample, url, root, strict);
      }
      node = kept;
    });
  }
}

TEST(PlatformHostileTest, EveryValueMayBeAnything) {
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.platform);
    change_each_value(sample, false);
    if (HasFatalFailure()) return;
  }
}

TEST(PlatformHostileTest, EveryValueMayBeAnythingInStrictModeToo) {
  Sample dataverse = dataverse_sample();
  dataverse.answers.emplace_back(dataverse.answers[0].first + "&version=2.1",
                                 dataverse.answers[0].second);
  Sample figshare = figshare_sample();
  figshare.url = "https://figshare.com/articles/dataset/Some_code/4242/3";
  Sample zenodo = zenodo_sample();
  zenodo.url = "https://zenodo.org/record/4711";
  for (const Sample& sample : {dataverse, figshare, zenodo, archiveorg_sample()}) {
    SCOPED_TRACE(sample.platform);
    change_each_value(sample, true);
    if (HasFatalFailure()) return;
  }
}

TEST(PlatformHostileTest, EveryMemberMayBeMissing) {
  for (const Sample& sample : all_samples()) {
    for (const auto& [url, body] : sample.answers) {
      json::value root = json::parse(body);
      each_node(root, [&](json::value& node) {
        if (!node.is_object()) return;
        const json::object kept = node.get_object();
        for (const auto& member : kept) {
          node.get_object().erase(member.key());
          check(sample, url, root, false);
          node = kept;
        }
      });
    }
  }
}

TEST(PlatformHostileTest, PagesMayDescribeThemselvesAsTheyLike) {
  const std::string begin = "<script type=application/ld+json>";
  for (const std::string& html :
       {begin, begin + "{}</script>", begin + "[[]]</script>",
        begin + R"({"@type":"Dataset","distribution":7}</script>)",
        begin + R"({"@type":"Dataset","distribution":{"contentUrl":{"a":1}}}</script>)",
        begin +
            R"({"@type":"Dataset","distribution":[{"contentUrl":["file:///x",7,""]}]}</script>)",
        begin + std::string(100'000, '[') + "</script>",
        "<script ld+json" + std::string(1000, '<')}) {
    ScriptedOutside outside;
    const PlatformAnswer answer = ask_platforms(landing_of("https://x.example/", html), outside);
    EXPECT_TRUE(answer.status == "no-platform-match" || answer.status == "empty-manifest")
        << answer.status;
    EXPECT_TRUE(outside.asked().empty());
  }
}

TEST(PlatformItemTest, SizesThatNoDiskHasAddUpToNoSmallNumber) {
  PlatformItem item;
  item.manifest.resize(3);
  for (ManifestFile& file : item.manifest) file.size = INT64_MAX / 2 + 1;
  EXPECT_EQ(item.total_size(), INT64_MAX);
}

}  // namespace
}  // namespace quern::fileset

#include "step/fragment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/utf8.h"

namespace quern::step {
namespace {

using Kind = FragmentKind;

TEST(FragmentTest, EveryNameIsKnown) {
  struct Row {
    const char* name;
    Kind kind;
    int index;
  };
  for (const auto& [name, kind, index] :
       std::vector<Row>{{"0.json", Kind::ChildJson, 0},
                        {"17.blob", Kind::ChildBlob, 17},
                        {"99999999.txt", Kind::ChildText, 99'999'999},
                        {"3-thumbnail.png", Kind::ThumbnailPng, 3},
                        {"3-thumbnail.jpg", Kind::ThumbnailJpg, 3},
                        {"4.error", Kind::ChildError, 4},
                        {"inherit-blob", Kind::InheritBlob, 0},
                        {"progress", Kind::Progress, 0},
                        {"heartbeat", Kind::Heartbeat, 0},
                        {"done", Kind::Done, 0},
                        {"error", Kind::Error, 0},
                        {"failure", Kind::Failure, 0},
                        {"cost", Kind::Cost, 0},
                        {"note", Kind::Note, 0},
                        {"types", Kind::Types, 0}}) {
    EXPECT_EQ(parse_fragment(name), (Fragment{kind, index})) << name;
    EXPECT_EQ(to_string(Fragment{kind, index}), name);
    const bool is_child = index != 0 || kind == Kind::ChildJson || kind == Kind::InheritBlob;
    EXPECT_EQ(is_of_child(kind), is_child) << name;
  }
  EXPECT_EQ(parse_fragment("00000007.json"), (Fragment{Kind::ChildJson, 7}));
}

TEST(FragmentTest, OnlyWholeNamesMatch) {
  for (const char* name : {"",
                           ".json",
                           "0.jso",
                           "0.json ",
                           " 0.json",
                           "0.JSON",
                           "123456789.json",
                           "-1.blob",
                           "+1.blob",
                           "0x1.blob",
                           "0",
                           "0.",
                           "0.png",
                           "0.jpg",
                           "0-thumbnail.gif",
                           "Done",
                           "done.",
                           "inherit-blob0",
                           "1.inherit-blob",
                           "0.blob.json",
                           "0.done",
                           "unknown",
                           "\xFF.json"}) {
    EXPECT_EQ(parse_fragment(name), Fragment{}) << name;
  }
  EXPECT_EQ(parse_fragment(std::string_view("0.json\0", 7)), Fragment{});
}

constexpr std::string_view kChild =
    R"("filename":"a/b.txt","contentType":"text/plain","languageCode":"en","metadata":{"k":"v"},)"
    R"("wantOcr":true,"wantSplitByPage":false)";

TEST(FragmentTest, AChildIsReadWithAllItsFields) {
  const ChildHead expected{"a/b.txt", "text/plain", "en", R"({"k":"v"})", true, false};
  EXPECT_EQ(parse_child(fmt::format("{{{}}}", kChild)).value(), expected);
  // Office echoes the whole task.
  const std::string echo = R"("id":"x","url":"http://h/1","blob":{"url":"u","nBytes":3},)";
  EXPECT_EQ(parse_child(fmt::format(" {{{}{}}}\n", echo, kChild)).value(), expected);
}

TEST(FragmentTest, EachFieldIsNeededWithItsType) {
  const std::pair<const char*, const char*> fields[] = {
      {"filename", R"("a/b.txt")"}, {"contentType", R"("text/plain")"},
      {"languageCode", R"("en")"},  {"metadata", R"({"k":"v"})"},
      {"wantOcr", "true"},          {"wantSplitByPage", "false"}};
  for (const auto& [missing, good] : fields) {
    for (const char* instead : {"", "null", "1", "[]", R"("x")", "true", "{}"}) {
      std::string json;
      for (const auto& [name, value] : fields) {
        const std::string_view used = name == missing ? instead : value;
        if (!used.empty()) json += fmt::format("{}\"{}\":{}", json.empty() ? "" : ",", name, used);
      }
      const bool same_type = *instead != '\0' && *instead == *good;
      const bool both_bool = *good == 'f' && *instead == 't';
      const auto child = parse_child(fmt::format("{{{}}}", json));
      ASSERT_EQ(child.ok(), same_type || both_bool) << json;
      if (child.ok()) continue;
      EXPECT_EQ(child.error().kind(), Errc::Invalid);
      EXPECT_NE(child.error().message().find(missing), std::string::npos)
          << child.error().message();
    }
  }
}

TEST(FragmentTest, PageEndsAreReadAndWhatIsNoneIsIgnored) {
  const auto ends_of = [](const std::string& value) {
    return parse_child(fmt::format(R"({{{},"pageEnds":{}}})", kChild, value)).value().page_ends;
  };
  EXPECT_EQ(ends_of("[4,4,10]"), (tree::PageEnds{4, 4, 10}));
  for (const char* none : {"[]", "null", "7", "{}", R"("4")", "[4,3]", "[-1]", "[1.5]",
                           "[4294967296]", R"(["4"])", "[[4]]", "[1e3]"}) {
    EXPECT_TRUE(ends_of(none).empty()) << none;
  }
  std::string many = "[1";
  for (std::size_t i = 1; i <= tree::kPageEndsMax; ++i) many += ",1";
  EXPECT_TRUE(ends_of(many + "]").empty());
}

TEST(FragmentTest, OfTwoEqualKeysTheLastCounts) {
  const std::string json = fmt::format(
      R"({{"filename":"no","metadata":{{"a":1}},{},"metadata":{{"b":1,"b":2}}}})", kChild);
  const ChildHead child = parse_child(json).value();
  EXPECT_EQ(child.filename, "a/b.txt");
  EXPECT_EQ(child.metadata, R"({"b":2})");
}

std::string child_named(std::string_view name) {
  return fmt::format(
      R"({{"filename":"{}","contentType":"","languageCode":"","metadata":{{"n":"{}"}},)"
      R"("wantOcr":false,"wantSplitByPage":false}})",
      name, name);
}

TEST(FragmentTest, NamesThatAreNoTextAreMended) {
  const std::string bad = "\xEF\xBF\xBD";
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string> rows[] = {
      {"caf\xE9.txt"sv, "caf" + bad + ".txt"},       // Latin-1 in a zip
      {"caf\\udce9.txt"sv, "caf" + bad + ".txt"},    // as Python writes it
      {"\\ud83d\\ude42\\uD83D"sv, "🙂" + bad},       // a pair, then half of one
      {"a\\u0000b\0c"sv, "ab c"},                    // no store holds NUL
      {"tab\there"sv, "tab here"},                   // PST escapes nothing
      {"\\\\u0000 \\\\ud800"sv, "\\u0000 \\ud800"},  // not an escape at all
      {"\\u00e9\\n\\\""sv, "é\n\""},
  };
  for (const auto& [given, expected] : rows) {
    const auto child = parse_child(child_named(given));
    ASSERT_TRUE(child.ok()) << given << child.error().message();
    EXPECT_EQ(child->filename, expected);
    EXPECT_EQ(child->metadata.find('\0'), std::string::npos);
    EXPECT_TRUE(is_valid_utf8(child->metadata));
  }
}

TEST(FragmentTest, NumbersThatNothingCanHoldBecomeNull) {
  const std::string json =
      fmt::format(R"({{{},"metadata":{{"a":[1e999,-1e999,1.5],"b":{{"c":1e400}}}}}})", kChild);
  EXPECT_EQ(parse_child(json).value().metadata, R"({"a":[null,null,1.5E0],"b":{"c":null}})");
}

TEST(FragmentTest, ALongNameIsCutOnACharacter) {
  std::string name;
  while (name.size() <= kFilenameBytesMax) name += "ü";
  const ChildHead child = parse_child(child_named(name + "x")).value();
  EXPECT_EQ(child.filename, name.substr(0, kFilenameBytesMax));
}

TEST(FragmentTest, WhatIsNoObjectOrTooDeepIsInvalid) {
  const std::string deep(100'000, '[');
  const std::string deep_metadata = std::string(100, '[') + std::string(100, ']');
  for (const std::string& json :
       {std::string(), std::string("[]"), std::string("1"), std::string("{"), std::string("{} x"),
        std::string("{\"filename\":\"a\"b\"}"), deep,
        fmt::format(R"({{{},"metadata":{{"a":{}}}}})", kChild, deep_metadata)}) {
    EXPECT_FALSE(parse_child(json).ok()) << json.substr(0, 100);
  }
}

TEST(FragmentTest, ProgressIsClampedWhateverComes) {
  const std::pair<const char*, double> rows[] = {
      {"0", 0},
      {"0.25", 0.25},
      {" 1\n", 1},
      {"1.5", 1},
      {"-3", 0},
      {"1e300", 1},
      {"18446744073709551615", 1},
      {R"({"children":{"nProcessed":1,"nTotal":4}})", 0.25},
      {R"({"children":{"nProcessed":5,"nTotal":4}})", 1},
      {R"({"children":{"nProcessed":0,"nTotal":0}})", 0},
      {R"({"children":{"nProcessed":3,"nTotal":0}})", 0},
      {R"({"bytes":{"nProcessed":3000000000,"nTotal":6000000000}})", 0.5},
      {R"({"bytes":{"nProcessed":-1,"nTotal":10}})", 0},
      {R"({"bytes":{"nProcessed":1e300,"nTotal":1e-300}})", 1},
  };
  for (const auto& [json, expected] : rows) {
    const auto part = parse_progress(json);
    ASSERT_TRUE(part.has_value()) << json;
    EXPECT_DOUBLE_EQ(*part, expected) << json;
  }
}

TEST(FragmentTest, WhatIsNoProgressIsNone) {
  for (const char* json : {"", "x", "null", "\"0.5\"", "[]", "{}", "NaN", "1e999999999999",
                           R"({"children":{"nProcessed":1}})", R"({"children":3})",
                           R"({"pages":{"nProcessed":1,"nTotal":2}})"}) {
    EXPECT_EQ(parse_progress(json), std::nullopt) << json;
  }
}

TEST(FragmentTest, AFailureIsTypedAndNeverFails) {
  using model::ErrorKind;
  EXPECT_EQ(parse_failure(R"({"kind":"encrypted","message":"needs a password","again":true})"),
            (Failure{ErrorKind::Encrypted, "needs a password", true}));
  EXPECT_EQ(parse_failure(R"({"kind":"odd","message":"x"})"),
            (Failure{ErrorKind::Internal, "x", false}));
  EXPECT_EQ(parse_failure(R"({"kind":"ratio","again":1})"),
            (Failure{ErrorKind::Ratio, "ratio", false}));
  EXPECT_EQ(parse_failure("it broke\r\n"), (Failure{ErrorKind::Internal, "it broke", false}));
  EXPECT_EQ(parse_failure(""), (Failure{ErrorKind::Internal, "internal", false}));
  // These two are said by the server only.
  EXPECT_EQ(parse_failure(R"({"kind":"canceled"})").kind, ErrorKind::Internal);
  EXPECT_EQ(parse_failure(R"({"kind":"unhandled"})").kind, ErrorKind::Internal);
}

TEST(FragmentTest, AMessageIsCleanAndBounded) {
  using namespace std::string_view_literals;
  EXPECT_EQ(parse_message("bad \0 by\xFFte\r\n\n"sv, 100), "bad   by\xEF\xBF\xBDte");
  EXPECT_EQ(parse_message("äääää", 5), "ää");
  EXPECT_EQ(parse_message(std::string(100'000, 'x'), kNoteBytesMax).size(), kNoteBytesMax);
}

TEST(FragmentTest, CostsAreReadAndClamped) {
  EXPECT_EQ(parse_cost(R"({"wallMs":12,"cpuMs":3.9,"peakKiB":4096})"), (Cost{12, 3, 4096}));
  EXPECT_EQ(parse_cost(R"({"wallMs":-1,"cpuMs":"x","peakKiB":1e300})"),
            (Cost{0, 0, 1'000'000'000'000'000}));
  EXPECT_EQ(parse_cost("12"), std::nullopt);
}

TEST(FragmentTest, DetectedTypesAreReadAndCanonical) {
  const auto detected =
      parse_types(R"({"types":[{"file":17,"type":"Application/X-Rar; v=4"},{"file":18,"type":""}],)"
                  R"("failed":[{"file":19,"kind":"crash","message":"died"}],"cost":{"wallMs":5}})");
  ASSERT_TRUE(detected.ok()) << detected.error().message();
  ASSERT_EQ(detected->types.size(), 2U);
  EXPECT_EQ(detected->types[0].file, 17);
  EXPECT_EQ(detected->types[0].type, "application/vnd.rar");
  EXPECT_EQ(detected->types[1].type, "application/octet-stream");
  ASSERT_EQ(detected->failed.size(), 1U);
  EXPECT_EQ(detected->failed[0].file, 19);
  EXPECT_EQ(detected->failed[0].failure.kind, model::ErrorKind::Crash);
  EXPECT_EQ(detected->cost, (Cost{5, 0, 0}));
  EXPECT_TRUE(parse_types("{}").ok());
}

TEST(FragmentTest, TypesWithoutFilesAreInvalid) {
  for (const char* json :
       {"", "[]", R"({"types":1})", R"({"types":[1]})", R"({"types":[{}]})",
        R"({"types":[{"file":1}]})", R"({"types":[{"file":"1","type":"a/b"}]})",
        R"({"types":[{"file":1.5,"type":"a/b"}]})", R"({"failed":[{"kind":"x"}]})"}) {
    EXPECT_FALSE(parse_types(json).ok()) << json;
  }
}

}  // namespace
}  // namespace quern::step

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "research/result.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kLease[] = "0f8fad5b-d9cb-469f-a165-70867728950e";

Report read(const std::string& body) {
  const Result<Report> report = parse_report(body);
  CHECK_OK(report);
  return *report;
}

TEST(ReportBodyTest, AWholeOneIsRead) {
  const Report report = read(
      R"({"lease_id":"0f8fad5b-d9cb-469f-a165-70867728950e","episode":3,"clip":4,"number":9,
          "algorithm":2,"offsets_ns":[30,10,20],"scores":[0.3,0.1,1],"episode_duration_ns":100,
          "clip_duration_ns":5,"episode_hash":"e","clip_hash":"c","error":null,"final":true,
          "research_date":"2026-01-01"})");
  EXPECT_EQ(report.lease_id, kLease);
  EXPECT_EQ(report.episode, 3);
  EXPECT_EQ(report.clip, 4);
  EXPECT_EQ(report.clip_number, 9);
  EXPECT_EQ(report.algorithm, 2);
  EXPECT_THAT(report.found, ElementsAre(Finding{10, 0.1}, Finding{20, 1}, Finding{30, 0.3}));
  EXPECT_EQ(report.episode_duration_ns, 100);
  EXPECT_EQ(report.clip_duration_ns, 5);
  EXPECT_EQ(report.episode_hash, "e");
  EXPECT_EQ(report.clip_hash, "c");
  EXPECT_TRUE(report.final);
}

TEST(ReportBodyTest, MostOfItMayBeLeftOut) {
  const Report report = read(R"({"episode":3,"clip":4})");
  EXPECT_EQ(report.lease_id, "");
  EXPECT_THAT(report.found, IsEmpty());
  EXPECT_FALSE(report.final);
  EXPECT_FALSE(read(R"({"episode":3,"final":true})").clip);
}

TEST(ReportBodyTest, AnOffsetThatIsToldTwiceIsOne) {
  const Report report = read(R"({"episode":3,"clip":4,"offsets_ns":[7,5,7],"scores":[0.2,1,0.8]})");
  EXPECT_THAT(report.found, ElementsAre(Finding{5, 1}, Finding{7, 0.8}));
}

TEST(ReportBodyTest, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no JSON"},
      {"{", "no JSON"},
      {"[]", "object"},
      {R"({"episode":3,"clip":4} x)", "no JSON"},
      {R"({"clip":4})", "episode"},
      {R"({"episode":-3,"clip":4})", "episode"},
      {R"({"episode":"3","clip":4})", "episode"},
      {R"({"episode":3})", "clip"},
      {R"({"episode":3,"clip":4.5})", "clip"},
      {R"({"episode":3,"clip":4,"lease_id":"abc"})", "lease_id"},
      {R"({"episode":3,"clip":4,"lease_id":"0f8fad5b-d9cb-469f-a165-70867728950g"})", "lease_id"},
      {R"({"episode":3,"clip":4,"lease_id":7})", "lease_id"},
      {R"({"episode":3,"clip":4,"offsets_ns":[-1]})", "offsets_ns"},
      {R"({"episode":3,"clip":4,"offsets_ns":[1.5]})", "offsets_ns"},
      {R"({"episode":3,"clip":4,"offsets_ns":{"a":1}})", "offsets_ns"},
      {R"({"episode":3,"clip":4,"offsets_ns":[1],"scores":[]})", "scores"},
      {R"({"episode":3,"clip":4,"scores":[0.5]})", "scores"},
      {R"({"episode":3,"clip":4,"offsets_ns":[1],"scores":[1.5]})", "scores"},
      {R"({"episode":3,"clip":4,"offsets_ns":[1],"scores":["1"]})", "scores"},
      {R"({"episode":3,"clip":4,"final":1})", "final"},
      {R"({"episode":3,"clip":4,"error":5})", "error"},
      {R"({"episode":3,"clip":4,"error":"x","offsets_ns":[1]})", "error"},
      {R"({"episode":3,"final":true,"offsets_ns":[1]})", "clip"},
      {R"({"episode":3,"clip":4,"episode_duration_ns":-1})", "episode_duration_ns"},
      {R"({"episode":3,"clip":4,"clip_hash":"a\u0000b"})", "clip_hash"},
      {R"({"episode":3,"clip":99999999999999999999})", "clip"},
      {R"([[[[[[[[[[[[1]]]]]]]]]]]])", "no JSON"},
  };
  for (const auto& [body, word] : wrong) {
    const Result<Report> report = parse_report(body);
    ASSERT_FALSE(report.ok()) << body;
    EXPECT_EQ(report.error().kind(), Errc::Invalid) << body;
    EXPECT_THAT(report.error().message(), HasSubstr(word)) << body;
  }
}

TEST(ReportBodyTest, SizesHaveTheirLimits) {
  std::string body = R"({"episode":3,"clip":4})";
  body.resize(kResultBytesMax, ' ');
  EXPECT_TRUE(parse_report(body).ok());
  body.push_back(' ');
  EXPECT_EQ(parse_report(body).error().kind(), Errc::TooLarge);

  std::string offsets = R"({"episode":3,"clip":4,"offsets_ns":[0)";
  for (std::size_t i = 1; i < kOffsetsMax; ++i) offsets += ",1";
  EXPECT_TRUE(parse_report(offsets + "]}").ok());
  EXPECT_EQ(parse_report(offsets + ",1]}").error().kind(), Errc::Invalid);
}

}  // namespace
}  // namespace quern::research

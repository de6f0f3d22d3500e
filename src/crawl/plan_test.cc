#include "crawl/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern::crawl {
namespace {

using Do = FetchPlan::Do;
using testing::HasSubstr;

Page page_at(const std::string& url) {
  Page page;
  page.url = url;
  return page;
}

web::Fetched answer(int status, web::HeaderList headers = {}) {
  web::Fetched fetched;
  fetched.status = status;
  fetched.headers = std::move(headers);
  fetched.ended_us = 1'000'000'000'000'000;
  return fetched;
}

TEST(PlanTest, A18EachStatusHasItsConsequence) {
  Page page = page_at("https://h.gov/a");
  page.file = tree::FileId{7};
  FetchPlan plan = plan_fetch(page, answer(404), false, 1);
  EXPECT_EQ(plan.what, Do::Out);
  EXPECT_EQ(plan.why_kind, "status");
  EXPECT_TRUE(plan.gone) << "a page that is not there is not found";
  EXPECT_TRUE(plan_fetch(page, answer(410), false, 1).gone);
  plan = plan_fetch(page, answer(301, {{"Location", "https://elsewhere.gov/b#c"}}), false, 1);
  EXPECT_EQ(plan.what, Do::Hop);
  EXPECT_EQ(plan.target, "https://elsewhere.gov/b");
  EXPECT_TRUE(plan.gone) << "nothing is stored under the source";
  plan = plan_fetch(page, answer(429, {{"Retry-After", "5"}}), false, 1);
  EXPECT_EQ(plan.what, Do::Again);
  EXPECT_EQ(plan.delay_s, 5);
  EXPECT_TRUE(plan.leave_alone);
  EXPECT_EQ(plan_fetch(page, answer(304), false, 1).what, Do::Same);
}

TEST(PlanTest, A12WhatFailsIsTriedAgainAndThenSaysWhy) {
  const Page page = page_at("https://h.gov/a");
  FetchPlan plan = plan_fetch(page, answer(500), false, 1);
  EXPECT_EQ(plan.what, Do::Again);
  plan = plan_fetch(page, answer(500), false, kTriesMax);
  EXPECT_EQ(plan.what, Do::Out);
  EXPECT_TRUE(plan.failed);
  EXPECT_FALSE(plan.gone) << "the last version stays";
  EXPECT_THAT(plan.why, HasSubstr("500"));
  web::Fetched lost;
  lost.problem = web::FetchProblem::Timeout;
  lost.message = "it took too long";
  EXPECT_EQ(plan_fetch(page, lost, false, 2).what, Do::Again);
  lost.problem = web::FetchProblem::Address;
  EXPECT_EQ(plan_fetch(page, lost, false, 1).what, Do::Out);
}

TEST(PlanTest, WhatCameDecidesWhoTakesIt) {
  const Page page = page_at("https://h.gov/a");
  const auto plan = [&page](const std::string& type) {
    return plan_fetch(page, answer(200, {{"content-type", type}}), false, 1);
  };
  EXPECT_TRUE(plan("Text/HTML; charset=x").page_step);
  EXPECT_TRUE(plan("").page_step);
  EXPECT_TRUE(plan("application/rss+xml").page_step);
  EXPECT_EQ(plan("application/pdf").what, Do::Root);
  EXPECT_FALSE(plan("application/pdf").page_step);
  EXPECT_EQ(plan("image/png").what, Do::Out);
  EXPECT_EQ(plan("image/png").why_kind, "type");
  EXPECT_EQ(plan("text/javascript").why_kind, "type");
}

TEST(PlanTest, TheSameBytesAreNotTakenTwice) {
  Page page = page_at("https://h.gov/a");
  EXPECT_EQ(plan_fetch(page, answer(200), true, 1).what, Do::Root) << "nothing is kept of it";
  page.file = tree::FileId{7};
  EXPECT_EQ(plan_fetch(page, answer(200), true, 1).what, Do::Same);
}

TEST(PlanTest, RedirectsEnd) {
  Page page = page_at("https://h.gov/a");
  const auto plan = [&page](const std::string& to) {
    return plan_fetch(page, answer(302, {{"Location", to}}), false, 1);
  };
  EXPECT_EQ(plan("b?c").target, "https://h.gov/b?c");
  EXPECT_EQ(plan("#x").what, Do::Out);
  EXPECT_EQ(plan("javascript:0").what, Do::Out);
  EXPECT_EQ(plan("").why_kind, "status");
  page.hops = kHopsMax;
  EXPECT_EQ(plan("/b").what, Do::Out);
}

TEST(PlanTest, RobotsTagsMayBeForOthers) {
  EXPECT_TRUE(robots_tags({{"X-Robots-Tag", "noindex, nofollow"}}).noindex);
  EXPECT_TRUE(robots_tags({{"x-robots-tag", "quern: none"}}).noindex);
  EXPECT_FALSE(robots_tags({{"X-Robots-Tag", "otherbot: noindex"}}).noindex);
  EXPECT_FALSE(robots_tags({{"X-Robots-Tag", "nofollow"}}).noindex);
  EXPECT_TRUE(robots_tags({{"X-Robots-Tag", "nofollow"}}).nofollow);
}

TEST(PlanTest, RetryAfterIsANumberOrADate) {
  EXPECT_EQ(parse_retry_after(" 120 ", 0), 120);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111777 - 30), 30);
  EXPECT_EQ(parse_retry_after("soon", 0), 0);
  EXPECT_EQ(parse_retry_after("-5", 0), 0);
  EXPECT_EQ(parse_retry_after("99999999", 0), kRetryAfterSecondsMax);
}

}  // namespace
}  // namespace quern::crawl

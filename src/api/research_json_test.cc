#include "api/research_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace quern::api {
namespace {

TEST(ResearchJsonTest, AQuestionMayBeEmptyNamedAndHurried) {
  EXPECT_EQ(parse_work_question("")->researcher, "");
  EXPECT_EQ(parse_work_question("")->wait_ms, 30'000);
  EXPECT_EQ(parse_work_question(R"({"researcher":"a","wait_ms":0})")->wait_ms, 0);
  EXPECT_EQ(parse_work_question(R"({"wait_ms":99999999})")->wait_ms, research::kPollMsMax);
  for (const char* bad : {"[]", "{", R"({"researcher":1})", R"({"wait_ms":-1})",
                          R"({"wait_ms":"x"})", R"({"hold":1})"}) {
    EXPECT_FALSE(parse_work_question(bad).ok()) << bad;
  }
}

TEST(ResearchJsonTest, ACursorComesBackAsItWent) {
  research::ResultRow row;
  row.episode = 12;
  row.clip = 7;
  EXPECT_EQ(finding_cursor(row), "12-7");
  EXPECT_EQ(*parse_finding_cursor("12-7"), (std::pair<std::int64_t, std::int64_t>{12, 7}));
  EXPECT_EQ(*parse_finding_cursor(""), (std::pair<std::int64_t, std::int64_t>{0, 0}));
  for (const char* bad : {"12", "12-", "-7", "a-b", "1-2-3", "0-1", "1 -2"}) {
    EXPECT_FALSE(parse_finding_cursor(bad).ok()) << bad;
  }
}

TEST(ResearchJsonTest, OnlySoundAndPicturesThatMoveAreServedAsWhatTheyAre) {
  EXPECT_EQ(media_type_to_serve("audio/mpeg"), "audio/mpeg");
  EXPECT_EQ(media_type_to_serve("video/mp4"), "video/mp4");
  for (const char* other : {"", "text/html", "image/svg+xml", "audio/x\r\nA: b", "audio/a;b=c"}) {
    EXPECT_EQ(media_type_to_serve(other), "application/octet-stream") << other;
  }
}

TEST(ResearchJsonTest, AnItemHasAbsoluteAddresses) {
  research::WorkItem item;
  item.lease = {"id", 3, {5}, 1'000'000};
  item.episode.id = 3;
  item.episode.title = "one";
  item.clips.resize(1);
  item.clips[0].id = 5;
  item.clips[0].number = 9;
  ItemJson about{"http://host:1", 600'000, 1, 2, true};
  boost::json::object out = item_json(item, about);
  EXPECT_EQ(out.at("expires"), "1970-01-01T00:00:01Z");
  const boost::json::object& episode = out.at("episode").as_object();
  EXPECT_EQ(episode.at("url"), "http://host:1/research/media/3");
  EXPECT_EQ(episode.at("fingerprint"), "http://host:1/research/fingerprints/3?version=2");
  EXPECT_EQ(out.at("clips").at(0).at("number").as_int64(), 9);
  about.indexed = false;
  EXPECT_TRUE(item_json(item, about).at("episode").at("fingerprint").is_null());
}

}  // namespace
}  // namespace quern::api

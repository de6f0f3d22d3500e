// Items over HTTP, as their users meet them. The partitions here are not declared, so nobody works
// on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/http_fixture.h"
#include "support/scripted_handler.h"

namespace quern::e2e {
namespace {

using net::Response;
using testing::HasSubstr;

class ItemTest : public ServedTest {
 protected:
  const std::string items_ = "/api/v1/partitions/mail/items";
  const std::string one_ = items_ + "/one";
};

TEST_P(ItemTest, C1_OfTwoWhoReadTheSameVersionOnlyTheFirstSaves) {
  const Response added = put(one_, "v1");
  EXPECT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(added.body, R"({"partition":"mail","item":"one","version":1,"put":"added"})");
  const std::string seen = etag(get(one_));
  EXPECT_EQ(seen, "\"1\"");
  const Response first = put(one_, "first", {{"If-Match", seen}});
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(etag(first), "\"2\"");
  const Response second = put(one_, "second", {{"If-Match", seen}});
  EXPECT_EQ(second.status, 412) << second.body;
  EXPECT_THAT(second.body, HasSubstr("version 2"));
  EXPECT_EQ(get(one_ + "/data").body, "first") << "unchanged by the second";
  EXPECT_EQ(etag(get(one_)), "\"2\"");
}

TEST_P(ItemTest, C2_SavingAfterADeleteBringsNothingBack) {
  ASSERT_EQ(put(one_, "x").status, 201);
  EXPECT_EQ(remove(one_, {{"If-Match", "7"}}).status, 412);
  ASSERT_EQ(remove(one_, {{"If-Match", "1"}}).status, 204);
  EXPECT_EQ(put(one_, "y", {{"If-Match", "1"}}).status, 412);
  EXPECT_EQ(get(one_).status, 404);
  EXPECT_EQ(remove(one_).status, 404);
  EXPECT_EQ(put("/api/v1/partitions/nowhere/items/one", "y", {{"If-Match", "1"}}).status, 412);
  EXPECT_EQ(get("/api/v1/partitions/nowhere").status, 404);
}

TEST_P(ItemTest, APutIsMadeOnceHoweverOftenItIsRepeated) {
  const std::string bytes("\0\xFF\nany bytes", 12);
  EXPECT_EQ(put(one_ + "?gate=2&priority=3&limit_key=l", bytes).status, 201);
  const Response again = put(one_ + "?gate=2&priority=3&limit_key=l", bytes);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(etag(again), "\"1\"");
  EXPECT_THAT(again.body, HasSubstr(R"("put":"same")"));
  const Response other = put(one_ + "?gate=2&limit_key=l", "other");
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(other.body, HasSubstr("different"));
  const Response data = get(one_ + "/data");
  EXPECT_EQ(data.body, bytes);
  EXPECT_EQ(*data.headers.find("Content-Type"), "application/octet-stream");
  const boost::json::object item = get_json(one_);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"partition", "mail"},    {"item", "one"},   {"version", "1"},       {"gate", "2"},
      {"status", "available"},  {"owner", "null"}, {"until", "null"},      {"retry_count", "0"},
      {"error_messages", "[]"}, {"priority", "3"}, {"unique_key", "null"}, {"limit_key", "l"},
      {"bytes", "12"},          {"calls", "0"},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(field(item, name), value) << name;
}

TEST_P(ItemTest, AUniqueKeyBelongsToOneItemAnywhere) {
  ASSERT_EQ(put(one_ + "?unique_key=k", "x").status, 201);
  EXPECT_EQ(put(one_ + "?unique_key=k", "x").status, 200);
  const Response taken = put("/api/v1/partitions/other/items/two?unique_key=k", "x");
  EXPECT_EQ(taken.status, 409);
  EXPECT_THAT(taken.body, HasSubstr("unique key"));
  EXPECT_EQ(post("/api/v1/partitions/other/items",
                 "{\"item\":\"a\",\"unique_key\":\"k\"}\n{\"item\":\"b\"}\n")
                .body,
            R"({"added":1,"same":0,"taken":1})");
}

TEST_P(ItemTest, WrongRequestsAreRefusedWithTheNameOfWhatIsWrong) {
  for (const char* query : {"gate=-1", "gate=x", "gate=1000001", "delay_ms=-1", "colour=red",
                            "priority=1.5", "gate="}) {
    const Response answer = put(one_ + "?" + query, "x");
    EXPECT_EQ(answer.status, 400) << query;
    const std::string name = std::string(query).substr(0, std::string(query).find('='));
    EXPECT_THAT(answer.body, HasSubstr(name)) << query;
  }
  EXPECT_EQ(put(one_ + "?unique_key=" + std::string(600, 'k'), "x").status, 400);
  EXPECT_EQ(put(one_, "x", {{"If-Match", "W/\"1\""}}).status, 400);
  EXPECT_EQ(put(one_, "x", {{"If-None-Match", "*"}}).status, 400);
  EXPECT_EQ(put(items_ + "/" + std::string(201, 'a'), "x").status, 400);
  EXPECT_EQ(put("/api/v1/partitions/quern:queue:INDEX/items/a", "x").status, 400);
  const Response large = put(one_, std::string(1024 * 1024 + 1, 'x'));
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, HasSubstr("1048576"));
  EXPECT_THAT(large.body, HasSubstr("item_bytes_max"));
  EXPECT_EQ(get("/api/v1/partitions/mail").status, 404) << "nothing was put";
  EXPECT_EQ(put(one_, std::string(1024 * 1024, 'x')).status, 201) << "just as large as it may be";
  EXPECT_EQ(get(items_ + "?status=delayed").status, 400);
}

TEST_P(ItemTest, ListsAreFilteredAndGoOnWhereThePageEnded) {
  std::string lines;
  for (int i = 0; i < 7; ++i)
    lines += fmt::format(R"({{"item":"i{}","gate":{}}})", i, i % 2) + "\n";
  ASSERT_EQ(post(items_, lines).body, R"({"added":7,"same":0,"taken":0})");
  const auto names = [&](const std::string& query) {
    std::string all;
    std::string after;
    do {
      const boost::json::object page = get_json(items_ + "?limit=2&" + query + "&after=" + after);
      for (const auto& one : page.at("items").as_array()) {
        all += field(one.as_object(), "item") + " ";
      }
      after = field(page, "next");
    } while (!after.empty());
    return all;
  };
  EXPECT_EQ(names(""), "i0 i1 i2 i3 i4 i5 i6 ");
  EXPECT_EQ(names("gate=1"), "i1 i3 i5 ");
  EXPECT_EQ(names("status=available"), "i0 i1 i2 i3 i4 i5 i6 ");
  EXPECT_EQ(names("status=complete"), "");
  EXPECT_EQ(names("older_than=3600"), "");
}

TEST_P(ItemTest, ManyItemsComeAsJsonLines) {
  std::string lines;
  for (int i = 0; i < 3500; ++i) {
    lines += fmt::format(R"({{"item":"i{}","data":{{ "n": {}.50 }}}})", i, i) + "\n";
  }
  lines += "\n  \r\n{\"item\":\"last\",\"text\":\"as it is\"}";  // blank lines, no line end
  EXPECT_EQ(post(items_, lines).body, R"({"added":3501,"same":0,"taken":0})");
  EXPECT_EQ(post(items_, lines).body, R"({"added":0,"same":3501,"taken":0})");
  EXPECT_EQ(get(items_ + "/i7/data").body, R"({"n":7.50})");
  EXPECT_EQ(get(items_ + "/last/data").body, "as it is");
  EXPECT_EQ(post(items_, "").body, R"({"added":0,"same":0,"taken":0})");
}

TEST_P(ItemTest, ABadLineIsNamedAndThoseBeforeItStay) {
  std::string lines;
  for (int i = 1; i <= 1500; ++i) lines += fmt::format(R"({{"item":"i{}"}})", i) + "\n";
  const Response unknown = post(items_, lines + "{\"item\":\"x\",\"colour\":1}\n{\"item\":\"y\"}");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("line 1501"));
  EXPECT_THAT(unknown.body, HasSubstr("'colour'"));
  EXPECT_THAT(unknown.body, HasSubstr("1500 items were put"));
  EXPECT_EQ(field(get_json("/api/v1/partitions/mail"), "items"), "1500");
  // A line that is wrong only beside what is stored, in the middle of its group.
  const Response different =
      post(items_,
           "{\"item\":\"n1\"}\n\n{\"item\":\"n2\"}\n{\"item\":\"i7\",\"text\":\"other\"}\n"
           "{\"item\":\"n3\"}\n");
  EXPECT_EQ(different.status, 409);
  EXPECT_THAT(different.body, HasSubstr("line 4"));
  EXPECT_THAT(different.body, HasSubstr("2 items were put"));
  EXPECT_EQ(get(items_ + "/n2").status, 200);
  EXPECT_EQ(get(items_ + "/n3").status, 404);
  const Response shifted = post(items_ + "?first_line=1001&put_before=999", "nonsense");
  EXPECT_THAT(shifted.body, HasSubstr("line 1001"));
  EXPECT_THAT(shifted.body, HasSubstr("999 items"));
}

TEST_P(ItemTest, ALineThatIsTooLongEndsTheUpload) {
  const Response answer =
      post(items_, "{\"item\":\"a\"}\n{\"item\":\"b\",\"text\":\"" + std::string(3 << 20, 'x'));
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("line 2"));
  EXPECT_EQ(get(items_ + "/a").status, 200);
}

TEST_P(ItemTest, WhatIsRunningShowsItsOwnerAndCannotBeChanged) {
  support::ScriptedHandler handler([](const support::HandlerCall&) {
    return support::held(support::answer(R"({"done":true})"));
  });
  const std::string body = R"({"handler":")" + handler.address() + "\"}";
  ASSERT_EQ(put("/api/v1/partitions/mail", body).status, 201);
  ASSERT_EQ(put(one_, "x").status, 201);
  ASSERT_TRUE(handler.wait_for_calls(1));
  const boost::json::object running = get_json(one_);
  EXPECT_EQ(field(running, "status"), "running");
  EXPECT_EQ(field(running, "owner"), field(get_json("/api/v1/partitions/mail"), "owner"));
  EXPECT_NE(field(running, "owner"), "null");
  EXPECT_THAT(field(running, "until"), testing::MatchesRegex("20[0-9-]+T[0-9:.]+Z"));
  EXPECT_EQ(put(one_, "y", {{"If-Match", field(running, "version")}}).status, 409);
  EXPECT_EQ(remove(one_).status, 409);
  handler.release();
  EXPECT_TRUE(becomes(one_, "status", "complete"));
  EXPECT_EQ(remove(one_).status, 204);
}

TEST_P(ItemTest, AnAddressThatIsNoTextIsRefusedBeforeTheStoreSeesIt) {
  for (const char* target : {"/api/v1/partitions/%ff", "/api/v1/partitions?after=%ff",
                             "/api/v1/limits/%ff", "/api/v1/timers/%C3"}) {
    const Response answer = get(target);
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_THAT(answer.body, HasSubstr("UTF-8"));
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ItemTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e

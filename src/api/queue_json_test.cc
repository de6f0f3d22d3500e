#include "api/queue_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace quern::api {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

TEST(CompactMemberTest, KeepsTheTextOfTheValueAndDropsBlanks) {
  EXPECT_EQ(compact_member(R"({"a":1,"data": {"x" : [1.50, 2 ], "s":"a  \" b"} , "z":2})", "data"),
            R"({"x":[1.50,2],"s":"a  \" b"})");
  EXPECT_EQ(compact_member(R"({"data":12345678901234567890123})", "data"),
            "12345678901234567890123");
  EXPECT_EQ(compact_member(R"({ "data" : "x,}:" })", "data"), R"("x,}:")");
  EXPECT_EQ(compact_member(R"({"data":null})", "data"), "null");
}

TEST(CompactMemberTest, FindsOnlyMembersOfTheObjectItself) {
  EXPECT_EQ(compact_member(R"({"a":{"data":1},"b":["data",{"data":2}],"data":3})", "data"), "3");
  EXPECT_EQ(compact_member(R"({"a":"data","b":"\"data\":5"})", "data"), "");
  EXPECT_EQ(compact_member(R"({"data":1,"data":2})", "data"), "2") << "the last one counts";
}

TEST(ItemLineTest, ReadsEveryField) {
  const auto item = parse_item_line(
      R"({"item":"a/b","gate":3,"priority":-2,"delay_ms":5,"unique_key":"u","limit_key":"l",)"
      R"("data":{"n":1.0}})");
  ASSERT_TRUE(item.ok()) << item.error().message();
  EXPECT_EQ(item->name, "a/b");
  EXPECT_EQ(item->gate, 3);
  EXPECT_EQ(item->priority, -2);
  EXPECT_EQ(item->delay_us, 5000);
  EXPECT_EQ(item->unique_key, "u");
  EXPECT_EQ(item->limit_key, "l");
  EXPECT_EQ(item->data, R"({"n":1.0})") << "as it was written";
}

TEST(ItemLineTest, TextIsTakenAsItIsAndDataMayHaveAnyName) {
  EXPECT_EQ(parse_item_line(R"({"item":"a","text":"x\u0000\ny"})")->data, std::string("x\0\ny", 4));
  EXPECT_EQ(parse_item_line(R"({"item":"a"})")->data, "");
  EXPECT_EQ(parse_item_line(R"({"item":"a","d\u0061ta":[ 1 ]})")->data, "[1]");
}

TEST(ItemLineTest, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "JSON"},
      {"{", "JSON"},
      {"[]", "object"},
      {"{}", "\"item\""},
      {R"({"item":1})", "'item'"},
      {R"({"item":""})", "name"},
      {R"({"item":"a","gate":-1})", "gate"},
      {R"({"item":"a","gate":"1"})", "'gate'"},
      {R"({"item":"a","gate":1.5})", "'gate'"},
      {R"({"item":"a","delay_ms":-1})", "'delay_ms'"},
      {R"({"item":"a","text":1})", "'text'"},
      {R"({"item":"a","text":"b","data":1})", "both"},
      {R"({"item":"a","colour":"red"})", "'colour'"},
      {"{\"item\":\"a\",\"text\":\"\xFF\"}", "JSON"},
      {R"({"item":"a","data":)" + std::string(300, '[') + std::string(300, ']') + "}", "JSON"},
  };
  for (const auto& [line, word] : wrong) {
    const auto item = parse_item_line(line);
    ASSERT_FALSE(item.ok()) << line;
    EXPECT_EQ(item.error().kind(), Errc::Invalid) << line;
    EXPECT_THAT(item.error().message(), HasSubstr(word)) << line;
  }
  const std::string large(queue::kItemBytesMax + 1, 'x');
  EXPECT_EQ(parse_item_line(R"({"item":"a","text":")" + large + "\"}").error().kind(),
            Errc::TooLarge);
}

TEST(PartitionFieldsTest, OnlyWhatIsGivenChanges) {
  queue::PutPartition put;
  put.config.handler = "http://a/";
  put.config.priority = 7;
  const json::object fields{{"max_retries", -1},   {"auto_close", true}, {"backoff_max_ms", 9},
                            {"retain_seconds", 2}, {"sealed", false},    {"status", "available"}};
  const Result<> applied = apply_fields(fields, put);
  ASSERT_TRUE(applied.ok()) << applied.error().message();
  EXPECT_EQ(put.config.handler, "http://a/");
  EXPECT_EQ(put.config.priority, 7);
  EXPECT_EQ(put.config.max_retries, -1);
  EXPECT_TRUE(put.config.auto_close);
  EXPECT_EQ(put.config.backoff_ms_max, 9);
  EXPECT_EQ(put.config.retain_ms, 2000);
  EXPECT_EQ(put.sealed, std::optional<bool>(false));
  ASSERT_TRUE(apply_fields({{"retain_seconds", nullptr}}, put).ok());
  EXPECT_EQ(put.config.retain_ms, -1) << "for ever";
}

TEST(PartitionFieldsTest, UnknownAndMistypedFieldsAreNamed) {
  const std::vector<json::object> wrong = {
      {{"colour", 1}},        {{"handler", 1}},       {{"auto_close", 1}},
      {{"priority", "1"}},    {{"max_retries", 0.5}}, {{"retain_seconds", -2}},
      {{"status", "failed"}}, {{"sealed", "yes"}},    {{"concurrency", nullptr}},
  };
  for (const json::object& fields : wrong) {
    queue::PutPartition put;
    const Result<> applied = apply_fields(fields, put);
    ASSERT_FALSE(applied.ok()) << json::serialize(fields);
    EXPECT_THAT(applied.error().message(),
                HasSubstr("'" + std::string(fields.begin()->key()) + "'"));
  }
}

TEST(QueueJsonTest, ARunningItemShowsItsPartitionsOwner) {
  queue::Partition partition;
  partition.name = "p";
  partition.owner = queue::OwnerId{1};
  partition.owner_name = "o";
  partition.owner_until_us = 1'600'000'000'000'123;
  queue::Item item;
  item.name = "i";
  item.errors = R"([{"message":"no","at":1600000000000000,"times":2}])";
  EXPECT_TRUE(to_json(item, partition).at("owner").is_null());
  item.status = queue::Status::Running;
  const json::object shown = to_json(item, partition);
  EXPECT_EQ(shown.at("owner"), "o");
  EXPECT_EQ(shown.at("until"), "2020-09-13T12:26:40.000123Z");
  EXPECT_EQ(json::serialize(shown.at("error_messages")),
            R"([{"message":"no","at":"2020-09-13T12:26:40.000000Z","times":2}])");
}

}  // namespace
}  // namespace quern::api

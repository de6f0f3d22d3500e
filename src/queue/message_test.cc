#include "queue/message.h"

#include <gtest/gtest.h>

namespace quern::queue {
namespace {

TEST(MessageTest, QueuesHaveOneNameEach) {
  for (const char* name : {"INDEX", "CRAWL", "TIMER", "PACK", "ORCH", "SEARCHER-a.b_c-1"}) {
    EXPECT_EQ(*canonical_queue(name), name);
  }
  EXPECT_EQ(*canonical_queue("HEAD"), "INDEX");
  for (const char* name : {"", "index", "SEARCHER", "SEARCHER-", "SEARCHER-.x", "SEARCHER-a/b",
                           "INDEX ", "HEAD2", "QUEUE", "\xff"}) {
    EXPECT_EQ(canonical_queue(name).error().kind(), Errc::Missing) << name;
  }
  EXPECT_EQ(partition_of_queue("SEARCHER-7"), "quern:queue:SEARCHER-7");
  EXPECT_EQ(kind_of_queue("SEARCHER-7"), "queue:SEARCHER");
  EXPECT_EQ(kind_of_queue("INDEX"), "queue:INDEX");
}

struct Accepted {
  const char* queue;
  const char* given;
  const char* body;  // null: as given
};
const Accepted kAccepted[] = {
    {"INDEX", R"({"type":"index+crawl","site":"a.org"})", nullptr},
    {"INDEX", R"({ "force":true, "path":"/x", "site":"a.org", "type":"index" })",
     R"({"type":"index","site":"a.org","path":"/x","force":true})"},
    {"CRAWL", R"({"type":"crawl","site":"a.org","path":"/"})", nullptr},
    {"PACK", R"({"type":"pack_incremental","site":"a.org"})", nullptr},
    {"PACK", R"({"type":"pack_full","site":"a.org","force":false})", nullptr},
    {"TIMER",
     R"({"type":"start_timer","site":"a.org","timeout":300,"callback_queue":"PACK",)"
     R"("callback_msg":{"type":"pack_full","site":"a.org"}})",
     nullptr},
    {"TIMER",
     R"({"type":"start_timer","site":"a","timeout":1,"callback_queue":"HEAD",)"
     R"("callback_msg":{"site":"b","type":"index"}})",
     R"({"type":"start_timer","site":"a","timeout":1,"callback_queue":"INDEX",)"
     R"("callback_msg":{"type":"index","site":"b"}})"},
    {"TIMER", R"({"type":"reset_timer","site":"a.org"})", nullptr},
    {"TIMER",
     R"({"type":"reset_timer","site":"a.org","callback_queue":"PACK",)"
     R"("callback_msg":{"type":"pack_incremental","site":"a.org"}})",
     nullptr},
    {"ORCH", R"({"type":"update","site":"a.org"})", nullptr},
    {"ORCH", R"({"type":"register","searcher_id":"s-1","free_space":0,"held":["x","y"]})", nullptr},
    {"SEARCHER-s-1", R"({"type":"load","segment":"a.org/1","version":3,"digest":"ab"})", nullptr},
    {"SEARCHER-s-1", R"({"type":"drop","segment":"a.org/1"})", nullptr},
};

TEST(MessageTest, WhatIsInTheVocabularyIsTakenAndItsBodyIsCanonical) {
  for (const Accepted& row : kAccepted) {
    const Result<Message> message = parse_message(row.queue, row.given);
    ASSERT_TRUE(message.ok()) << row.given << ": " << message.error().message();
    EXPECT_EQ(message->body, row.body == nullptr ? row.given : row.body);
    EXPECT_EQ(parse_message(row.queue, message->body)->body, message->body);
  }
}

struct Refused {
  const char* queue;
  const char* given;
  const char* named;  // in the sentence
};
const Refused kRefused[] = {
    {"INDEX", "", "object"},
    {"INDEX", "[]", "object"},
    {"INDEX", R"({"type":"index","site":"a"} x)", "object"},
    {"INDEX", R"({"site":"a"})", "type"},
    {"INDEX", R"({"type":7,"site":"a"})", "type"},
    {"INDEX", R"({"type":"incremental_end","site":"a"})", "incremental_end"},
    {"INDEX", R"({"type":"crawl","site":"a"})", "CRAWL"},
    {"CRAWL", R"({"type":"index","site":"a"})", "INDEX"},
    {"PACK", R"({"type":"load","segment":"a"})", "SEARCHER"},
    {"INDEX", R"({"type":"index"})", "'site'"},
    {"INDEX", R"({"type":"index","site":""})", "'site'"},
    {"INDEX", R"({"type":"index","site":7})", "'site'"},
    {"INDEX", R"({"type":"index","site":"a\u0000b"})", "'site'"},
    {"INDEX", R"({"type":"index","site":"a","path":null})", "'path'"},
    {"INDEX", R"({"type":"index","site":"a","force":"yes"})", "'force'"},
    {"INDEX", R"({"type":"index","site":"a","depth":1})", "'depth'"},
    {"INDEX", R"({"type":"index","site":"a","timeout":1})", "'timeout'"},
    {"PACK", R"({"type":"pack_full","site":"a","path":"/"})", "'path'"},
    {"ORCH", R"({"type":"register","free_space":1})", "'searcher_id'"},
    {"ORCH", R"({"type":"register","searcher_id":"s"})", "'free_space'"},
    {"ORCH", R"({"type":"register","searcher_id":"a/b","free_space":1})", "'searcher_id'"},
    {"ORCH", R"({"type":"register","searcher_id":"s","free_space":-1})", "'free_space'"},
    {"ORCH", R"({"type":"register","searcher_id":"s","free_space":1.5})", "'free_space'"},
    {"ORCH", R"({"type":"register","searcher_id":"s","free_space":1,"held":[1]})", "'held'"},
    {"SEARCHER-1", R"({"type":"drop"})", "'segment'"},
    {"TIMER", R"({"type":"start_timer","site":"a"})", "'timeout'"},
    {"TIMER", R"({"type":"start_timer","site":"a","timeout":5})", "'callback_queue'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","timeout":0})", "'timeout'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","timeout":-1})", "'timeout'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","timeout":31622401})", "'timeout'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","timeout":"5"})", "'timeout'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","callback_queue":"PACK"})", "callback_msg"},
    {"TIMER",
     R"({"type":"reset_timer","site":"a","callback_msg":{"type":"pack_incremental","site":"a"}})",
     "callback_queue"},
    {"TIMER",
     R"({"type":"reset_timer","site":"a","callback_queue":"PACK",)"
     R"("callback_msg":{"type":"pack_full","site":"a"}})",
     "pack_full"},
    {"TIMER", R"({"type":"reset_timer","site":"a","callback_queue":"NOWHERE","callback_msg":{}})",
     "'callback_queue'"},
    {"TIMER", R"({"type":"reset_timer","site":"a","callback_queue":"PACK","callback_msg":"x"})",
     "'callback_msg'"},
    {"TIMER",
     R"({"type":"reset_timer","site":"a","callback_queue":"PACK",)"
     R"("callback_msg":{"type":"index","site":"a"}})",
     "INDEX"},
    {"TIMER",
     R"({"type":"start_timer","site":"a","timeout":1,"callback_queue":"TIMER",)"
     R"("callback_msg":{"type":"reset_timer","site":"a"}})",
     "'callback_queue'"},
};

TEST(MessageTest, WhatIsNotIsRefusedByName) {
  for (const Refused& row : kRefused) {
    const Result<Message> message = parse_message(row.queue, row.given);
    ASSERT_FALSE(message.ok()) << row.given;
    EXPECT_EQ(message.error().kind(), Errc::Invalid) << row.given;
    EXPECT_NE(message.error().message().find(row.named), std::string::npos)
        << row.given << ": " << message.error().message();
  }
}

TEST(MessageTest, LimitsAreReachedAndNotPassed) {
  const auto index = [](std::size_t site_bytes, std::size_t path_bytes) {
    return parse_message("INDEX", R"({"type":"index","site":")" + std::string(site_bytes, 's') +
                                      R"(","path":")" + std::string(path_bytes, 'p') + "\"}");
  };
  EXPECT_TRUE(index(kSiteBytesMax, 2048).ok());
  EXPECT_EQ(index(kSiteBytesMax + 1, 1).error().kind(), Errc::Invalid);
  EXPECT_EQ(index(1, 2049).error().kind(), Errc::Invalid);
  std::string large = R"({"type":"index","site":"a"})";
  large.resize(kMessageBytesMax, ' ');
  EXPECT_TRUE(parse_message("INDEX", large).ok());
  EXPECT_EQ(parse_message("INDEX", large + " ").error().kind(), Errc::TooLarge);
}

TEST(MessageTest, AMessageWithoutAKeyGetsANameOfItsOwn) {
  const Message message{"index", R"({"type":"index","site":"a"})"};
  EXPECT_EQ(message_item(message, "mine").name, "mine");
  EXPECT_EQ(message_item(message, "mine").data, message.body);
  EXPECT_NE(message_item(message, "").name, message_item(message, "").name);
  EXPECT_TRUE(validate(message_item(message, "")).ok());
}

TEST(MessageTest, KeysOfTimersAreNobodyElses) {
  EXPECT_TRUE(validate_message_key("mine").ok());
  for (const char* key : {"", "timer:a:1", "a\nb"}) {
    EXPECT_EQ(validate_message_key(key).error().kind(), Errc::Invalid) << key;
  }
}

}  // namespace
}  // namespace quern::queue

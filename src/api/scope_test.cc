#include "api/scope.h"

#include <gtest/gtest.h>

#include "net/loop.h"

namespace quern::api {
namespace {

// Job 1, file 10 and upload "mine" are of "leak"; 2, 20 and "other" are not.
net::Task<Result<std::string>> owner_of(About what, std::string name) {
  if (what == About::Job && name == "1") co_return std::string("leak");
  if (what == About::File && name == "10") co_return std::string("leak");
  if (what == About::Upload && name == "mine") co_return std::string("leak");
  if (name == "2" || name == "20" || name == "other") co_return std::string("secret");
  if (name == "away") co_return Error{Errc::Unavailable, "away"};
  co_return Error{Errc::Missing, "there is none"};
}

class ScopeTest : public testing::Test {
 protected:
  Result<> ask(About about, std::vector<std::string> values, const std::string& address) {
    const Result<net::Target> target = net::parse_target(address);
    CHECK_OK(target);
    const Scope::Asked asked{about, values, *target};
    return loop_.run_until(scope_.expect(caller_, asked));
  }
  bool may(About about, std::vector<std::string> values, const std::string& address = "/") {
    const Result<> asked = ask(about, std::move(values), address);
    if (!asked.ok()) EXPECT_EQ(asked.error().kind(), Errc::Denied);
    return asked.ok();
  }

  net::Loop loop_;
  Scope scope_{owner_of};
  Caller caller_{Caller::By::Token, access::Role::Editor, "leak"};
};

TEST_F(ScopeTest, WhatIsOfTheCollectionMayBeAskedFor) {
  EXPECT_TRUE(may(About::Collection, {"leak"}));
  EXPECT_TRUE(may(About::Job, {"1"}));
  EXPECT_TRUE(may(About::File, {"10"}));
  EXPECT_TRUE(may(About::Upload, {"mine"}));
  EXPECT_TRUE(may(About::Query, {}, "/?collection=leak&job=1"));
  EXPECT_TRUE(may(About::Handler, {}));
}

TEST_F(ScopeTest, WhatIsNotOrIsNothingIsRefused) {
  EXPECT_FALSE(may(About::Collection, {"secret"}));
  EXPECT_FALSE(may(About::Collection, {"Leak"}));
  EXPECT_FALSE(may(About::Job, {"2"}));
  EXPECT_FALSE(may(About::Job, {"3"})) << "what is missing looks like what is not ours";
  EXPECT_FALSE(may(About::File, {"20"}));
  EXPECT_FALSE(may(About::Upload, {"other"}));
  EXPECT_FALSE(may(About::Nothing, {"leak"}, "/?collection=leak"));
  EXPECT_FALSE(may(About::ByPattern, {"leak"}));
}

TEST_F(ScopeTest, AQueryMustNameTheCollectionAndNoOther) {
  EXPECT_FALSE(may(About::Query, {}));
  EXPECT_FALSE(may(About::Query, {}, "/?collection="));
  EXPECT_FALSE(may(About::Query, {}, "/?collection=secret"));
  EXPECT_FALSE(may(About::Query, {}, "/?collection=leak&collection=secret"));
  EXPECT_FALSE(may(About::Query, {}, "/?collection=leak&job=2"));
  EXPECT_FALSE(may(About::Collection, {"leak"}, "/?collection=secret"));
  EXPECT_FALSE(may(About::Collection, {"leak"}, "/?job=2")) << "files go where the job is";
  EXPECT_FALSE(may(About::Collection, {"leak"}, "/?job=1&job=2"));
}

TEST_F(ScopeTest, AStoreThatIsAwayIsSaidToBe) {
  const Result<> asked = ask(About::Job, {"away"}, "/");
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().kind(), Errc::Unavailable);
}

TEST_F(ScopeTest, WithoutACollectionEverythingMayBeAskedFor) {
  caller_.collection.reset();
  EXPECT_TRUE(may(About::Nothing, {}));
  EXPECT_TRUE(may(About::Job, {"2"}));
  EXPECT_TRUE(expect_within(caller_, "secret").ok());
}

TEST(AboutTest, IsWhatThePlaceholderNames) {
  EXPECT_EQ(about_of("collection"), About::Collection);
  EXPECT_EQ(about_of("job"), About::Job);
  EXPECT_EQ(about_of("file"), About::File);
  EXPECT_EQ(about_of("upload"), About::Upload);
  EXPECT_EQ(about_of("digest"), About::Nothing);
  EXPECT_EQ(about_of("partition"), About::Nothing);
}

}  // namespace
}  // namespace quern::api

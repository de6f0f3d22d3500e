#include "api/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern::api {
namespace {

using testing::HasSubstr;

TEST(ParametersTest, ReadsWhatIsAskedForAndRefusesTheRest) {
  const net::Target target = *net::parse_target("/a?gate=3&limit=7&name=x%20y");
  Parameters parameters(target);
  EXPECT_EQ(parameters.number("gate", 0, 10), std::optional<std::int64_t>(3));
  EXPECT_EQ(parameters.number("priority", 0, 10), std::nullopt);
  EXPECT_EQ(parameters.limit(100), 7u);
  EXPECT_THAT(parameters.finish().error().message(), HasSubstr("'name'"));
  EXPECT_EQ(parameters.text("name"), "x y");
  EXPECT_TRUE(parameters.finish().ok());
}

TEST(ParametersTest, NumbersOutOfRangeAreNamed) {
  for (const char* text : {"/a?gate=11", "/a?gate=-1", "/a?gate=1.5", "/a?gate=", "/a?gate=1x",
                           "/a?gate=99999999999999999999"}) {
    const net::Target target = *net::parse_target(text);
    Parameters parameters(target);
    EXPECT_EQ(parameters.number("gate", 0, 10), std::nullopt) << text;
    EXPECT_THAT(parameters.finish().error().message(), HasSubstr("gate")) << text;
  }
  const net::Target target = *net::parse_target("/a?limit=101");
  Parameters parameters(target);
  (void)parameters.limit(100);
  EXPECT_FALSE(parameters.finish().ok());
}

TEST(IfMatchTest, IsAVersionWithOrWithoutQuotes) {
  EXPECT_EQ(*if_match({{"If-Match", "\"3\""}}), std::optional<std::int64_t>(3));
  EXPECT_EQ(*if_match({{"If-Match", "3"}}), std::optional<std::int64_t>(3));
  EXPECT_EQ(*if_match({}), std::nullopt);
  for (const char* wrong : {"W/\"3\"", "*", "\"3\", \"4\"", "-1", "\"", "\"\"", "", "x", "3 4"}) {
    EXPECT_FALSE(if_match({{"If-Match", wrong}}).ok()) << wrong;
  }
  EXPECT_FALSE(if_match({{"If-Match", "1"}, {"If-Match", "1"}}).ok());
}

TEST(PutConditionTest, IfNoneMatchIsOnlyAStar) {
  EXPECT_EQ(put_condition({{"If-None-Match", "*"}})->version, std::optional<std::int64_t>(0));
  EXPECT_EQ(put_condition({{"If-Match", "2"}})->version, std::optional<std::int64_t>(2));
  EXPECT_EQ(put_condition({})->version, std::nullopt);
  EXPECT_FALSE(put_condition({{"If-None-Match", "\"1\""}}).ok());
  EXPECT_FALSE(put_condition({{"If-None-Match", "*"}, {"If-Match", "1"}}).ok());
}

}  // namespace
}  // namespace quern::api

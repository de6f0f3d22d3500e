#include "net/endpoint.h"

#include <gtest/gtest.h>

namespace quern::net {
namespace {

TEST(EndpointTest, ReadsAddressesNamesAndPaths) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:0", "example.org:65535", "localhost:80",
                           "unix:/run/quern.sock", "unix:relative", "unix:/with:colon"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint->to_string(), text);
  }
  const auto v6 = Endpoint::parse("[::1]:443");
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 443);
  EXPECT_EQ(Endpoint::parse("unix:/a/b")->path, "/a/b");
}

TEST(EndpointTest, RefusesTheRest) {
  for (const std::string& text :
       {std::string(""), std::string("127.0.0.1"), std::string(":80"), std::string("host:"),
        std::string("host:65536"), std::string("host:-1"), std::string("host:8x"),
        std::string("::1:80"), std::string("[::1]"), std::string("[nonsense]:1"),
        std::string("[::1:80"), std::string("a b:80"), std::string("unix:"),
        std::string("unix:/folder/"), "unix:/" + std::string(kSocketPathBytesMax, 'x')}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint.error().kind(), Errc::Invalid) << text;
  }
}

TEST(EndpointTest, KnowsWhatOnlyThisMachineReaches) {
  for (const char* local : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/x"}) {
    EXPECT_TRUE(Endpoint::parse(local)->is_local()) << local;
  }
  for (const char* other : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "example.org:1"}) {
    EXPECT_FALSE(Endpoint::parse(other)->is_local()) << other;
  }
}

}  // namespace
}  // namespace quern::net

#include "web/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

namespace quern::web {
namespace {

sockaddr_storage address_of(const std::string& text) {
  sockaddr_storage storage{};
  sockaddr_in in{};
  sockaddr_in6 in6{};
  if (::inet_pton(AF_INET, text.c_str(), &in.sin_addr) == 1) {
    in.sin_family = AF_INET;
    std::memcpy(&storage, &in, sizeof in);
  } else if (::inet_pton(AF_INET6, text.c_str(), &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    std::memcpy(&storage, &in6, sizeof in6);
  } else {
    ADD_FAILURE() << text << " is no address";
  }
  return storage;
}

bool is_public_text(const std::string& text) {
  const sockaddr_storage storage = address_of(text);
  return is_public(reinterpret_cast<const sockaddr&>(storage));
}

// The first and the last of each range, and their neighbours outside.
TEST(AddressTest, SpecialRangesOfIPv4AreNotPublic) {
  for (const char* text :
       {"0.0.0.0",         "0.255.255.255",   "10.0.0.0",        "10.255.255.255",
        "100.64.0.0",      "100.127.255.255", "100.100.100.200", "127.0.0.1",
        "127.255.255.255", "168.63.129.16",   "169.254.0.0",     "169.254.169.254",
        "169.254.255.255", "172.16.0.0",      "172.31.255.255",  "192.0.0.0",
        "192.0.0.255",     "192.0.2.0",       "192.0.2.255",     "192.88.99.1",
        "192.168.0.0",     "192.168.255.255", "198.18.0.0",      "198.19.255.255",
        "198.51.100.0",    "198.51.100.255",  "203.0.113.0",     "203.0.113.255",
        "224.0.0.0",       "239.255.255.255", "240.0.0.0",       "255.255.255.254",
        "255.255.255.255"}) {
    EXPECT_FALSE(is_public_text(text)) << text;
  }
  for (const char* text :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",      "100.63.255.255",  "100.128.0.0",
        "126.255.255.255", "128.0.0.0",       "168.63.129.15", "168.63.129.17",   "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",    "191.255.255.255", "192.0.1.0",
        "192.0.3.0",       "192.88.98.255",   "192.88.100.0",  "192.167.255.255", "192.169.0.0",
        "198.17.255.255",  "198.20.0.0",      "198.51.99.255", "198.51.101.0",    "203.0.112.255",
        "203.0.114.0",     "223.255.255.255", "8.8.8.8"}) {
    EXPECT_TRUE(is_public_text(text)) << text;
  }
}

TEST(AddressTest, SpecialRangesOfIPv6AreNotPublic) {
  for (const char* text : {"::",
                           "::1",
                           "::2",
                           "100::1",
                           "64:ff9b:1::808:808",
                           "fc00::",
                           "fd00:ec2::254",
                           "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "ff00::",
                           "ff02::1",
                           "ffff::1",
                           "2001:db8::",
                           "2001:db8:ffff::1",
                           "2001:1::1",
                           "2001:2::1",
                           "2001:10::1",
                           "2001:20::1",
                           "2001:1ff::1",
                           "3fff::1",
                           "3fff:fff::1",
                           "4000::1",
                           "1fff::1",
                           "::ffff:0:8.8.8.8"}) {
    EXPECT_FALSE(is_public_text(text)) << text;
  }
  for (const char* text : {"2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1",
                           "2001:db9::1", "2a00:1450::1", "3ffe::1", "3fff:1000::1"}) {
    EXPECT_TRUE(is_public_text(text)) << text;
  }
}

TEST(AddressTest, AnIPv4AddressInsideDecides) {
  for (const char* text :
       {"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1",
        "::192.168.1.1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::1",
        "2002:c0a8:101::1", "2001:0:7f00:1::f7f7:f7f7", "2001:0:808:808::80ff:fffe"}) {
    EXPECT_FALSE(is_public_text(text)) << text;
  }
  for (const char* text : {"::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
                           "2001:0:808:808::f7f7:f7f7"}) {
    EXPECT_TRUE(is_public_text(text)) << text;
  }
}

TEST(AddressTest, OtherSocketsAreNotPublic) {
  sockaddr_un unix_address{};
  unix_address.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public(reinterpret_cast<const sockaddr&>(unix_address)));
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(unix_address)), "");
}

TEST(AddressTest, AddressesAreWrittenShort) {
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::"}) {
    const sockaddr_storage storage = address_of(text);
    EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(storage)), text);
  }
}

TEST(AllowedHostsTest, HostsAreAllowedByName) {
  const auto hosts =
      AllowedHosts::parse("Intranet.example, 127.1, host:8080,,::1, [fd00::1]:81").value();
  EXPECT_TRUE(hosts.allows("intranet.example", 80));
  EXPECT_TRUE(hosts.allows("intranet.example", 8080));
  EXPECT_FALSE(hosts.allows("a.intranet.example", 80));
  EXPECT_TRUE(hosts.allows("127.0.0.1", 9));
  EXPECT_FALSE(hosts.allows("localhost", 9)) << "a name is not the address it has";
  EXPECT_TRUE(hosts.allows("host", 8080));
  EXPECT_FALSE(hosts.allows("host", 80));
  EXPECT_TRUE(hosts.allows("[::1]", 80));
  EXPECT_TRUE(hosts.allows("[fd00::1]", 81));
  EXPECT_FALSE(hosts.allows("[fd00::1]", 80));
  EXPECT_FALSE(hosts.allows("", 80));
  EXPECT_EQ(hosts.entries().size(), 5U);
}

TEST(AllowedHostsTest, AStarStandsForAll) {
  EXPECT_TRUE(AllowedHosts::parse("*").value().allows("anything.example", 1));
  EXPECT_FALSE(AllowedHosts::parse("").value().allows("anything.example", 1));
  EXPECT_FALSE(AllowedHosts().allows("127.0.0.1", 80));
}

TEST(AllowedHostsTest, WhatIsNoHostIsRefused) {
  for (const char* text : {"a b", "host:", "host:0", "host:65536", "host:x", "http://host",
                           "host/path", "[::1", "10.0.0.0/8", "host:80:90x"}) {
    EXPECT_FALSE(AllowedHosts::parse(text).ok()) << text;
  }
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "h" + std::to_string(i) + ",";
  EXPECT_EQ(AllowedHosts::parse(many).error().kind(), Errc::TooLarge);
}

}  // namespace
}  // namespace quern::web

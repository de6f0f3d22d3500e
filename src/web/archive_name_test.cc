#include "web/archive_name.h"

#include <gtest/gtest.h>

namespace quern::web {
namespace {

TEST(ArchiveNameTest, APrefixTellsWhoseItIs) {
  const std::string prefix = archive_prefix({"quern", 3, 17, 0x1234'5b2f'9c01});
  EXPECT_EQ(prefix, "quern-c3-j17-5b2f9c01");
  const auto name = parse_archive_name(prefix + "-20261116070606-b2a983962b8d.warc.gz");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, prefix);
  EXPECT_EQ(name->collection, 3);
  EXPECT_EQ(name->job, 17);
}

TEST(ArchiveNameTest, WhatIsCalledOtherwiseIsNotOurs) {
  for (const char* other :
       {"", ".warc.gz", "all.warc.gz", "quern-c3-20261116070606-b2a983962b8d.warc.gz",
        "quern-c3-j17-5b2f9c01-20261116070606-b2a983962b8d.warc",
        "quern-c3-j17-5b2f9c01-20261116070606-b2a983962b8d.warc.gz.part",
        "quern-c3-j17-5b2f9c0-20261116070606-b2a983962b8d.warc.gz",
        "quern-c3-j-5b2f9c01-20261116070606-b2a983962b8d.warc.gz",
        "quern-c3-j99999999999999999999-5b2f9c01-20261116070606-b2a983962b8d.warc.gz",
        "quern-c3-j17-5b2f9c01-2026111607060x-b2a983962b8d.warc.gz",
        "-c3-j17-5b2f9c01-20261116070606-b2a983962b8d.warc.gz",
        "../quern-c3-j17-5b2f9c01-20261116070606-b2a983962b8d.warc.gz"}) {
    EXPECT_FALSE(parse_archive_name(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace quern::web

#include <gtest/gtest.h>

#include "web/fetcher.h"

namespace quern::web {
namespace {

TEST(HeaderListTest, TheFirstValueCountsInAnyCase) {
  const HeaderList headers{{"ETag", "a"}, {"Content-Type", "text/html"}, {"etag", "b"}};
  EXPECT_EQ(find_header(headers, "etag"), "a");
  EXPECT_EQ(find_header(headers, "content-TYPE"), "text/html");
  EXPECT_EQ(find_header(headers, "Age"), "");
}

}  // namespace
}  // namespace quern::web

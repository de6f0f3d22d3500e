#include "store/url.h"

#include <gtest/gtest.h>

namespace quern::store {
namespace {

TEST(DatabaseUrlTest, TellsTheStoresApart) {
  EXPECT_EQ(DatabaseUrl::parse("sqlite:/a/b.db")->kind, StoreKind::Sqlite);
  EXPECT_EQ(DatabaseUrl::parse("sqlite:/a/b.db")->location, "/a/b.db");
  EXPECT_EQ(DatabaseUrl::parse("postgres://h/d")->kind, StoreKind::Postgres);
  EXPECT_EQ(DatabaseUrl::parse("postgresql://h/d")->location, "postgresql://h/d");
}

TEST(DatabaseUrlTest, RefusesWhatIsNeither) {
  for (const char* text : {"", "sqlite:", "sqlite::memory:", "sqlite:file:x", "mysql://h/d",
                           "/a/b.db", "postgres:h"}) {
    EXPECT_EQ(DatabaseUrl::parse(text).error().kind(), Errc::Invalid) << text;
  }
}

TEST(DatabaseUrlTest, ShowsNoPassword) {
  const auto shown = [](const char* text) { return DatabaseUrl::parse(text)->redacted(); };
  EXPECT_EQ(shown("postgres://u:p%40w@h:5432/d"), "postgres://u:***@h:5432/d");
  EXPECT_EQ(shown("postgres://u@h:5432/d"), "postgres://u@h:5432/d");
  EXPECT_EQ(shown("postgres://h:5432/d?password=pw&user=u"),
            "postgres://h:5432/d?password=***&user=u");
  EXPECT_EQ(shown("postgres:///d?host=/tmp/a@b:c"), "postgres:///d?host=/tmp/a@b:c");
  EXPECT_EQ(shown("sqlite:/a/b.db"), "sqlite:/a/b.db");
}

}  // namespace
}  // namespace quern::store

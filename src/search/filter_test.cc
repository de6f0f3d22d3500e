#include "search/filter.h"

#include <gtest/gtest.h>

namespace quern::search {
namespace {

// 2020-01-01 and 2021-01-01, in days since 1970.
constexpr std::int32_t kDay2020 = 18'262;
constexpr std::int32_t kDay2021 = 18'628;

TEST(FilterTest, AYearAMonthAndADayAreRanges) {
  EXPECT_EQ(parse_dates("2020"), (DateRange{kDay2020, kDay2021 - 1}));
  EXPECT_EQ(parse_dates("2020-02"), (DateRange{kDay2020 + 31, kDay2020 + 59}));
  EXPECT_EQ(parse_dates("2020-02-29"), (DateRange{kDay2020 + 59, kDay2020 + 59}));
  EXPECT_EQ(parse_dates("2020-2-9"), (DateRange{kDay2020 + 39, kDay2020 + 39}));
  EXPECT_EQ(parse_dates("1969-12-31"), (DateRange{-1, -1}));
}

TEST(FilterTest, RangesMayBeOpenOrTurnedRound) {
  EXPECT_EQ(parse_dates("2020..2021"), (DateRange{kDay2020, kDay2021 + 364}));
  EXPECT_EQ(parse_dates("2021..2020"), (DateRange{kDay2020, kDay2021 + 364}));
  EXPECT_EQ(parse_dates("2020-12-31..2021-01"), (DateRange{kDay2021 - 1, kDay2021 + 30}));
  EXPECT_EQ(parse_dates("..2020"), (DateRange{DateRange().first, kDay2021 - 1}));
  EXPECT_EQ(parse_dates("2021.."), (DateRange{kDay2021, DateRange().last}));
}

TEST(FilterTest, OtherDatesMeanNothing) {
  for (const char* text : {"", "..", "soon", "20", "20200", "0000", "2020-", "2020-13", "2020-00",
                           "2021-02-29", "2020-01-01-01", "2020...2021", "+2020", "-2020",
                           "2020-1x", "2020-001", "2020..soon", "2020 ", "99999999999"}) {
    EXPECT_FALSE(parse_dates(text).has_value()) << text;
  }
}

TEST(FilterTest, TypesHaveNamesForPeople) {
  constexpr char kDocx[] =
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  constexpr char kXlsx[] = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
  EXPECT_TRUE(type_matches("pdf", "application/pdf"));
  EXPECT_TRUE(type_matches("PDF", "Application/PDF; version=1"));
  for (const char* mime : {"application/msword", kDocx, "application/rtf", "text/rtf",
                           "application/vnd.oasis.opendocument.text"}) {
    EXPECT_TRUE(type_matches("doc", mime)) << mime;
    EXPECT_TRUE(type_matches("word", mime)) << mime;
    EXPECT_FALSE(type_matches("sheet", mime)) << mime;
  }
  EXPECT_TRUE(type_matches("docx", kDocx));
  EXPECT_FALSE(type_matches("docx", "application/msword"));
  for (const char* name : {"sheet", "xls", "excel", "spreadsheet", "xlsx"}) {
    EXPECT_TRUE(type_matches(name, kXlsx)) << name;
    EXPECT_FALSE(type_matches(name, kDocx)) << name;
  }
  EXPECT_TRUE(type_matches("slides", "application/vnd.ms-powerpoint"));
  EXPECT_TRUE(type_matches("ppt", "application/vnd.oasis.opendocument.presentation"));
  EXPECT_TRUE(type_matches("mail", "message/rfc822"));
  EXPECT_TRUE(type_matches("mail", "application/vnd.ms-outlook"));
  EXPECT_TRUE(type_matches("html", "text/html"));
  EXPECT_TRUE(type_matches("html", "application/xhtml+xml"));
  EXPECT_TRUE(type_matches("json", "application/ld+json"));
}

TEST(FilterTest, FamiliesAndWholeTypesAreMeantToo) {
  EXPECT_TRUE(type_matches("image", "image/png"));
  EXPECT_TRUE(type_matches("image/*", "image/png"));
  EXPECT_TRUE(type_matches("image/png", "image/png"));
  EXPECT_FALSE(type_matches("image/*", "imagine/png"));
  EXPECT_TRUE(type_matches("audio", "audio/mpeg"));
  EXPECT_TRUE(type_matches("video", "video/mp4"));
  EXPECT_TRUE(type_matches("text", "text/plain"));
  EXPECT_TRUE(type_matches("zip", "application/zip"));
  EXPECT_TRUE(type_matches("tar", "application/x-tar"));
  EXPECT_FALSE(type_matches("ima", "image/png"));
  EXPECT_FALSE(type_matches("", "image/png"));
  EXPECT_FALSE(type_matches("image", ""));
  EXPECT_FALSE(type_matches("*", ""));
}

TEST(FilterTest, PathsAreComparedWithoutCaseAndDoubledSlashes) {
  EXPECT_EQ(fold_path("/Leak//Mails/"), "leak/mails");
  EXPECT_EQ(fold_path("STRASSE/Straße"), "strasse/strasse");
  EXPECT_EQ(fold_path("e\u0301"), fold_path("É"));
  EXPECT_EQ(fold_path("///"), "");
  EXPECT_EQ(fold_path(""), "");
  EXPECT_EQ(fold_path("a/../b"), "a/../b");
  EXPECT_EQ(fold_path("a\xff"), "a\uFFFD");
}

}  // namespace
}  // namespace quern::search

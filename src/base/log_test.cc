#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace quern {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// What is logged while it lives.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    EXPECT_EQ(::pipe(ends_), 0);
    set_log_descriptor(ends_[1]);
  }
  ~LogTest() override {
    set_log_descriptor(-1);
    set_log(LogLevel::Error, LogFormat::Human);
    if (ends_[1] >= 0) ::close(ends_[1]);
    ::close(ends_[0]);
  }

  std::string logged() {
    set_log_descriptor(-1);
    ::close(ends_[1]);
    ends_[1] = -1;
    std::string all;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LogTest, JsonLineHasTimeLevelEventAndTypedFields) {
  set_log(LogLevel::Info, LogFormat::Json);
  log_warn("a.b", {{"text", "say \"hi\"\n"}, {"number", -5}, {"real", 0.5}, {"flag", true}});
  EXPECT_THAT(
      logged(),
      MatchesRegex("\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z\","
                   "\"level\":\"warn\",\"event\":\"a\\.b\",\"text\":\"say \\\\\"hi\\\\\"\\\\n\","
                   "\"number\":-5,\"real\":0\\.5,\"flag\":1\\}\n"));
}

TEST_F(LogTest, HumanLineReadsTheSame) {
  set_log(LogLevel::Info, LogFormat::Human);
  log_info("started", {{"port", 8080}, {"name", std::string("x y")}});
  EXPECT_THAT(logged(), EndsWith(" info  started port=8080 name=\"x y\"\n"));
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  set_log(LogLevel::Warn, LogFormat::Human);
  log_debug("one");
  log_info("two");
  log_warn("three");
  log_error("four");
  const std::string text = logged();
  EXPECT_THAT(text, HasSubstr("three"));
  EXPECT_THAT(text, HasSubstr("four"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(LogTest, OffIsOff) {
  set_log(LogLevel::Off, LogFormat::Human);
  log_error("nothing");
  EXPECT_EQ(logged(), "");
}

TEST_F(LogTest, LongLineIsCutToTheLimitAndStaysOneLine) {
  set_log(LogLevel::Info, LogFormat::Human);
  log_info("long", {{"text", std::string(100'000, 'x')}});
  const std::string text = logged();
  EXPECT_EQ(text.size(), kLogLineBytesMax);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST_F(LogTest, LinesOfThreadsNeverMix) {
  set_log(LogLevel::Info, LogFormat::Human);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) log_info("event", {{"text", std::string(100, 'x')}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string text = logged();
  int lines = 0;
  while (!text.empty()) {
    const std::string line = text.substr(0, text.find('\n'));
    EXPECT_THAT(line, EndsWith(" info  event text=\"" + std::string(100, 'x') + "\""));
    text.erase(0, line.size() + 1);
    ++lines;
  }
  EXPECT_EQ(lines, 200);
}

TEST(JsonEscapedTest, EveryStringIsSafeBetweenQuotes) {
  EXPECT_EQ(json_escaped("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(json_escaped("\n\r\t\x01\x1f"), "\\n\\r\\t\\u0001\\u001f");
  EXPECT_EQ(json_escaped(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(json_escaped("\xC3\xA9\xFF"), "\xC3\xA9\xEF\xBF\xBD");
}

}  // namespace
}  // namespace quern

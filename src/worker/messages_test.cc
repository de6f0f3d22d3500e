// What goes between server, broker and box: addresses, tasks, lines, ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/base64.h"
#include "worker/child_usage.h"
#include "worker/detected_lines.h"
#include "worker/lent_task.h"
#include "worker/line.h"
#include "worker/part_writer.h"
#include "worker/step_harness.h"
#include "worker/zygote.h"

namespace quern::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AddressTest, ServersAreNamedByUrlOrSocket) {
  const auto plain = parse_address("http://example.org:8080/under/here");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->endpoint.to_string(), "example.org:8080");
  EXPECT_EQ(plain->target, "/under/here");
  EXPECT_EQ(parse_address("http://example.org")->endpoint.port, 80);
  EXPECT_EQ(parse_address("http://[::1]")->endpoint.to_string(), "[::1]:80");
  EXPECT_EQ(parse_address("unix:/run/quern.sock")->endpoint.path, "/run/quern.sock");
  EXPECT_EQ(parse_address("http://worker:a%20b@host:1")->authorization,
            "Basic " + base64_encoded("worker:a b"));
}

TEST(AddressTest, WhatWeDoNotSpeakIsRefused) {
  for (const char* url : {"", "https://example.org", "ftp://x", "example.org:80", "http://",
                          "http://host:port", "unix:"}) {
    EXPECT_FALSE(parse_address(url).ok()) << url;
  }
}

TEST(Base64Test, BothWays) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"),
                                   std::string("abc"), std::string("\0\xFF\x80z", 4)}) {
    EXPECT_EQ(base64_decoded(base64_encoded(bytes)), bytes);
  }
  EXPECT_EQ(base64_encoded("hello"), "aGVsbG8=");
  for (const char* text : {"a", "ab", "abc", "a===", "a=bc", "ab c"}) {
    EXPECT_FALSE(base64_decoded(text)) << text;
  }
}

constexpr char kTask[] =
    R"({"id":"1","url":"http://h/steps/Text/1","filename":"a","contentType":"text/plain",)"
    R"("languageCode":"en","metadata":{"b":1,"a":2},"wantOcr":true,"wantSplitByPage":false,)"
    R"("detectedType":"text/plain","file":5,"blob":{"url":"http://h/b","nBytes":5,"sha1":"",)"
    R"("sha256":"","data":"aGVsbG8="},"unknown":[1]})";

TEST(LentTaskTest, ATaskIsTakenApart) {
  const auto tasks = parse_lent_tasks(kTask);
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 1U);
  const LentTask& task = tasks->at(0);
  EXPECT_EQ(task.url, "http://h/steps/Text/1");
  EXPECT_EQ(task.blob.url, "http://h/b");
  EXPECT_EQ(task.blob.bytes, 5U);
  EXPECT_EQ(task.blob.data, "hello");
  // Neither addresses nor what we do not know go into the box.
  EXPECT_EQ(task.json, R"({"filename":"a","contentType":"text/plain","languageCode":"en",)"
                       R"("metadata":{"b":1,"a":2},"wantOcr":true,"wantSplitByPage":false,)"
                       R"("detectedType":"text/plain","file":5})");
}

TEST(LentTaskTest, SeveralTasksAndFilesOfDetect) {
  const auto tasks = parse_lent_tasks(std::string(R"({"tasks":[)") + kTask + "," + kTask + "]}");
  EXPECT_EQ(tasks->size(), 2U);
  const auto detect =
      parse_lent_tasks(R"({"tasks":[{"id":"d","url":"http://h/d","files":[)"
                       R"({"file":17,"filename":"a/b.zip","blob":{"nBytes":3,"path":"/x"}}]}]})");
  ASSERT_TRUE(detect.ok());
  ASSERT_EQ(detect->at(0).files.size(), 1U);
  EXPECT_EQ(detect->at(0).files[0].blob.path, "/x");
  EXPECT_EQ(detect_json({&detect->at(0).files[0]}),
            R"({"files":[{"file":17,"filename":"a/b.zip"}]})");
}

TEST(LentTaskTest, WhatIsNoTaskIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"tasks":{}})", R"({"tasks":[1]})",
                           R"({"url":"http://h/1"})", R"({"url":"u","blob":{"data":"!"}})"}) {
    EXPECT_FALSE(parse_lent_tasks(text).ok()) << text;
  }
}

TEST(LentTaskTest, MetadataFromElsewhereTakesItsPlace) {
  EXPECT_EQ(with_metadata(R"({"filename":"a","metadata":{}})", R"({"k":"v"})"),
            R"({"filename":"a","metadata":{"k":"v"}})");
  EXPECT_EQ(with_metadata(R"({"filename":"a"})", "no object"), R"({"filename":"a"})");
}

TEST(StepTaskTest, ABoxReadsItsTask) {
  const auto task = parse_step_task(parse_lent_tasks(kTask)->at(0).json);
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->filename, "a");
  EXPECT_EQ(task->metadata, R"({"b":1,"a":2})");
  EXPECT_TRUE(task->want_ocr);
  EXPECT_FALSE(parse_step_task("[]").ok());
}

TEST(DetectedLinesTest, LinesAreReadHoweverTheyComeAndOddOnesAreSkipped) {
  const std::string text =
      "1 text/plain\nx text/plain\n2 Text/Plain\n3\n4 text\n5 a/b/c\n-6 application/x-y.z+w\n"
      "7 text/plain; charset=x\n8 text/html";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    DetectedLines lines;
    std::map<std::int64_t, std::string> types;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      lines.feed(std::string_view(text).substr(at, piece), types);
    }
    EXPECT_THAT(types, ElementsAre(Pair(-6, "application/x-y.z+w"), Pair(1, "text/plain")));
  }
}

TEST(EndTest, AnEndIsReadBackAndNothingElseIsOne) {
  EXPECT_FALSE(parse_end(end_text(std::nullopt))->has_value());
  const StepEnd failed = Failure{model::ErrorKind::TooMany, "more than 3 members"};
  const auto back = parse_end(end_text(failed));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((*back)->kind, model::ErrorKind::TooMany);
  EXPECT_EQ((*back)->message, "more than 3 members");
  for (const char* text : {"", "don", "done ", "nonsense words", "corrupt"}) {
    EXPECT_FALSE(parse_end(text).ok()) << text;
  }
}

TEST(ChildUsageTest, NumbersAreFoundBehindAnyName) {
  const std::string stat =
      "17 (a) b (c) S 1 17 17 0 -1 4194304 100 0 0 0 321 45 0 0 20 0 1 0 100 1000 200 0";
  EXPECT_EQ(cpu_ticks_of(stat), 366);
  EXPECT_FALSE(cpu_ticks_of("17 (a) S 1"));
  EXPECT_EQ(memory_bytes_of("Name:\tx\nRssAnon:\t    10 kB\nRssFile:\t 99 kB\nRssShmem:\t 2 kB\n"),
            12U * 1024);
  EXPECT_TRUE(read_child_usage(::getpid()).has_value());
  EXPECT_FALSE(read_child_usage(999'999'999).has_value());
}

TEST(PartWriterTest, PartsOfAnySizeAreWritten) {
  const io::Descriptor file = *make_memory_file("");
  PartWriter writer(file.get(), "B");
  const std::string large(kPartBufferBytes * 3 + 17, 'x');
  writer.part("one", "");
  writer.begin("two");
  writer.write(large);
  writer.write("y");
  writer.end();
  writer.flush();
  const std::string body = harness_output(file);
  EXPECT_EQ(body, part_text("B", "one", "") + part_text("B", "two", large + "y"));
  EXPECT_EQ(writer.bytes_written(), body.size());
}

TEST(PartWriterTest, BoundariesAreLongAndNeverTheSame) {
  EXPECT_EQ(make_boundary().size(), 50U);
  EXPECT_NE(make_boundary(), make_boundary());
}

}  // namespace
}  // namespace quern::worker

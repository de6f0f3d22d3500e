#include "step/task_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/base64.h"

namespace quern::step {
namespace {

namespace json = boost::json;

Task sample() {
  Task task;
  task.id = "0f3a";
  task.url = "http://h:1/steps/Archive/0f3a";
  task.file = 17;
  task.filename = "a/\"b\"\n.zip";
  task.content_type = "application/octet-stream";
  task.detected_type = "application/zip";
  task.language = "en";
  task.metadata = R"({"k":[1,"ü"]})";
  task.want_ocr = true;
  task.blob.bytes = 3;
  task.blob.sha1 = std::string("\x00\x7F\xFF", 3);
  return task;
}

json::object parsed(const std::string& text) {
  return json::parse(text).as_object();
}

TEST(TaskJsonTest, HasEveryFieldOfTheProtocol) {
  const json::object task = parsed(task_json(sample()));
  EXPECT_EQ(task.at("id"), "0f3a");
  EXPECT_EQ(task.at("url"), "http://h:1/steps/Archive/0f3a");
  EXPECT_EQ(task.at("file"), 17);
  EXPECT_EQ(task.at("filename"), "a/\"b\"\n.zip");
  EXPECT_EQ(task.at("contentType"), "application/octet-stream");
  EXPECT_EQ(task.at("detectedType"), "application/zip");
  EXPECT_EQ(task.at("languageCode"), "en");
  EXPECT_EQ(task.at("metadata"), json::parse(R"({"k":[1,"ü"]})"));
  EXPECT_EQ(task.at("wantOcr"), true);
  EXPECT_EQ(task.at("wantSplitByPage"), false);
  EXPECT_FALSE(task.contains("metadataUrl"));
  const json::object& blob = task.at("blob").as_object();
  EXPECT_EQ(blob.at("url"), "http://h:1/steps/Archive/0f3a/blob");
  EXPECT_EQ(blob.at("nBytes"), 3);
  EXPECT_EQ(blob.at("sha1"), "007fff");
  EXPECT_EQ(blob.size(), 3U) << "what was not given is not there";
}

TEST(TaskJsonTest, TheBlobComesAlongWhereItIsGiven) {
  Task task = sample();
  task.blob.sha256 = std::string(32, '\xAB');
  task.blob.data = std::string("\0x\xFF", 3);
  task.blob.path = "/data/blobs/1";
  task.blob.url = "http://elsewhere/x";
  const json::object made = parsed(task_json(task));
  const json::object& blob = made.at("blob").as_object();
  EXPECT_EQ(blob.at("sha256").as_string().size(), 64U);
  EXPECT_EQ(base64_decoded(blob.at("data").as_string()), task.blob.data);
  EXPECT_EQ(blob.at("path"), "/data/blobs/1");
  EXPECT_EQ(blob.at("url"), "http://elsewhere/x");
}

TEST(TaskJsonTest, LargeMetadataStandsElsewhere) {
  Task task = sample();
  task.metadata = R"({"k":")" + std::string(kTaskJsonBytesMax, 'x') + R"("})";
  const std::string text = task_json(task);
  EXPECT_LT(text.size(), 2000U);
  EXPECT_EQ(parsed(text).at("metadata"), json::object());
  EXPECT_EQ(parsed(text).at("metadataUrl"), "http://h:1/steps/Archive/0f3a/metadata");

  // One byte decides.
  task.metadata = "{}";
  const std::size_t rest = task_json(task).size();
  task.metadata = R"({"k":")" + std::string(kTaskJsonBytesMax - rest - 6, 'x') + R"("})";
  EXPECT_EQ(task_json(task).size(), kTaskJsonBytesMax);
  EXPECT_FALSE(parsed(task_json(task)).contains("metadataUrl"));
  task.metadata.insert(7, "x");
  EXPECT_TRUE(parsed(task_json(task)).contains("metadataUrl"));
}

TEST(TaskJsonTest, NothingMakesItTooLarge) {
  Task task = sample();
  task.filename = std::string(1024 * 1024, '\x01');
  task.content_type = task.detected_type = task.language = std::string(200'000, '\x02');
  task.metadata = R"({"k":")" + std::string(200'000, 'x') + R"("})";
  task.blob.data = std::string(16'384, 'x');
  task.blob.path = "/" + std::string(4000, '\x03');
  const std::string text = task_json(task);
  EXPECT_LE(text.size(), kTaskJsonBytesMax);
  const json::object made = parsed(text);
  EXPECT_EQ(made.at("filename").as_string(), std::string(4096, '\x01'));
  EXPECT_TRUE(made.at("blob").as_object().contains("url"));
}

TEST(TaskJsonTest, DetectGetsManyFilesInOneTask) {
  std::vector<DetectFile> files(2);
  files[0] = {17, "a/b.zip", {.bytes = 2, .data = "PK"}};
  files[1] = {18, "c", {.url = "http://h/x", .bytes = 70'000}};
  const json::object task = parsed(detect_task_json({"id", "http://h/steps/Detect/id", files}));
  EXPECT_EQ(task.at("id"), "id");
  ASSERT_EQ(task.at("files").as_array().size(), 2U);
  EXPECT_EQ(task.at("files").at(0),
            json::parse(R"({"file":17,"filename":"a/b.zip","blob":{"nBytes":2,"data":"UEs="}})"));
  EXPECT_EQ(
      task.at("files").at(1),
      json::parse(R"({"file":18,"filename":"c","blob":{"url":"http://h/x","nBytes":70000}})"));
}

TEST(TaskJsonTest, SeveralTasksStandInOneArray) {
  const std::vector<std::string> tasks = {R"({"a":1})", R"({"b":2})"};
  EXPECT_EQ(tasks_json(tasks), R"({"tasks":[{"a":1},{"b":2}]})");
  EXPECT_EQ(tasks_json({}), R"({"tasks":[]})");
}

TEST(TaskJsonTest, AddressesUseTheHostThatTheWorkerUsed) {
  for (const char* host :
       {"example.org", "localhost:9032", "10.1.2.3:80", "[::1]:8080", "[fe80::1]"}) {
    const std::string header = host;
    EXPECT_EQ(base_url(&header), std::string("http://") + host);
  }
  EXPECT_EQ(base_url(nullptr), "http://localhost");
  for (const char* host : {"", "a b", "a/b", "x@y", "h:", "h:99999", "h:1:2", "[::1", "::1", "a\"b",
                           "unix:x", "h?x", "h#x"}) {
    const std::string header = host;
    EXPECT_EQ(base_url(&header), "http://localhost") << host;
  }
  const std::string hidden("[::1\0x]", 7);
  EXPECT_EQ(base_url(&hidden), "http://localhost");
  EXPECT_EQ(task_url("http://h:1", "PdfOcr", "0f3a"), "http://h:1/steps/PdfOcr/0f3a");
}

}  // namespace
}  // namespace quern::step

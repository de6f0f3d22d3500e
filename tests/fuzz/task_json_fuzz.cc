// Task JSON: whatever a file is called, what we write is JSON of bounded size that says the same.
// The input's lines are the fields: host, name, types, language, metadata, bytes.
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/check.h"
#include "base/utf8.h"
#include "step/task_json.h"

namespace quern::step {
namespace {

namespace json = boost::json;

std::string take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return std::string(line);
}

std::string metadata_of(const std::string& text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  return !error && value.is_object() ? json::serialize(value) : "{}";
}

void check_task(const Task& task) {
  const std::string text = task_json(task);
  CHECK(text.size() <= kTaskJsonBytesMax);
  const json::value value = json::parse(text);
  const json::object& blob = value.at("blob").as_object();
  CHECK(value.at("url").as_string() == task.url);
  CHECK(valid_utf8(task.filename).starts_with(value.at("filename").as_string()));
  CHECK(value.as_object().contains("metadataUrl") ||
        json::serialize(value.at("metadata")) == task.metadata);
  CHECK(blob.at("nBytes").as_int64() == task.blob.bytes);
  CHECK(!blob.contains("data") || base64_decoded(blob.at("data").as_string()) == task.blob.data);
}

}  // namespace
}  // namespace quern::step

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::step;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string host = take_line(rest);
  Task task;
  task.id = "0f3a";
  task.url = task_url(base_url(&host), "Archive", task.id);
  CHECK(task.url.starts_with("http://") && task.url.find_first_of("\r\n \"<>@") == task.url.npos);
  task.filename = take_line(rest);
  task.content_type = take_line(rest);
  task.detected_type = take_line(rest);
  task.language = take_line(rest);
  task.metadata = metadata_of(take_line(rest));
  task.blob.data = rest;
  task.blob.bytes = static_cast<std::int64_t>(rest.size());
  task.blob.sha1 = rest.substr(0, 20);
  check_task(task);
  // Beyond what a seed can hold; seldom, because it takes long.
  if (size % 64 != 0 || task.filename.empty()) return 0;
  while (task.filename.size() < 60'000) task.filename += task.filename;
  check_task(task);
  return 0;
}

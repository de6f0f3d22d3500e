// Task JSON: how a file is described to the worker it is lent to. Pure.
//
// Guarantee: valid JSON with all fields of the worker protocol and at most kTaskJsonBytesMax bytes,
// whatever the file is called: public converters pass it on as one command-line argument, which the
// system refuses beyond 128 KiB. Where metadata makes it larger, `metadata` is empty and
// `metadataUrl` says where it is; then inline data goes (blob.url has it), then the name is cut.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quern::step {

inline constexpr std::size_t kTaskJsonBytesMax = 100 * 1024;

struct TaskBlob {
  std::string url;  // "": the task's url + "/blob"
  std::int64_t bytes = 0;
  std::string sha1;    // raw
  std::string sha256;  // raw; "" leaves it out
  std::string path;    // for workers of this machine; "" leaves it out
  std::string data;    // the bytes themselves; "" leaves it out
};

struct Task {
  std::string id;
  std::string url;  // absolute
  std::int64_t file = 0;
  std::int64_t job = 0;
  std::string filename;
  std::string content_type;
  std::string detected_type;
  std::string language;
  std::string metadata = "{}";  // a JSON object as text
  bool want_ocr = false;
  bool want_split = false;
  TaskBlob blob;
};

std::string task_json(const Task& task);

// Files for Detect: one task that names many.
struct DetectFile {
  std::int64_t file = 0;
  std::string filename;
  TaskBlob blob;  // its url counts (it has no default)
};
struct DetectTask {
  std::string id;
  std::string url;
  std::span<const DetectFile> files;
};
// Not bounded by kTaskJsonBytesMax: it never becomes an argument.
std::string detect_task_json(const DetectTask& task);

// {"tasks":[...]}, for polls that ask for several.
std::string tasks_json(std::span<const std::string> tasks);

// "http://HOST[:PORT]" of a request's Host header, so that a worker is sent to the address it used;
// "http://localhost" where it is absent or no host and port.
std::string base_url(const std::string* host_header);
// base + "/steps/Archive/ID".
std::string task_url(std::string_view base, std::string_view step, std::string_view id);

}  // namespace quern::step

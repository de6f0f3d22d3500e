#include "step/task_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/log.h"
#include "net/endpoint.h"
#include "step/clean_text.h"

namespace quern::step {
namespace {

constexpr std::string_view kDefaultBase = "http://localhost";
constexpr std::size_t kHostBytesMax = 255;
// Once a name has to be cut: as much as a path of the system may have.
constexpr std::size_t kCutFilenameBytes = 4096;
constexpr std::size_t kTaskTypeBytesMax = 255;

// What of a task is said; each is dropped in its turn until the rest is small enough.
enum class Room { ForAll, WithoutMetadata, WithoutData, WithoutName };

class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { out_ += '}'; }

  void text(std::string_view name, std::string_view value) {
    raw(name) += '"';
    out_ += json_escaped(value);
    out_ += '"';
  }
  void number(std::string_view name, std::int64_t value) { raw(name) += std::to_string(value); }
  void flag(std::string_view name, std::string_view value) { raw(name) += value; }
  void hex(std::string_view name, std::string_view bytes) {
    raw(name) += '"';
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      out_ += "0123456789abcdef"[byte >> 4];
      out_ += "0123456789abcdef"[byte & 15];
    }
    out_ += '"';
  }
  void base64(std::string_view name, std::string_view bytes) {
    raw(name) += '"';
    append_base64(out_, bytes);
    out_ += '"';
  }
  // The value is appended to what comes back.
  std::string& raw(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }

 private:
  std::string& out_;
  bool first_ = true;
};

std::string_view json_bool(bool value) {
  return value ? "true" : "false";
}

void append_blob(std::string& out, const TaskBlob& blob, std::string_view url, Room room) {
  JsonObject object(out);
  if (!url.empty()) object.text("url", url);
  object.number("nBytes", blob.bytes);
  if (!blob.sha1.empty()) object.hex("sha1", blob.sha1);
  if (!blob.sha256.empty()) object.hex("sha256", blob.sha256);
  if (room >= Room::WithoutData) return;
  if (!blob.path.empty()) object.text("path", blob.path);
  if (!blob.data.empty()) object.base64("data", blob.data);
}

std::string written(const Task& task, Room room) {
  std::string out;
  out.reserve(1024 + task.metadata.size() + task.filename.size() + task.blob.data.size() * 4 / 3);
  {
    JsonObject object(out);
    object.text("id", task.id);
    object.text("url", task.url);
    object.number("file", task.file);
    object.number("job", task.job);
    object.text("filename", room < Room::WithoutName
                                ? std::string_view(task.filename)
                                : cut_at_character(task.filename, kCutFilenameBytes));
    object.text("contentType", cut_at_character(task.content_type, kTaskTypeBytesMax));
    object.text("detectedType", cut_at_character(task.detected_type, kTaskTypeBytesMax));
    object.text("languageCode", cut_at_character(task.language, kTaskTypeBytesMax));
    object.raw("metadata") += room < Room::WithoutMetadata ? std::string_view(task.metadata) : "{}";
    if (room >= Room::WithoutMetadata) object.text("metadataUrl", task.url + "/metadata");
    object.flag("wantOcr", json_bool(task.want_ocr));
    object.flag("wantSplitByPage", json_bool(task.want_split));
    const std::string url = task.blob.url.empty() ? task.url + "/blob" : task.blob.url;
    append_blob(object.raw("blob"), task.blob, url, room);
  }
  return out;
}

bool is_authority(std::string_view host) {
  const auto visible = [](char c) { return c > 0x20 && c < 0x7F; };
  if (host.empty() || host.size() > kHostBytesMax) return false;
  if (!std::all_of(host.begin(), host.end(), visible)) return false;
  const bool has_port = host.find(':', host.starts_with('[') ? host.find(']') : 0) != host.npos;
  const std::string whole = has_port ? std::string(host) : fmt::format("{}:80", host);
  const auto endpoint = net::Endpoint::parse(whole);
  return endpoint.ok() && endpoint->kind == net::Endpoint::Kind::Tcp;
}

}  // namespace

std::string task_json(const Task& task) {
  std::string out;
  for (const Room room :
       {Room::ForAll, Room::WithoutMetadata, Room::WithoutData, Room::WithoutName}) {
    out = written(task, room);
    if (out.size() <= kTaskJsonBytesMax) break;
  }
  return out;
}

std::string detect_task_json(const DetectTask& task) {
  std::string out;
  {
    JsonObject object(out);
    object.text("id", task.id);
    object.text("url", task.url);
    object.raw("files") += '[';
    for (const DetectFile& file : task.files) {
      if (&file != task.files.data()) out += ',';
      JsonObject one(out);
      one.number("file", file.file);
      one.text("filename", file.filename);
      append_blob(one.raw("blob"), file.blob, file.blob.url, Room::ForAll);
    }
    out += ']';
  }
  return out;
}

std::string tasks_json(std::span<const std::string> tasks) {
  return fmt::format(R"({{"tasks":[{}]}})", fmt::join(tasks, ","));
}

std::string base_url(const std::string* host_header) {
  if (host_header == nullptr || !is_authority(*host_header)) return std::string(kDefaultBase);
  return "http://" + *host_header;
}

std::string task_url(std::string_view base, std::string_view step, std::string_view id) {
  return fmt::format("{}/steps/{}/{}", base, step, id);
}

}  // namespace quern::step

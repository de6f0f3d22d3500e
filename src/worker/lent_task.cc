#include "worker/lent_task.h"

#include <boost/json.hpp>

#include "worker/base64.h"

namespace quern::worker {
namespace json = boost::json;
namespace {

constexpr std::string_view kForTheBox[] = {"filename",     "contentType", "languageCode",
                                           "metadata",     "wantOcr",     "wantSplitByPage",
                                           "detectedType", "file"};

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? json::value_to<std::string>(*value) : "";
}

std::int64_t number_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  return failed ? 0 : number;
}

Result<LentBlob> blob_of(const json::object& object) {
  const json::value* value = object.if_contains("blob");
  if (value == nullptr || !value->is_object()) {
    return Error{Errc::Invalid, "a task without a blob"};
  }
  const json::object& fields = value->get_object();
  LentBlob blob;
  blob.url = text_of(fields, "url");
  blob.path = text_of(fields, "path");
  blob.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(fields, "nBytes"), 0));
  if (const json::value* data = fields.if_contains("data"); data != nullptr && data->is_string()) {
    blob.data = base64_decoded(data->get_string());
    if (!blob.data) return Error{Errc::Invalid, "a blob whose data is no base64"};
  }
  return blob;
}

Result<LentFile> file_of(const json::value& value) {
  if (!value.is_object()) return Error{Errc::Invalid, "a file that is no object"};
  LentFile file;
  file.file = number_of(value.get_object(), "file");
  file.filename = text_of(value.get_object(), "filename");
  TRY_ASSIGN(file.blob, blob_of(value.get_object()));
  return file;
}

Result<LentTask> task_of(const json::value& value) {
  if (!value.is_object()) return Error{Errc::Invalid, "a task that is no object"};
  const json::object& object = value.get_object();
  LentTask task;
  task.url = text_of(object, "url");
  task.metadata_url = text_of(object, "metadataUrl");
  if (task.url.empty()) return Error{Errc::Invalid, "a task without a url"};
  if (const json::value* files = object.if_contains("files");
      files != nullptr && files->is_array()) {
    for (const json::value& file : files->get_array()) {
      TRY_ASSIGN(LentFile one, file_of(file));
      task.files.push_back(std::move(one));
    }
    return task;
  }
  TRY_ASSIGN(task.blob, blob_of(object));
  task.job = number_of(object, "job");
  json::object kept;
  for (const std::string_view key : kForTheBox) {
    if (const json::value* field = object.if_contains(key)) kept.emplace(key, *field);
  }
  task.json = json::serialize(kept);
  return task;
}

}  // namespace

Result<std::vector<LentTask>> parse_lent_tasks(std::string_view text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return Error{Errc::Invalid, "the answer is no JSON object"};
  std::vector<LentTask> tasks;
  const json::value* list = parsed.get_object().if_contains("tasks");
  if (list == nullptr) {
    TRY_ASSIGN(LentTask task, task_of(parsed));
    tasks.push_back(std::move(task));
    return tasks;
  }
  if (!list->is_array()) return Error{Errc::Invalid, "tasks is no array"};
  for (const json::value& value : list->get_array()) {
    TRY_ASSIGN(LentTask task, task_of(value));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::string with_metadata(std::string_view text, std::string_view metadata) {
  boost::system::error_code failed;
  json::value task = json::parse(text, failed);
  json::value value = json::parse(metadata, failed);
  if (failed || !task.is_object() || !value.is_object()) return std::string(text);
  task.get_object()["metadata"] = std::move(value);
  return json::serialize(task);
}

std::string detect_json(const std::vector<const LentFile*>& files) {
  json::array list;
  for (const LentFile* file : files) {
    list.push_back(json::object{{"file", file->file}, {"filename", file->filename}});
  }
  return json::serialize(json::object{{"files", std::move(list)}});
}

}  // namespace quern::worker

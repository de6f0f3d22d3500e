#include "fileset/result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "fileset/status.h"
#include "fileset/total.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value() : json::value(text);
}

json::object terminal_json(const Capture& capture) {
  json::object terminal{{"terminal_url", text_or_null(capture.terminal_url)},
                        {"terminal_dt", text_or_null(capture.terminal_dt)}};
  terminal["terminal_status_code"] =
      capture.status_code == 0 ? json::value() : json::value(capture.status_code);
  return terminal;
}

bool has_meta(const FileMeta& meta) {
  return !meta.sha1.empty();
}

void add_landing(json::object& result, const Landed& landed) {
  json::array& hops = result["hops"].emplace_array();
  for (const std::string& hop : landed.hops) hops.emplace_back(hop);
  if (!landed.capture) return;
  const Capture& capture = *landed.capture;
  if (!capture.terminal_url.empty()) result["terminal"] = terminal_json(capture);
  if (!landed.accepted) return;
  result["terminal"].as_object()["terminal_sha1hex"] = capture.meta.sha1;
  result["file_meta"] = to_json(capture.meta);
  result["cdx"] = capture.cdx;
  if (!capture.revisit_cdx.empty()) result["revisit_cdx"] = capture.revisit_cdx;
  if (landed.html_biblio.contains("title")) result["html_biblio"] = landed.html_biblio;
}

json::object capture_json(const Capture& capture) {
  json::object object{{"terminal", terminal_json(capture)}, {"cdx", capture.cdx}};
  if (!capture.revisit_cdx.empty()) object["revisit_cdx"] = capture.revisit_cdx;
  if (has_meta(capture.meta)) object["file_meta"] = to_json(capture.meta);
  return object;
}

// The metadata of a file that is known by its manifest alone.
json::object meta_of(const ManifestFile& file) {
  const FileMeta meta{file.size.value_or(0), file.md5, file.sha1, file.sha256, file.mimetype};
  return to_json(meta);
}

json::object single_file(const ResultParts& parts) {
  if (parts.files.empty()) return {};
  const FileOutcome& only = parts.files.front();
  if (!only.capture) {
    if (parts.strict || !is_kept(only.file.status) || only.file.sha1.empty()) return {};
    return {{"file_meta", meta_of(only.file)}};
  }
  json::object object = capture_json(*only.capture);
  if (parts.strict && object.contains("file_meta")) {
    object["file_meta"] = json::array{object["file_meta"]};
  }
  return object;
}

json::object bundle_json(const ResultParts& parts) {
  const FileOutcome& bundle = *parts.bundle;
  json::object object = bundle.capture ? capture_json(*bundle.capture) : json::object{};
  if (!object.contains("file_meta") && !bundle.file.sha1.empty()) {
    object["file_meta"] = meta_of(bundle.file);
  }
  if (is_item(parts.strategy)) object["archiveorg_bundle_path"] = bundle.file.path;
  return object;
}

// As the original left the manifest: it gave up with the first file that could not be had.
json::array strict_manifest(const ResultParts& parts) {
  json::array manifest;
  bool gave_up = false;
  for (std::size_t i = 0; i < parts.files.size(); ++i) {
    const ManifestFile& file = gave_up && parts.item && i < parts.item->manifest.size()
                                   ? parts.item->manifest[i]
                                   : parts.files[i].file;
    manifest.push_back(to_json(file));
    gave_up |= is_item(parts.strategy) && file.status == "error-platform-download";
  }
  return manifest;
}

json::array manifest_json(const ResultParts& parts) {
  if (parts.strict && !parts.files.empty()) return strict_manifest(parts);
  json::array manifest;
  if (parts.files.empty()) {
    const std::vector<ManifestFile>& all = parts.item->manifest;
    const std::size_t shown = all.size() > kManifestShownWhole ? kManifestCutTo : all.size();
    for (std::size_t i = 0; i < shown; ++i) manifest.push_back(to_json(all[i]));
    return manifest;
  }
  for (const FileOutcome& file : parts.files) manifest.push_back(to_json(file.file));
  return manifest;
}

void add_platform(json::object& result, const ResultParts& parts) {
  const PlatformItem& item = *parts.item;
  result["platform_name"] = text_or_null(item.platform_name);
  result["platform_domain"] = text_or_null(item.platform_domain);
  result["platform_id"] = text_or_null(item.platform_id);
  result["platform_base_url"] = parts.strict ? json::value() : text_or_null(item.web_base_url);
  result["archiveorg_item_name"] = text_or_null(item.archiveorg_item_name);
  if (item.manifest.empty() && parts.files.empty()) return;
  result["manifest"] = manifest_json(parts);
  const bool listed = parts.files.empty();
  const std::size_t count = listed ? item.manifest.size() : parts.files.size();
  std::int64_t total = listed ? item.total_size() : 0;
  for (const FileOutcome& file : parts.files) {
    total = total_of(total, file.file.size.value_or(0));
  }
  result["file_count"] = count;
  result["total_size"] = total;
  if (parts.strategy.empty()) return;
  result["ingest_strategy"] = parts.strategy;
  if (is_single(parts.strategy)) result["fileset_file"] = single_file(parts);
  if (parts.bundle && !parts.strict) result["fileset_bundle"] = bundle_json(parts);
}

json::value sorted(const json::value& value) {
  if (const json::array* list = value.if_array()) {
    json::array all;
    for (const json::value& one : *list) all.push_back(sorted(one));
    return all;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return value;
  std::vector<std::string_view> keys;
  for (const auto& member : *object) keys.emplace_back(member.key());
  std::ranges::sort(keys);
  json::object all;
  for (const std::string_view key : keys) all.emplace(key, sorted(object->at(key)));
  return all;
}

std::string cut(const std::string& text) {
  const std::string_view begin = std::string_view(text).substr(0, kErrorMessageBytesMax);
  return std::string(begin.substr(0, valid_utf8_prefix(begin)));
}

Result<std::string> text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return Error{Errc::Corrupt, fmt::format("{}: not a text", key)};
  return std::string(value->get_string());
}

std::int64_t number_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

json::object object_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

}  // namespace

bool is_single(std::string_view strategy) {
  return strategy.ends_with("-file");
}
bool is_bundled(std::string_view strategy) {
  return strategy.ends_with("-bundled");
}
bool is_item(std::string_view strategy) {
  return strategy.starts_with("archiveorg-");
}
bool is_kept(std::string_view file_status) {
  return file_status == "success" || file_status == "exists";
}

std::string serialize_sorted(const json::value& value) {
  return json::serialize(sorted(value));
}

std::string overall_status(const std::vector<FileOutcome>& files, const std::string& strategy) {
  bool all_existed = !files.empty();
  for (const FileOutcome& file : files) {
    if (!is_kept(file.file.status)) {
      return file.file.status.empty() ? "not-processed" : file.file.status;
    }
    all_existed &= file.file.status == "exists";
  }
  if (all_existed) return "success-existing";
  return is_single(strategy) ? "success-file" : "success";
}

json::object make_result(const ResultParts& parts) {
  json::object result{
      {"hit", is_hit(parts.status)}, {"status", parts.status}, {"request", parts.request.raw}};
  add_landing(result, parts.landed);
  if (parts.item) add_platform(result, parts);
  if (!parts.message.empty() && !is_hit(parts.status)) result["error_message"] = cut(parts.message);
  return sorted(result).get_object();
}

json::object bad_request(const json::value& given, const std::string& message) {
  const json::object result{{"hit", false},
                            {"status", "bad-request"},
                            {"request", given},
                            {"hops", json::array()},
                            {"error_message", cut(message)}};
  return sorted(result).get_object();
}

std::optional<json::object> file_result(const ResultParts& parts) {
  if (!is_hit(parts.status) || !is_single(parts.strategy) || parts.files.empty()) return {};
  const FileOutcome& only = parts.files.front();
  if (parts.strict && !only.capture) return {};
  json::object request = parts.request.raw;
  request["ingest_type"] = "dataset-file";
  json::object result{{"hit", true}, {"status", "success"}, {"request", request}};
  json::object file = single_file(parts);
  if (json::value* meta = file.if_contains("file_meta")) {
    result["file_meta"] = meta->is_array() ? meta->get_array().at(0) : *meta;
  }
  for (const char* key : {"cdx", "revisit_cdx", "terminal"}) {
    if (file.contains(key)) result[key] = file[key];
  }
  if (only.capture) result["terminal"].as_object()["terminal_sha1hex"] = only.file.sha1;
  json::array& hops = result["hops"].emplace_array();
  for (const std::string& hop : parts.landed.hops) hops.emplace_back(hop);
  return sorted(result).get_object();
}

// -- rows --

json::object to_json(const Capture& capture) {
  return {{"terminal_url", capture.terminal_url},
          {"terminal_dt", capture.terminal_dt},
          {"status_code", capture.status_code},
          {"meta", to_json(capture.meta)},
          {"cdx", capture.cdx},
          {"revisit_cdx", capture.revisit_cdx}};
}

Result<Capture> parse_capture(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Error{Errc::Corrupt, "a capture is not an object"};
  Capture capture;
  TRY_ASSIGN(capture.terminal_url, text_in(*object, "terminal_url"));
  TRY_ASSIGN(capture.terminal_dt, text_in(*object, "terminal_dt"));
  capture.status_code = static_cast<int>(number_in(*object, "status_code"));
  const json::object meta = object_in(*object, "meta");
  capture.meta.size = number_in(meta, "size_bytes");
  TRY_ASSIGN(capture.meta.md5, text_in(meta, "md5hex"));
  TRY_ASSIGN(capture.meta.sha1, text_in(meta, "sha1hex"));
  TRY_ASSIGN(capture.meta.sha256, text_in(meta, "sha256hex"));
  TRY_ASSIGN(capture.meta.mimetype, text_in(meta, "mimetype"));
  capture.cdx = object_in(*object, "cdx");
  capture.revisit_cdx = object_in(*object, "revisit_cdx");
  return capture;
}

json::object to_json(const Landed& landed) {
  json::object object{{"accepted", landed.accepted}, {"html_biblio", landed.html_biblio}};
  json::array& hops = object["hops"].emplace_array();
  for (const std::string& hop : landed.hops) hops.emplace_back(hop);
  if (landed.capture) object["capture"] = to_json(*landed.capture);
  return object;
}

Result<Landed> parse_landed(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Error{Errc::Corrupt, "the landing is not an object"};
  Landed landed;
  if (const json::value* hops = object->if_contains("hops"); hops && hops->is_array()) {
    for (const json::value& hop : hops->get_array()) {
      if (hop.is_string()) landed.hops.emplace_back(hop.get_string());
    }
  }
  if (const json::value* capture = object->if_contains("capture")) {
    TRY_ASSIGN(landed.capture, parse_capture(*capture));
  }
  const json::value* accepted = object->if_contains("accepted");
  landed.accepted = accepted != nullptr && accepted->is_bool() && accepted->get_bool();
  landed.html_biblio = object_in(*object, "html_biblio");
  return landed;
}

}  // namespace quern::fileset

#include "fileset/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/total.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

void set_known(json::object& into, const char* key, const std::string& text) {
  if (!text.empty()) into[key] = text;
}

Result<> read_text(const json::object& from, const char* key, std::string& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_string()) return Error{Errc::Corrupt, fmt::format("{}: not a text", key)};
  into = value->get_string();
  return {};
}

Result<> read_object(const json::object& from, const char* key, json::object& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_object()) return Error{Errc::Corrupt, fmt::format("{}: not an object", key)};
  into = value->get_object();
  return {};
}

struct TextField {
  const char* key;
  std::string ManifestFile::*field;
};
constexpr TextField kFileTexts[] = {
    {"path", &ManifestFile::path},
    {"md5", &ManifestFile::md5},
    {"sha1", &ManifestFile::sha1},
    {"sha256", &ManifestFile::sha256},
    {"mimetype", &ManifestFile::mimetype},
    {"status", &ManifestFile::status},
    {"platform_url", &ManifestFile::platform_url},
    {"terminal_url", &ManifestFile::terminal_url},
    {"terminal_dt", &ManifestFile::terminal_dt},
};

struct ItemField {
  const char* key;
  std::string PlatformItem::*field;
};
constexpr ItemField kItemTexts[] = {
    {"platform_name", &PlatformItem::platform_name},
    {"platform_domain", &PlatformItem::platform_domain},
    {"platform_id", &PlatformItem::platform_id},
    {"archiveorg_item_name", &PlatformItem::archiveorg_item_name},
    {"web_base_url", &PlatformItem::web_base_url},
    {"web_bundle_url", &PlatformItem::web_bundle_url},
};

}  // namespace

json::object to_json(const ManifestFile& file) {
  json::object object;
  for (const TextField& text : kFileTexts) set_known(object, text.key, file.*text.field);
  if (file.size) object["size"] = *file.size;
  if (!file.extra.empty()) object["extra"] = file.extra;
  return object;
}

Result<ManifestFile> parse_manifest_file(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Error{Errc::Corrupt, "a file of the manifest is not an object"};
  ManifestFile file;
  for (const TextField& text : kFileTexts) {
    TRY(read_text(*object, text.key, file.*text.field));
  }
  TRY(read_object(*object, "extra", file.extra));
  if (const json::value* size = object->if_contains("size"); size != nullptr && !size->is_null()) {
    boost::system::error_code failed;
    const auto number = size->to_number<std::int64_t>(failed);
    if (failed || number < 0) return Error{Errc::Corrupt, "size: not a number of bytes"};
    file.size = number;
  }
  return file;
}

std::int64_t PlatformItem::total_size() const {
  std::int64_t total = 0;
  for (const ManifestFile& file : manifest) total = total_of(total, file.size.value_or(0));
  return total;
}

std::int64_t PlatformItem::largest_file() const {
  std::int64_t largest = 0;
  for (const ManifestFile& file : manifest) largest = std::max(largest, file.size.value_or(0));
  return largest;
}

json::object to_json(const PlatformItem& item) {
  json::object object;
  for (const ItemField& text : kItemTexts) set_known(object, text.key, item.*text.field);
  object["archiveorg_item_meta"] = item.archiveorg_item_meta;
  json::array& files = object["manifest"].emplace_array();
  for (const ManifestFile& file : item.manifest) files.push_back(to_json(file));
  return object;
}

Result<PlatformItem> parse_platform_item(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Error{Errc::Corrupt, "the platform's item is not an object"};
  PlatformItem item;
  for (const ItemField& text : kItemTexts) {
    TRY(read_text(*object, text.key, item.*text.field));
  }
  TRY(read_object(*object, "archiveorg_item_meta", item.archiveorg_item_meta));
  const json::value* manifest = object->if_contains("manifest");
  if (manifest == nullptr || !manifest->is_array())
    return Error{Errc::Corrupt, "manifest: no list"};
  for (const json::value& file : manifest->get_array()) {
    TRY_ASSIGN(ManifestFile parsed, parse_manifest_file(file));
    item.manifest.push_back(std::move(parsed));
  }
  return item;
}

}  // namespace quern::fileset

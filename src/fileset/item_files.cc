#include "fileset/item_files.h"

#include "fileset/item_upload.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& file, std::string_view key) {
  const json::value* value = file.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// A text of digits, most of the time.
std::optional<std::int64_t> size_of(const json::object& file) {
  const json::value* value = file.if_contains("size");
  if (value == nullptr) return std::nullopt;
  if (value->is_int64() && value->get_int64() >= 0) return value->get_int64();
  if (!value->is_string()) return std::nullopt;
  const std::string_view digits = value->get_string();
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::int64_t size = 0;
  for (const char c : digits) {
    if (!web::is_digit(c)) return std::nullopt;
    size = size * 10 + (c - '0');
  }
  return size;
}

}  // namespace

Result<std::vector<ManifestFile>> parse_item_files(std::string_view metadata) {
  boost::system::error_code failed;
  const json::value value = json::parse(metadata, failed);
  const json::object* item = failed ? nullptr : value.if_object();
  if (item == nullptr) return Error{Errc::Corrupt, "the item's metadata is no object"};
  std::vector<ManifestFile> files;
  const json::value* list = item->if_contains("files");
  if (list == nullptr || !list->is_array()) return files;
  if (list->get_array().size() > kItemFilesMax) {
    return over_limit("files of an item", static_cast<std::int64_t>(list->get_array().size()),
                      kItemFilesMax, "fileset.item_files_max");
  }
  for (const json::value& element : list->get_array()) {
    const json::object* object = element.if_object();
    if (object == nullptr) continue;
    ManifestFile file;
    file.path = text_of(*object, "name");
    file.size = size_of(*object);
    file.md5 = web::to_lower(text_of(*object, "md5"));
    file.sha1 = web::to_lower(text_of(*object, "sha1"));
    if (!file.path.empty()) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace quern::fileset

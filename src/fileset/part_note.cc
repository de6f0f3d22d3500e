#include "fileset/part_note.h"

#include <array>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "io/file.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

struct TextField {
  const char* key;
  std::string PartNote::*field;
};
constexpr std::array kTexts = {
    TextField{"url", &PartNote::url},
    TextField{"etag", &PartNote::etag},
    TextField{"last_modified", &PartNote::last_modified},
    TextField{"encoding", &PartNote::encoding},
    TextField{"terminal_url", &PartNote::terminal_url},
    TextField{"request_head", &PartNote::request_head},
    TextField{"address", &PartNote::address},
};

Error corrupt() {
  return {Errc::Corrupt, "the note of a part cannot be read"};
}

bool read_number(const json::object& from, const char* key, std::int64_t& into) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return false;
  into = value->get_int64();
  return true;
}

bool read_headers(const json::object& from, web::HeaderList& into) {
  const json::value* value = from.if_contains("headers");
  if (value == nullptr || !value->is_array()) return false;
  for (const json::value& each : value->get_array()) {
    const json::array* pair = each.if_array();
    if (pair == nullptr || pair->size() != 2) return false;
    if (!(*pair)[0].is_string() || !(*pair)[1].is_string()) return false;
    into.emplace_back((*pair)[0].get_string(), (*pair)[1].get_string());
  }
  return true;
}

}  // namespace

std::string to_text(const PartNote& note) {
  json::object object;
  for (const TextField& text : kTexts) object[text.key] = valid_utf8(note.*text.field);
  if (note.total) object["total"] = *note.total;
  object["synced"] = note.synced;
  object["complete"] = note.complete;
  object["answers"] = note.answers;
  object["began_us"] = note.began_us;
  json::array headers;
  for (const auto& [name, value] : note.headers) {
    headers.push_back(json::array{valid_utf8(name), valid_utf8(value)});
  }
  object["headers"] = std::move(headers);
  return json::serialize(object);
}

Result<PartNote> parse_part_note(std::string_view text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  const json::object* const object = failed ? nullptr : value.if_object();
  if (object == nullptr) return corrupt();
  PartNote note;
  for (const TextField& field : kTexts) {
    const json::value* found = object->if_contains(field.key);
    if (found == nullptr || !found->is_string()) return corrupt();
    note.*field.field = found->get_string();
  }
  std::int64_t number = 0;
  if (object->contains("total")) {
    if (!read_number(*object, "total", number)) return corrupt();
    note.total = number;
  }
  const json::value* const complete = object->if_contains("complete");
  if (complete == nullptr || !complete->is_bool()) return corrupt();
  note.complete = complete->get_bool();
  if (!read_number(*object, "answers", number) || number > 1'000'000) return corrupt();
  note.answers = static_cast<int>(number);
  if (!read_number(*object, "synced", note.synced)) return corrupt();
  if (!read_number(*object, "began_us", note.began_us)) return corrupt();
  if (!read_headers(*object, note.headers)) return corrupt();
  return note;
}

std::filesystem::path note_path(const std::filesystem::path& part) {
  return part.native() + ".json";
}

// The note first: it must not speak of bytes that are not there.
Result<> remove_part(const std::filesystem::path& part) {
  const std::string names[] = {note_path(part).filename().native(), part.filename().native()};
  return io::remove_names_durably(part.parent_path(), names);
}

}  // namespace quern::fileset

#include "worker/web_page_data.h"

#include <boost/json.hpp>

#include "base/ascii.h"
#include "base/web_date.h"

namespace quern::worker {
namespace {

namespace json = boost::json;

std::string text_at(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(value->get_string());
}

// "Article", "NewsArticle", "BlogPosting": what is written, not who wrote it or where it stands.
bool is_writing(const json::object& object) {
  const json::value* type = object.if_contains("@type");
  if (type == nullptr) return false;
  const std::string names = json::serialize(*type);
  for (const char* word : {"Article", "Posting", "Report", "WebPage", "Review", "Recipe"}) {
    if (names.find(word) != std::string::npos) return true;
  }
  return false;
}

// A name, a thing with a name, or several.
std::string name_in(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_object()) return text_at(value.get_object(), "name");
  if (!value.is_array()) return "";
  std::string names;
  for (const json::value& one : value.get_array()) {
    const std::string name = one.is_array() ? "" : name_in(one);
    if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void fill(std::string& place, std::string value) {
  if (place.empty()) place = std::move(value);
}

void take(const json::value& value, int depth, PageAbout& about) {
  if (depth > kPageDataDepthMax) return;
  if (value.is_array()) {
    for (const json::value& one : value.get_array()) take(one, depth + 1, about);
    return;
  }
  if (!value.is_object()) return;
  const json::object& object = value.get_object();
  if (is_writing(object)) {
    fill(about.published, iso_date(text_at(object, "datePublished")));
    fill(about.modified, iso_date(text_at(object, "dateModified")));
    fill(about.language, language_tag(text_at(object, "inLanguage")));
    fill(about.description, text_at(object, "description"));
    const json::value* author = object.if_contains("author");
    if (author != nullptr) fill(about.author, name_in(*author));
    const json::value* publisher = object.if_contains("publisher");
    if (publisher != nullptr && publisher->is_object()) fill(about.site_name, name_in(*publisher));
  }
  if (const json::value* graph = object.if_contains("@graph")) take(*graph, depth + 1, about);
}

}  // namespace

void add_data(const std::vector<std::string>& data, PageAbout& about) {
  for (const std::string& text : data) {
    boost::system::error_code failed;
    const json::value value = json::parse(text, failed);
    if (!failed) take(value, 0, about);
  }
}

}  // namespace quern::worker

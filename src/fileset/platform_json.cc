#include "fileset/platform_json.h"

#include <algorithm>
#include <cmath>

#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

// Whole numbers that a double has exactly; no file is larger.
constexpr std::int64_t kSizeMax = 1LL << 53;
constexpr std::size_t kSizeDigitsMax = 16;

std::optional<std::int64_t> size_of_text(std::string_view text) {
  if (!is_digits(text) || text.size() > kSizeDigitsMax) return std::nullopt;
  std::int64_t size = 0;
  for (const char c : text) size = size * 10 + (c - '0');
  return size <= kSizeMax ? std::optional(size) : std::nullopt;
}

}  // namespace

// -- Field --

Field Field::operator[](std::string_view key) const {
  const json::object* members = object();
  return Field(members == nullptr ? nullptr : members->if_contains(key));
}

Field Field::first() const {
  const json::array* values = list();
  return values == nullptr || values->empty() ? Field() : Field(values->front());
}

bool Field::is_true() const {
  if (value_ == nullptr) return false;
  if (value_->is_bool()) return value_->get_bool();
  return value_->is_string() && web::to_lower(std::string_view(value_->get_string())) == "true";
}

bool Field::is_false() const {
  return value_ != nullptr && value_->is_bool() && !value_->get_bool();
}

const json::object* Field::object() const {
  return value_ == nullptr ? nullptr : value_->if_object();
}

const json::array* Field::list() const {
  return value_ == nullptr ? nullptr : value_->if_array();
}

std::vector<Field> Field::each() const {
  std::vector<Field> all;
  if (const json::array* values = list()) {
    for (const json::value& value : *values) all.emplace_back(value);
  } else if (is_known()) {
    all.push_back(*this);
  }
  return all;
}

std::string Field::text() const {
  if (value_ == nullptr || !value_->is_string()) return "";
  return std::string(std::string_view(value_->get_string()));
}

std::string Field::id() const {
  if (value_ == nullptr) return "";
  if (value_->is_int64()) return std::to_string(value_->get_int64());
  if (value_->is_uint64()) return std::to_string(value_->get_uint64());
  return text();
}

std::string Field::trimmed() const {
  return trim(text());
}

std::optional<std::int64_t> Field::size() const {
  if (value_ == nullptr) return std::nullopt;
  if (value_->is_string()) return size_of_text(std::string_view(value_->get_string()));
  if (const double* number = value_->if_double()) {
    if (!(*number >= 0 && *number <= static_cast<double>(kSizeMax))) return std::nullopt;
    if (std::floor(*number) != *number) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }
  if (!value_->is_int64()) return std::nullopt;
  const std::int64_t number = value_->get_int64();
  return number >= 0 && number <= kSizeMax ? std::optional(number) : std::nullopt;
}

// -- Text --

std::string trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length &&
         std::ranges::all_of(text, [](char c) { return web::hex_value(c) >= 0; });
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return web::is_digit(c); });
}

// -- Checksums --

void take_checksum(ManifestFile& file, std::string_view kind, std::string_view value) {
  std::string name = web::to_lower(trim(kind));
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  const std::string digest = web::to_lower(trim(value));
  const auto is = [&](std::string_view wanted, std::size_t length) {
    return is_hex(digest, length) && (name == wanted || name.empty());
  };
  if (is("md5", 32)) {
    file.md5 = digest;
  } else if (is("sha1", 40)) {
    file.sha1 = digest;
  } else if (is("sha256", 64)) {
    file.sha256 = digest;
  } else if (!name.empty() && !digest.empty()) {
    file.extra["checksum"] = name + ":" + digest;
  }
}

void take_checksum(ManifestFile& file, std::string_view prefixed) {
  const std::size_t colon = prefixed.find(':');
  if (colon == std::string_view::npos) {
    take_checksum(file, "", prefixed);
  } else {
    take_checksum(file, prefixed.substr(0, colon), prefixed.substr(colon + 1));
  }
}

void set_known(json::object& into, std::string_view key, Field value) {
  if (value.is_known()) into[key] = *value.value();
}

void set_known(json::object& into, std::string_view key, const std::string& text) {
  if (!text.empty()) into[key] = text;
}

}  // namespace quern::fileset

// Field: a value somewhere in the answer of somebody else's API. It may be missing or of any type;
// asking it for something else gives nothing. Nothing here throws.
//
// Lifetime: refers to the answer.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fileset/manifest.h"

namespace quern::fileset {

class Field {
 public:
  Field() = default;
  explicit Field(const boost::json::value* value) : value_(value) {}
  explicit Field(const boost::json::value& value) : value_(&value) {}

  // The member of an object; nothing where it is no object or has none.
  Field operator[](std::string_view key) const;
  Field first() const;  // of a list

  bool is_there() const { return value_ != nullptr; }  // null is there, too
  bool is_known() const { return value_ != nullptr && !value_->is_null(); }
  bool is_true() const;   // true, or the text "true"
  bool is_false() const;  // false
  const boost::json::object* object() const;
  const boost::json::array* list() const;
  // What a list has; of one value, that.
  std::vector<Field> each() const;
  std::string text() const;     // of a text, else empty
  std::string id() const;       // of a text or a whole number, else empty
  std::string trimmed() const;  // text() without blanks around it
  // A whole number, 0 to 2^53, also as a text of digits or a number like 12.0.
  std::optional<std::int64_t> size() const;
  const boost::json::value* value() const { return value_; }

 private:
  const boost::json::value* value_ = nullptr;
};

std::string trim(std::string_view text);
// Whether it is so many characters of hex, in any case.
bool is_hex(std::string_view text, std::size_t length);
bool is_digits(std::string_view text);

// Takes a digest by its name ("MD5", "sha-256", "SHA1") where it can be one; what is of another
// kind is kept in extra.checksum. Empty names go by length.
void take_checksum(ManifestFile& file, std::string_view kind, std::string_view value);
// "md5:…", "sha256:…", or the digest alone.
void take_checksum(ManifestFile& file, std::string_view prefixed);

// Sets what is there, as it is: text or null.
void set_known(boost::json::object& into, std::string_view key, Field value);
void set_known(boost::json::object& into, std::string_view key, const std::string& text);

}  // namespace quern::fileset

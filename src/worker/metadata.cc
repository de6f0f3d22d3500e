#include "worker/metadata.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/utf8.h"

namespace quern::worker {
namespace json = boost::json;
namespace {

// Controls are blanks, and there are none at its ends.
std::string one_line(std::string_view value) {
  std::string line;
  for (const char c : value) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() > kMetadataBytesMax) {
    line.resize(kMetadataBytesMax);
    line.resize(valid_utf8_prefix(line));
  }
  return valid_utf8(line);
}

std::string_view digits_of(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  return text.substr(0, n);
}

// "-04'00'", "+0100" and "Z".
std::string zone_of(std::string_view text) {
  if (text.empty()) return "";
  if (text[0] == 'Z') return "Z";
  if (text[0] != '+' && text[0] != '-') return "";
  std::string digits;
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9' && digits.size() < 4) digits += c;
  }
  digits.resize(4, '0');
  return text[0] + digits;
}

}  // namespace

Metadata::Metadata(const std::string& known) {
  boost::system::error_code failed;
  json::value parsed = json::parse(known, failed);
  if (!failed && parsed.is_object()) object_ = std::move(parsed.get_object());
}

void Metadata::add(std::string_view key, std::string_view value) {
  const std::string line = one_line(value);
  if (!line.empty()) object_.emplace(key, line);  // does nothing where the key is there
}

void Metadata::set(std::string_view key, std::int64_t value) {
  object_[key] = value;
}

void Metadata::set_true(std::string_view key) {
  object_[key] = true;
}

std::string Metadata::json() const {
  return json::serialize(object_);
}

std::string pdf_date(std::string_view date) {
  std::string_view rest = date;
  if (rest.starts_with("D:")) rest.remove_prefix(2);
  const std::string_view digits = digits_of(rest);
  if (digits.size() != 8 && digits.size() != 12 && digits.size() != 14) return std::string(date);
  std::string iso =
      fmt::format("{}-{}-{}", digits.substr(0, 4), digits.substr(4, 2), digits.substr(6, 2));
  if (digits.size() == 8) return iso;
  const std::string_view seconds = digits.size() == 14 ? digits.substr(12, 2) : "00";
  iso += fmt::format("T{}:{}:{}", digits.substr(8, 2), digits.substr(10, 2), seconds);
  return iso + zone_of(rest.substr(digits.size()));
}

}  // namespace quern::worker

#include "base/xml_scanner.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/xml_text.h"

namespace quern {
namespace {

constexpr std::string_view kData = "<![CDATA[";
constexpr std::string_view kNote = "<!--";

bool ends_name(char c) {
  return is_blank(c) || c == '/' || c == '>' || c == '=' || c == '<';
}

// Behind the last colon.
std::string_view without_prefix(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string_view take_name(std::string_view& text) {
  const auto* end = std::ranges::find_if(text, ends_name);
  const std::string_view name(text.begin(), end);
  text.remove_prefix(name.size());
  return name;
}

// The value behind "=", with its quotes or without.
std::string_view take_value(std::string_view& text) {
  const char quote = text.empty() ? ' ' : text[0];
  if (quote == '"' || quote == '\'') {
    text.remove_prefix(1);
    return take_until(text, quote);
  }
  const std::size_t end = std::min(text.find_first_of(" \t\r\n\f"), text.size());
  const std::string_view value = text.substr(0, end);
  text.remove_prefix(end);
  return value;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
}

}  // namespace

XmlScanner::Token XmlScanner::next() {
  while (at_ < xml_.size()) {
    const std::string_view rest = xml_.substr(at_);
    if (rest[0] != '<') return take_text();
    if (rest.starts_with(kData)) return take_data();
    if (rest.starts_with(kNote)) {
      if (!skip_past("-->")) break;
    } else if (rest.starts_with("<?")) {
      if (!skip_past("?>")) break;
    } else if (rest.starts_with("<!")) {
      if (!skip_declaration()) break;
    } else {
      return take_tag();
    }
  }
  at_ = xml_.size();
  return Token::End;
}

XmlScanner::Token XmlScanner::take_text() {
  const std::size_t end = std::min(xml_.find('<', at_), xml_.size());
  text_ = xml_.substr(at_, end - at_);
  is_data_ = false;
  at_ = end;
  return Token::Text;
}

XmlScanner::Token XmlScanner::take_data() {
  const std::size_t begin = at_ + kData.size();
  const std::size_t end = std::min(xml_.find("]]>", begin), xml_.size());
  text_ = xml_.substr(begin, end - begin);
  is_data_ = true;
  at_ = std::min(end + 3, xml_.size());
  return Token::Text;
}

XmlScanner::Token XmlScanner::take_tag() {
  const std::size_t end = end_of_tag();
  if (end == std::string_view::npos) {
    at_ = xml_.size();
    return Token::End;
  }
  std::string_view tag = xml_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  const bool closes = tag.starts_with('/');
  if (closes) tag.remove_prefix(1);
  is_empty_ = !closes && tag.ends_with('/');
  if (is_empty_) tag.remove_suffix(1);
  const std::string_view whole = take_name(tag);
  name_ = without_prefix(whole);
  prefix_ = whole.substr(0, whole.size() - name_.size());
  if (!prefix_.empty()) prefix_.remove_suffix(1);
  attributes_ = tag;
  return closes ? Token::Close : Token::Open;
}

// A ">" between quotes ends nothing. A tag that begins before this one ends was none.
std::size_t XmlScanner::end_of_tag() const {
  char quote = '\0';
  for (std::size_t i = at_ + 1; i < xml_.size(); ++i) {
    const char c = xml_[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '>') {
      return i;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  // A quote that nobody closes: without it.
  return xml_.find('>', at_);
}

bool XmlScanner::skip_past(std::string_view end) {
  const std::size_t found = xml_.find(end, at_ + 2);
  if (found == std::string_view::npos) return false;
  at_ = found + end.size();
  return true;
}

// "<!DOCTYPE x [ <!ENTITY ...> ]>"
bool XmlScanner::skip_declaration() {
  int brackets = 0;
  for (std::size_t i = at_; i < xml_.size(); ++i) {
    if (xml_[i] == '[') ++brackets;
    if (xml_[i] == ']') --brackets;
    if (xml_[i] != '>' || brackets > 0) continue;
    at_ = i + 1;
    return true;
  }
  return false;
}

std::string XmlScanner::attribute(std::string_view name) const {
  std::string_view rest = attributes_;
  for (;;) {
    skip_blanks(rest);
    if (rest.empty()) return "";
    const std::string_view found = without_prefix(take_name(rest));
    skip_blanks(rest);
    if (!rest.starts_with('=')) {
      if (found.empty() && !rest.empty()) rest.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(1);
    skip_blanks(rest);
    const std::string_view value = take_value(rest);
    if (equals_ignoring_case(found, name)) return xml_text(value);
  }
}

std::string XmlScanner::text() const {
  return is_data_ ? std::string(text_) : xml_text(text_);
}

}  // namespace quern

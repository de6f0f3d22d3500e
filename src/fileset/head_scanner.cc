#include "fileset/head_scanner.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"
#include "fileset/biblio.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

using std::literals::operator""sv;

constexpr std::size_t kReferenceBytesMax = 12;
constexpr std::size_t kTagNameBytesMax = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

void append_utf8(std::string& to, std::uint32_t c) {
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xC0 | c >> 6);
    to += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    to += static_cast<char>(0xE0 | c >> 12);
    to += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    to += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    to += static_cast<char>(0xF0 | c >> 18);
    to += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    to += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    to += static_cast<char>(0x80 | (c & 0x3F));
  }
}

struct Entity {
  std::string_view name;
  std::uint32_t character;
};
constexpr std::array kEntities = {
    Entity{"amp", '&'},       Entity{"lt", '<'},       Entity{"gt", '>'},
    Entity{"quot", '"'},      Entity{"apos", '\''},    Entity{"nbsp", 0xA0},
    Entity{"ndash", 0x2013},  Entity{"mdash", 0x2014}, Entity{"lsquo", 0x2018},
    Entity{"rsquo", 0x2019},  Entity{"ldquo", 0x201C}, Entity{"rdquo", 0x201D},
    Entity{"hellip", 0x2026}, Entity{"copy", 0xA9},    Entity{"reg", 0xAE},
    Entity{"trade", 0x2122},  Entity{"deg", 0xB0},     Entity{"micro", 0xB5},
    Entity{"times", 0xD7},    Entity{"middot", 0xB7},  Entity{"aacute", 0xE1},
    Entity{"agrave", 0xE0},   Entity{"acirc", 0xE2},   Entity{"atilde", 0xE3},
    Entity{"auml", 0xE4},     Entity{"aring", 0xE5},   Entity{"aelig", 0xE6},
    Entity{"ccedil", 0xE7},   Entity{"eacute", 0xE9},  Entity{"egrave", 0xE8},
    Entity{"ecirc", 0xEA},    Entity{"euml", 0xEB},    Entity{"iacute", 0xED},
    Entity{"icirc", 0xEE},    Entity{"iuml", 0xEF},    Entity{"ntilde", 0xF1},
    Entity{"oacute", 0xF3},   Entity{"ograve", 0xF2},  Entity{"ocirc", 0xF4},
    Entity{"otilde", 0xF5},   Entity{"ouml", 0xF6},    Entity{"oslash", 0xF8},
    Entity{"uacute", 0xFA},   Entity{"ugrave", 0xF9},  Entity{"ucirc", 0xFB},
    Entity{"uuml", 0xFC},     Entity{"yacute", 0xFD},  Entity{"szlig", 0xDF},
    Entity{"Aacute", 0xC1},   Entity{"Auml", 0xC4},    Entity{"Aring", 0xC5},
    Entity{"Ccedil", 0xC7},   Entity{"Eacute", 0xC9},  Entity{"Ntilde", 0xD1},
    Entity{"Oacute", 0xD3},   Entity{"Ouml", 0xD6},    Entity{"Oslash", 0xD8},
    Entity{"Uuml", 0xDC},     Entity{"alpha", 0x3B1},  Entity{"beta", 0x3B2},
    Entity{"gamma", 0x3B3},   Entity{"delta", 0x3B4},  Entity{"mu", 0x3BC},
};

// The character of "&…;" at the beginning, and how many bytes that is; 0 where it is none.
std::size_t reference_at(std::string_view text, std::uint32_t& character) {
  const std::size_t end = text.substr(0, kReferenceBytesMax).find(';');
  if (end == std::string_view::npos || end < 2) return 0;
  const std::string_view name = text.substr(1, end - 1);
  if (name.front() != '#') {
    const auto* const found = std::ranges::find(kEntities, name, &Entity::name);
    if (found == kEntities.end()) return 0;
    character = found->character;
    return end + 1;
  }
  const bool hex = name.size() > 2 && (name[1] == 'x' || name[1] == 'X');
  const std::string_view digits = name.substr(hex ? 2 : 1);
  if (digits.empty()) return 0;
  std::uint64_t value = 0;
  for (const char c : digits) {
    const int digit = web::hex_value(static_cast<unsigned char>(c));
    if (digit < 0 || (!hex && digit > 9)) return 0;
    value = value * (hex ? 16 : 10) + static_cast<std::uint64_t>(digit);
  }
  character = static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF));
  return end + 1;
}

// Elements of a head; another one begins the body.
constexpr std::array kHeadElements = {"html"sv, "head"sv,  "meta"sv,   "link"sv,     "title"sv,
                                      "base"sv, "style"sv, "script"sv, "noscript"sv, "template"sv};
// Their text is not looked at.
constexpr std::array kTextElements = {"title"sv, "style"sv, "script"sv, "template"sv};

bool has(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

std::size_t find_ignoring_case(std::string_view text, std::string_view wanted) {
  const auto found =
      std::search(text.begin(), text.end(), wanted.begin(), wanted.end(),
                  [](char a, char b) { return web::to_lower(a) == web::to_lower(b); });
  return found == text.end() ? std::string_view::npos
                             : static_cast<std::size_t>(found - text.begin());
}

}  // namespace

std::string without_references(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t character = 0;
    const std::size_t bytes = text[at] == '&' ? reference_at(text.substr(at), character) : 0;
    if (bytes == 0) {
      out += text[at++];
    } else {
      append_utf8(out, character);
      at += bytes;
    }
  }
  return valid_utf8(out);
}

std::string_view HeadTag::find(std::string_view attribute) const {
  const auto found = std::ranges::find_if(
      attributes, [attribute](const auto& pair) { return pair.first == attribute; });
  return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

// To the "<" of a tag, over blanks, comments and declarations. False where something else comes.
bool HeadScanner::skip_to_tag() {
  if (left_.starts_with("\xEF\xBB\xBF")) left_.remove_prefix(3);
  for (;;) {
    while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
    if (left_.size() < 2 || left_.front() != '<') return false;
    std::string_view end;
    if (left_.starts_with("<!--")) {
      end = "-->";
    } else if (left_[1] == '!' || left_[1] == '?') {
      end = ">";
    } else {
      return true;
    }
    const std::size_t at = left_.find(end, 2);
    if (at == std::string_view::npos) return false;
    left_.remove_prefix(at + end.size());
  }
}

void HeadScanner::skip_text_of(std::string_view element) {
  const std::size_t at = find_ignoring_case(left_, "</" + std::string(element));
  left_.remove_prefix(std::min(at, left_.size()));
}

std::string HeadScanner::read_value() {
  while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
  if (left_.empty()) return {};
  std::size_t size = 0;
  std::string_view value;
  if (const char quote = left_.front(); quote == '"' || quote == '\'') {
    left_.remove_prefix(1);
    size = std::min(left_.find(quote), left_.size());
    value = left_.substr(0, size);
    left_.remove_prefix(std::min(size + 1, left_.size()));
  } else {
    while (size < left_.size() && !is_blank(left_[size]) && left_[size] != '>') ++size;
    value = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  return without_references(value.substr(0, kMetaTextBytesMax));
}

void HeadScanner::read_attributes(HeadTag& tag) {
  for (;;) {
    while (!left_.empty() && (is_blank(left_.front()) || left_.front() == '/')) {
      left_.remove_prefix(1);
    }
    if (left_.empty()) return;
    if (left_.front() == '>') {
      left_.remove_prefix(1);
      return;
    }
    std::size_t size = 1;  // a "=" may begin a name
    while (size < left_.size() && !is_blank(left_[size]) && left_[size] != '=' &&
           left_[size] != '>' && left_[size] != '/') {
      ++size;
    }
    std::string name = web::to_lower(left_.substr(0, std::min(size, kTagNameBytesMax)));
    left_.remove_prefix(size);
    while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
    std::string value;
    if (!left_.empty() && left_.front() == '=') {
      left_.remove_prefix(1);
      value = read_value();
    }
    if (tag.attributes.size() < kAttributesMax) {
      tag.attributes.emplace_back(std::move(name), std::move(value));
    }
  }
}

bool HeadScanner::next(HeadTag& tag) {
  if (!skip_to_tag()) return false;
  tag = {};
  left_.remove_prefix(1);
  tag.end = left_.front() == '/';
  if (tag.end) left_.remove_prefix(1);
  std::size_t size = 0;
  while (size < left_.size() && !is_blank(left_[size]) && left_[size] != '>' &&
         left_[size] != '/') {
    ++size;
  }
  tag.name = web::to_lower(left_.substr(0, std::min(size, kTagNameBytesMax)));
  left_.remove_prefix(size);
  read_attributes(tag);
  if (!has(kHeadElements, tag.name) || (tag.end && tag.name == "head")) return false;
  if (!tag.end && has(kTextElements, tag.name)) skip_text_of(tag.name);
  return true;
}

}  // namespace quern::fileset

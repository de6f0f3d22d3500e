#include "base/xml_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace quern {
namespace {

constexpr std::size_t kReferenceBytesMax = 12;

void append_scalar(std::string& text, std::uint32_t c) {
  if (c < 0x20 && c != '\n' && c != '\t') return;
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return;
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    text += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// "lt", "#233", "#xE9"; false where nobody knows it.
bool append_reference(std::string& text, std::string_view name) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name != known) continue;
    text += character;
    return true;
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool hex = name.starts_with('x') || name.starts_with('X');
  if (hex) name.remove_prefix(1);
  std::uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != name.data() + name.size()) return false;
  append_scalar(text, value);
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view xml) : xml_(xml) {}

  std::string run() {
    while (at_ < xml_.size()) {
      if (xml_[at_] == '<') {
        skip_mark();
      } else if (xml_[at_] == '&') {
        take_reference();
      } else {
        text_ += xml_[at_++];
      }
    }
    return std::move(text_);
  }

 private:
  void skip_mark() {
    constexpr std::string_view kData = "<![CDATA[";
    constexpr std::string_view kNote = "<!--";
    const std::string_view rest = xml_.substr(at_);
    if (rest.starts_with(kData)) {
      take_until(kData, "]]>");
      return;
    }
    if (rest.starts_with(kNote)) {
      take_until(kNote, "-->");
      return;
    }
    const std::size_t end = rest.find('>');
    at_ = end == std::string_view::npos ? xml_.size() : at_ + end + 1;
    text_ += ' ';
  }

  // What stands between the two, as it is.
  void take_until(std::string_view open, std::string_view close) {
    const std::string_view rest = xml_.substr(at_ + open.size());
    const std::size_t end = std::min(rest.find(close), rest.size());
    text_ += rest.substr(0, end);
    at_ = std::min(at_ + open.size() + end + close.size(), xml_.size());
  }

  void take_reference() {
    const std::string_view rest = xml_.substr(at_ + 1, kReferenceBytesMax);
    const std::size_t end = rest.find(';');
    if (end != std::string_view::npos && append_reference(text_, rest.substr(0, end))) {
      at_ += end + 2;
    } else {
      text_ += xml_[at_++];
    }
  }

  std::string_view xml_;
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

bool begins_as_xml(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view rest = text.substr(begin);
  return rest.starts_with("<?xml") || rest.starts_with("<!DOCTYPE ");
}

std::string xml_text(std::string_view xml) {
  return Reader(xml).run();
}

}  // namespace quern

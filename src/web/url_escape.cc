#include "web/url_escape.h"

namespace quern::web {

bool must_escape(unsigned char c, EscapeSet set) {
  if (c < 0x20 || c > 0x7E) return true;
  std::string_view more;
  switch (set) {
    case EscapeSet::Control:
      break;
    case EscapeSet::Fragment:
      more = " \"<>`";
      break;
    case EscapeSet::Query:
      more = " \"#<>";
      break;
    case EscapeSet::SpecialQuery:
      more = " \"#<>'";
      break;
    case EscapeSet::Path:
      more = " \"#<>?^`{}";
      break;
    case EscapeSet::Userinfo:
      more = " \"#<>?^`{}/:;=@[\\]|";
      break;
  }
  return more.find(static_cast<char>(c)) != std::string_view::npos;
}

void append_escaped(std::string& to, unsigned char c) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  to += '%';
  to += kDigits[c >> 4];
  to += kDigits[c & 15];
}

void append_escaped(std::string& to, std::string_view text, EscapeSet set) {
  for (const char c : text) {
    if (must_escape(static_cast<unsigned char>(c), set)) {
      append_escaped(to, static_cast<unsigned char>(c));
    } else {
      to += c;
    }
  }
}

int hex_value(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<unsigned char> escape_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '%' || text.size() - at < 3) return std::nullopt;
  const int high = hex_value(text[at + 1]);
  const int low = hex_value(text[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

std::string undo_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto byte = escape_at(text, i)) {
      out += static_cast<char>(*byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

}  // namespace quern::web

// Percent escapes: the sets of the URL standard, and undoing them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::web {

// Which characters are escaped; each set holds the one before it but for Fragment.
enum class EscapeSet { Control, Fragment, Query, SpecialQuery, Path, Userinfo };

bool must_escape(unsigned char c, EscapeSet set);
void append_escaped(std::string& to, unsigned char c);  // "%2F"
void append_escaped(std::string& to, std::string_view text, EscapeSet set);
// The byte of an escape that begins at `at`; nothing where none does.
std::optional<unsigned char> escape_at(std::string_view text, std::size_t at);
std::string undo_escapes(std::string_view text);

inline bool is_digit(int c) {
  return c >= '0' && c <= '9';
}
inline bool is_alpha(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// 0 to 15, or -1.
int hex_value(int c);
inline char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
std::string to_lower(std::string_view text);

}  // namespace quern::web

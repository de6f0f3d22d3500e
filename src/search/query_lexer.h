// The marks and words of a query, in their order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::search {

struct Lexeme {
  enum class Kind : std::uint8_t {
    Open,    // (
    Close,   // )
    Minus,   // - directly before what is not wanted
    Or,      // in capitals, alone
    And,     // the same
    Not,     // the same
    Name,    // of a field, without its colon; its value is the next one
    Word,    // up to a blank, a quote or a parenthesis
    Quoted,  // without its quotes
  };
  Kind kind = Kind::Word;
  bool star = false;      // a '*' stands behind it
  std::string_view text;  // without the star
  std::string_view raw;   // of a name: with its value, as it was written
};

// Of fields, "title" and the like; `name` in any case.
enum class FieldName : std::uint8_t {
  None,
  Title,
  Filename,
  Author,
  From,
  Type,
  Date,
  Path,
  Collection,
  Dataset,
  InIa
};
FieldName find_field(std::string_view name);
inline bool is_filter(FieldName name) {
  return name >= FieldName::Type;
}

// Views into the text. Any text will do.
std::vector<Lexeme> lex_query(std::string_view text);

}  // namespace quern::search

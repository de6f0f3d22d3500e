// Letters: what a character is to the cutter of words, and what it is folded to.
//
// Threads: fold_letter is safe anywhere; a LetterCache belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::search {

// U+FDFA is the longest: a whole sentence in one character.
inline constexpr std::size_t kFoldedMax = 18;

struct Letter {
  enum class Kind : std::uint8_t {
    Gap,         // stands between words
    Letter,      // of a word, with the marks that belong to it
    Digit,       // of a word, too
    Pairing,     // of a script without blanks
    Symbol,      // an emoji: a word of its own
    Apostrophe,  // nothing between letters, a gap elsewhere
    Dropped,     // an accent or an invisible character: nothing, but it ends no word
  };
  char32_t from = 0xffffffff;
  Kind kind = Kind::Gap;
  std::uint8_t size = 0;
  std::array<char32_t, kFoldedMax> to = {};
};

Letter fold_letter(char32_t character);
// Two characters that are written as one (jamo of a syllable, a kana and its voicing); 0: none.
char32_t composed(char32_t first, char32_t second);
// Bytes that were written: at most 4.
std::size_t write_utf8(char32_t character, char* to);

// The characters of a text are mostly the same few.
class LetterCache {
 public:
  LetterCache() : letters_(kSize) {}
  const Letter& operator[](char32_t character) {
    Letter& letter = letters_[character % kSize];
    if (letter.from != character) letter = fold_letter(character);
    return letter;
  }

 private:
  static constexpr std::size_t kSize = 1024;
  std::vector<Letter> letters_;
};

}  // namespace quern::search

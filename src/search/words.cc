#include "search/words.h"

#include <libstemmer.h>
#include <unicode/utf8.h>

#include <array>
#include <cstring>

#include "base/check.h"
#include "search/letter.h"

namespace quern::search {
namespace {

using Kind = Letter::Kind;

// What an ASCII character is folded to; 0: it is a gap.
constexpr std::array<char, 128> kAscii = [] {
  std::array<char, 128> table = {};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<std::size_t>(c)] = c;
    table[static_cast<std::size_t>(c - 'a' + 'A')] = c;
  }
  return table;
}();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// Snowball's English, with the stems of the words that came last. A hit costs a tenth of a stem.
class Stemmer {
 public:
  // A folded word of ASCII letters; the answer is good until the next call.
  std::string_view stem(std::string_view word) {
    if (word.size() < kBytesMin || word.size() > kBytesMax) return word;
    Entry key;
    std::memcpy(key.word.data(), word.data(), word.size());
    const std::uint64_t mixed = (key.word[0] * 0x9e3779b97f4a7c15U) ^
                                (key.word[1] * 0xc2b2ae3d27d4eb4fU) ^
                                (key.word[2] * 0x165667b19e3779f9U);
    if (entries_.empty()) entries_.resize(kEntries);
    Entry& entry = entries_[(mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9U >> kShift];
    if (entry.word != key.word) {
      fill(key, word);
      entry = key;
    }
    return {entry.stem.data(), entry.bytes};
  }

 private:
  static constexpr std::size_t kBytesMin = 3;
  static constexpr std::size_t kBytesMax = 23;
  static constexpr std::size_t kShift = 64 - 14;
  static constexpr std::size_t kEntries = std::size_t{1} << (64 - kShift);
  struct Entry {
    std::array<std::uint64_t, 3> word = {};  // its bytes, then zeros
    std::array<char, kBytesMax> stem = {};
    std::uint8_t bytes = 0;
  };

  void fill(Entry& entry, std::string_view word) {
    const sb_symbol* stem =
        sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                        static_cast<int>(word.size()));
    const int length = stem == nullptr ? 0 : sb_stemmer_length(stemmer_.get());
    // A stem is never longer, but it is not for us to trust that.
    std::string_view found = word;
    if (length > 0 && length <= static_cast<int>(kBytesMax)) {
      found = {reinterpret_cast<const char*>(stem), static_cast<std::size_t>(length)};
    }
    entry.bytes = static_cast<std::uint8_t>(found.size());
    std::memcpy(entry.stem.data(), found.data(), found.size());
  }

  std::unique_ptr<sb_stemmer, StemmerDeleter> stemmer_{sb_stemmer_new("english", "UTF_8")};
  std::vector<Entry> entries_;  // made with the first stem: who only queries needs none
};

bool is_plain(std::string_view word) {
  for (const char c : word) {
    if (c < 'a' || c > 'z') return false;
  }
  return true;
}

}  // namespace

struct WordCutter::State {
  std::string_view text;
  std::size_t at = 0;
  LetterCache letters;
  Stemmer stemmer;

  // The word in hand.
  std::array<char, kTokenBytesMax> word = {};
  std::size_t bytes = 0;
  std::size_t last_at = 0;  // of its last character
  char32_t last = 0;
  bool full = false;
  bool plain = false;      // letters of ASCII only: it has a stem
  bool in_letter = false;  // what came last was a letter, no digit
  std::string_view pending;
  Token whole;  // whose stem is pending

  // The run of pairs in hand.
  struct Unit {
    char32_t letter = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  bool in_run = false;
  Unit left;
  Letter rest;  // a character that became several letters
  std::size_t rest_at = 0;
  Unit rest_span;

  char32_t decode(std::size_t& place) const {
    UChar32 c = 0;
    U8_NEXT(text.data(), place, text.size(), c);
    return c < 0 ? char32_t{0xffffffff} : static_cast<char32_t>(c);
  }

  void append(char32_t character);
  bool letter_at(std::size_t place);
  bool take_wide(std::size_t& end);
  void take_word(Token& token);
  bool begin_wide(Token& token);
  bool take_unit(Unit& unit);
  void take_marks(Unit& unit);
  void take_pair(Token& token);
  bool next(Token& token);
};

void WordCutter::State::append(char32_t character) {
  if (const char32_t both = bytes > 0 ? composed(last, character) : 0; both != 0 && !full) {
    bytes = last_at;
    character = both;
  }
  std::array<char, 4> encoded = {};
  const std::size_t size = write_utf8(character, encoded.data());
  full = full || bytes + size > word.size();
  if (full) return;
  std::memcpy(word.data() + bytes, encoded.data(), size);
  last_at = bytes;
  last = character;
  bytes += size;
}

bool WordCutter::State::letter_at(std::size_t place) {
  if (place >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[place]);
  if (byte < 0x80) return kAscii[byte] != 0 && !is_digit(text[place]);
  return letters[decode(place)].kind == Kind::Letter;
}

// The next character of a word, beyond ASCII; false: the word ends before it.
bool WordCutter::State::take_wide(std::size_t& end) {
  std::size_t place = at;
  const Letter& letter = letters[decode(place)];
  switch (letter.kind) {
    case Kind::Letter:
    case Kind::Digit:
      plain = false;
      in_letter = letter.kind == Kind::Letter;
      for (std::size_t i = 0; i < letter.size; ++i) append(letter.to[i]);
      break;
    case Kind::Dropped:
      break;
    case Kind::Apostrophe:
      if (!in_letter || !letter_at(place)) return false;
      break;
    default:
      return false;
  }
  at = end = place;
  return true;
}

// At a letter or digit: the whole word.
void WordCutter::State::take_word(Token& token) {
  const std::size_t begin = at;
  std::size_t end = at;
  bytes = 0;
  full = in_letter = false;
  plain = true;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      if (!take_wide(end)) break;
      continue;
    }
    const char folded = kAscii[byte];
    if (folded == 0) {
      if (byte != '\'' || !in_letter || !letter_at(at + 1)) break;
      ++at;
      continue;
    }
    in_letter = !is_digit(folded);
    plain = plain && in_letter;
    if (bytes < word.size() && !full) {
      last_at = bytes;
      last = static_cast<unsigned char>(folded);
      word[bytes++] = folded;
    } else {
      full = true;
    }
    end = ++at;
  }
  token = {{word.data(), bytes}, begin, end, Token::Kind::Word};
  // A word of letters with accents has a stem once they are gone.
  if (!plain) plain = is_plain(token.text);
  if (!plain) return;
  const std::string_view stem = stemmer.stem(token.text);
  if (stem == token.text) return;
  pending = stem;
  whole = token;
}

// Marks behind a letter of a run: a voicing makes another letter of it, others are dropped.
void WordCutter::State::take_marks(Unit& unit) {
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80) {
    std::size_t place = at;
    const Letter& letter = letters[decode(place)];
    if (letter.kind != Kind::Dropped) return;
    const char32_t both = letter.size == 1 ? composed(unit.letter, letter.to[0]) : 0;
    if (both != 0) unit.letter = both;
    at = unit.end = place;
  }
}

// The next letter of a run of pairs; false: it has ended.
bool WordCutter::State::take_unit(Unit& unit) {
  if (rest_at >= rest.size) {
    if (at >= text.size() || static_cast<unsigned char>(text[at]) < 0x80) return false;
    std::size_t place = at;
    const Letter& letter = letters[decode(place)];
    if (letter.kind != Kind::Pairing) return false;
    rest = letter;
    rest_at = 0;
    rest_span = {0, at, place};
    at = place;
  }
  unit = rest_span;
  unit.letter = rest.to[rest_at++];
  if (rest_at == rest.size) take_marks(unit);
  return true;
}

void WordCutter::State::take_pair(Token& token) {
  Unit right;
  bytes = write_utf8(left.letter, word.data());
  in_run = take_unit(right);
  if (!in_run) {
    token = {{word.data(), bytes}, left.begin, left.end, Token::Kind::Last};
    return;
  }
  bytes += write_utf8(right.letter, word.data() + bytes);
  token = {{word.data(), bytes}, left.begin, right.end, Token::Kind::Pair};
  left = right;
}

// Beyond ASCII, between words: true where a token begins and ends here, else the character is
// skipped, or left where a word begins with it.
bool WordCutter::State::begin_wide(Token& token) {
  std::size_t place = at;
  const Letter& letter = letters[decode(place)];
  switch (letter.kind) {
    case Kind::Letter:
    case Kind::Digit:
      take_word(token);
      return true;
    case Kind::Pairing:
      in_run = take_unit(left);
      take_pair(token);
      return true;
    case Kind::Symbol:
      bytes = write_utf8(letter.to[0], word.data());
      token = {{word.data(), bytes}, at, place, Token::Kind::Word};
      at = place;
      return true;
    default:
      at = place;
      return false;
  }
}

bool WordCutter::State::next(Token& token) {
  if (!pending.empty()) {
    token = {pending, whole.begin, whole.end, Token::Kind::Stem};
    pending = {};
    return true;
  }
  if (in_run) {
    take_pair(token);
    return true;
  }
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      if (begin_wide(token)) return true;
    } else if (kAscii[byte] != 0) {
      take_word(token);
      return true;
    } else {
      ++at;
    }
  }
  return false;
}

WordCutter::WordCutter() : state_(std::make_unique<State>()) {}
WordCutter::~WordCutter() = default;
WordCutter::WordCutter(WordCutter&&) noexcept = default;
WordCutter& WordCutter::operator=(WordCutter&&) noexcept = default;

void WordCutter::begin(std::string_view text) {
  state_->text = text;
  state_->at = 0;
  state_->pending = {};
  state_->in_run = false;
  state_->rest_at = state_->rest.size = 0;
}

bool WordCutter::next(Token& token) {
  return state_->next(token);
}

std::string_view WordCutter::stem(std::string_view folded) {
  return is_plain(folded) ? state_->stemmer.stem(folded) : folded;
}

WordCutter& thread_cutter() {
  static thread_local WordCutter cutter;
  return cutter;
}

}  // namespace quern::search

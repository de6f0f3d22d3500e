#include "search/words.h"

#include <libstemmer.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "search/letter.h"

namespace quern::search {
namespace {

using Kind = Letter::Kind;

// What an ASCII character is folded to; 0: it is a gap, or beyond ASCII.
constexpr std::array<char, 256> kAscii = [] {
  std::array<char, 256> table = {};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<std::size_t>(c)] = c;
    table[static_cast<std::size_t>(c - 'a' + 'A')] = c;
  }
  return table;
}();

// Shorter ones behind an apostrophe are endings: I'll, I've.
constexpr std::size_t kRestBytesMin = 3;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Eight bytes of a text at once, of which the first may be letters and digits. A word is seldom
// longer, and this has no branch to guess wrong. [measured: a seventh faster than one by one]
class Eight {
 public:
  static constexpr std::size_t kSize = 8;

  explicit Eight(const char* text) {
    std::memcpy(&bytes_, text, kSize);
    const std::uint64_t low = bytes_ & ~kHigh;
    const std::uint64_t ascii = ~bytes_ & kHigh;
    letters_ = between(low | kEach * 0x20, 'a', 'z') & ascii;
    digits_ = between(low, '0', '9') & ascii;
    const std::uint64_t others = ~(letters_ | digits_) & kHigh;
    taken_ = others == 0 ? kSize : static_cast<std::size_t>(std::countr_zero(others)) / 8;
  }
  std::size_t taken() const { return taken_; }
  bool has_digit() const {
    return digits_ != 0 && static_cast<std::size_t>(std::countr_zero(digits_)) / 8 < taken_;
  }
  // All eight of them; capitals become small.
  void write(char* to) const {
    const std::uint64_t folded = bytes_ | (letters_ >> 2);
    std::memcpy(to, &folded, kSize);
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::uint64_t kEach = 0x0101010101010101U;
  static constexpr std::uint64_t kHigh = kEach * 0x80;
  // The high bit of each byte that is; none of them has one before.
  static std::uint64_t between(std::uint64_t bytes, char first, char last) {
    const std::uint64_t from = bytes + kEach * static_cast<std::uint64_t>(0x80 - first);
    const std::uint64_t beyond = bytes + kEach * static_cast<std::uint64_t>(0x7f - last);
    return from & ~beyond & kHigh;
  }
  std::uint64_t bytes_ = 0;
  std::uint64_t letters_ = 0;
  std::uint64_t digits_ = 0;
  std::size_t taken_ = 0;
};

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// Snowball's English, with the stems of the words that came last. A hit costs a tenth of a stem.
class Stemmer {
 public:
  // A folded word of ASCII letters; the answer is good until the next call.
  std::string_view stem(std::string_view word) {
    if (word.size() < kBytesMin || word.size() > kBytesMax) return word;
    std::array<std::uint64_t, 3> key = {};
    std::memcpy(key.data(), word.data(), word.size());
    const std::uint64_t mixed = (key[0] * 0x9e3779b97f4a7c15U) ^ (key[1] * 0xc2b2ae3d27d4eb4fU) ^
                                (key[2] * 0x165667b19e3779f9U);
    if (entries_.empty()) entries_.resize(kEntries);
    Entry& entry = entries_[(mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9U >> kShift];
    // Not memcmp: this is where the time goes.
    if (((entry.word[0] ^ key[0]) | (entry.word[1] ^ key[1]) | (entry.word[2] ^ key[2])) != 0) {
      entry.word = key;
      fill(entry, word);
    }
    return entry.bytes == 0 ? word : std::string_view(entry.stem.data(), entry.bytes);
  }

 private:
  static constexpr std::size_t kBytesMin = 3;
  static constexpr std::size_t kBytesMax = 23;
  static constexpr std::size_t kShift = 64 - 14;
  static constexpr std::size_t kEntries = std::size_t{1} << (64 - kShift);
  struct Entry {
    std::array<std::uint64_t, 3> word = {};  // its bytes, then zeros
    std::array<char, kBytesMax> stem = {};
    std::uint8_t bytes = 0;  // none: it is its own stem
  };

  void fill(Entry& entry, std::string_view word) {
    const sb_symbol* stem =
        sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                        static_cast<int>(word.size()));
    const int length = stem == nullptr ? 0 : sb_stemmer_length(stemmer_.get());
    entry.bytes = 0;
    // A stem is never longer, but it is not for us to trust that.
    if (length <= 0 || length > static_cast<int>(kBytesMax)) return;
    const std::string_view found(reinterpret_cast<const char*>(stem),
                                 static_cast<std::size_t>(length));
    if (found == word) return;
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
  std::array<char, kTokenBytesMax + Eight::kSize> word = {};
  std::size_t bytes = 0;
  std::size_t last_at = 0;  // of its last character
  char32_t last = 0;
  bool full = false;
  bool plain = false;      // letters of ASCII only: it has a stem
  bool in_letter = false;  // what came last was a letter, no digit
  std::size_t elided = 0;  // where the word behind l' or qu' begins; 0: there is none
  // What else stands in the place of the word, by its number.
  enum class Beside : std::uint8_t { None, Stem, Rest, RestStem };
  Beside beside = Beside::None;
  Token whole;

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
  void note_elision() {
    const std::string_view before(word.data(), bytes);
    if (bytes == 1 || before == "qu") elided = bytes;
  }
  void take_plain();
  void take_word(Token& token);
  bool begin_wide(Token& token);
  bool take_unit(Unit& unit);
  void take_marks(Unit& unit);
  void take_pair(Token& token);
  bool next_beside(Token& token);
  bool next(Token& token);
};

void WordCutter::State::append(char32_t character) {
  if (const char32_t both = bytes > 0 ? composed(last, character) : 0; both != 0 && !full) {
    bytes = last_at;
    character = both;
  }
  std::array<char, 4> encoded = {};
  const std::size_t size = write_utf8(character, encoded.data());
  full = full || bytes + size > kTokenBytesMax;
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
      note_elision();
      break;
    default:
      return false;
  }
  at = end = place;
  return true;
}

// The letters and digits of ASCII that come next: mostly the whole word.
void WordCutter::State::take_plain() {
  const std::size_t first = at;
  bool digits = false;
  std::size_t taken = Eight::kSize;
  while (taken == Eight::kSize && at + Eight::kSize <= text.size() && bytes < kTokenBytesMax) {
    const Eight eight(text.data() + at);
    taken = eight.taken();
    eight.write(word.data() + bytes);
    digits = digits || eight.has_digit();
    bytes += taken;
    at += taken;
  }
  for (; at < text.size() && taken == Eight::kSize; ++at) {
    const char folded = kAscii[static_cast<unsigned char>(text[at])];
    if (folded == 0) break;
    if (bytes < kTokenBytesMax) word[bytes++] = folded;
    digits = digits || is_digit(folded);
  }
  if (at == first) return;
  bytes = std::min(bytes, kTokenBytesMax);
  full = full || bytes == kTokenBytesMax;
  plain = plain && !digits;
  in_letter = !is_digit(text[at - 1]);
  last_at = bytes - 1;
  last = static_cast<unsigned char>(word[last_at]);
}

// At a letter or digit: the whole word.
void WordCutter::State::take_word(Token& token) {
  const std::size_t begin = at;
  bytes = 0;
  full = in_letter = false;
  plain = true;
  elided = 0;
  take_plain();
  std::size_t end = at;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      if (!take_wide(end)) break;
    } else if (byte == '\'' && in_letter && letter_at(at + 1)) {
      note_elision();
      ++at;
    } else if (kAscii[byte] != 0 && !full) {
      take_plain();
      end = at;
    } else if (kAscii[byte] != 0) {
      end = ++at;
    } else {
      break;
    }
  }
  token = {{word.data(), bytes}, begin, end, Token::Kind::Word};
  whole = token;
  if (bytes - elided < kRestBytesMin) elided = 0;
  beside = Beside::Stem;
}

// The stem of the word in hand; then, where an article is joined to it, the word alone.
bool WordCutter::State::next_beside(Token& token) {
  token = whole;
  token.kind = Token::Kind::Stem;
  const std::string_view rest = whole.text.substr(elided);
  while (beside != Beside::None) {
    const Beside now = beside;
    beside = now == Beside::RestStem || (now == Beside::Stem && elided == 0)
                 ? Beside::None
                 : static_cast<Beside>(static_cast<int>(now) + 1);
    if (now == Beside::Rest) {
      token.text = rest;
      return true;
    }
    // A word of letters with accents has a stem once they are gone.
    const std::string_view of = now == Beside::Stem ? whole.text : rest;
    if (!plain && !is_plain(of)) continue;
    token.text = stemmer.stem(of);
    if (token.text.data() != of.data()) return true;
  }
  return false;
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
  if (beside != Beside::None && next_beside(token)) return true;
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
  state_->beside = State::Beside::None;
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

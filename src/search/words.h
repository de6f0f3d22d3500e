// Words: how texts and queries are cut into the tokens of an index.
//
// A token is a run of letters, digits and marks of any script, folded: case and accents go (NFKD,
// full case folding), width and ligatures too. English words are found in all their forms: beside a
// word its stem is indexed at the same place, where it differs. Scripts that write no blanks (Han,
// kana, Thai, Lao, Khmer, Myanmar) become overlapping pairs of letters, so that any piece of them
// is found; the last letter of such a run stands alone as well.
//
// What is not plain:
// - An apostrophe between letters is dropped: don't and don’t are `dont`, O'Brien is `obrien`.
//   Behind one letter, or qu, the rest is found as well: l'homme by `homme`, O'Brien by `brien`.
// - Other punctuation separates, in numbers, too: 3.14 is `3` `14`, c++ is `c`.
// - Accents go from Latin, Greek and Cyrillic, points from Arabic and Hebrew. The vowel signs of
//   Indic scripts stay, and never split a word. Letters with a stroke (ø, ł, æ) lose it.
// - Digits of any script are those of ASCII. Hangul is composed, however it was stored.
// - An emoji is a word; skin tones and joiners are dropped.
// - Stems are English, of words that are ASCII letters once folded. A word that is a stem itself
//   is the same token, so that the phrase "run" finds running, but "running" finds only itself.
//
// Any bytes are a text: what is no UTF-8 separates words. Tokens longer than kTokenBytesMax are
// cut.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sb_stemmer;

namespace quern::search {

inline constexpr std::size_t kTokenBytesMax = 64;

struct Token {
  std::string_view text;  // good until the next one
  std::size_t begin = 0;  // of its letters in the text, in bytes
  std::size_t end = 0;
  enum class Kind : std::uint8_t {
    Word,  // as it stands there, folded
    Stem,  // of the word before it, or its part behind an apostrophe, at the same place
    Pair,  // of a script without blanks
    Last,  // the last letter of a run of pairs; only in an index
  };
  Kind kind = Kind::Word;
};

// One for each thread: it keeps buffers and a stemmer.
class WordCutter {
 public:
  WordCutter();
  ~WordCutter();
  WordCutter(WordCutter&&) noexcept;
  WordCutter& operator=(WordCutter&&) noexcept;

  // Sets the text; it must outlive the cutting. Then next() until false.
  void begin(std::string_view text);
  bool next(Token& token);
  // Of a folded word.
  std::string_view stem(std::string_view folded);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The one of this thread, for who cuts now and then: its caches are warm. What was begun with it
// ends where the next one begins.
WordCutter& thread_cutter();

// Makes the tokenizer "quern" known to a connection. What it indexes is as above; the text of a
// MATCH is taken as tokens with blanks between them, as search/query.h wrote them. False where
// SQLite has no FTS5.
bool register_tokenizer(sqlite3* database);

}  // namespace quern::search

// Matcher: where the words and phrases of a query stand in a text.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "search/query.h"
#include "search/words.h"

namespace quern::search {

struct Match {
  std::size_t term = 0;
  std::size_t begin = 0;  // in the text, in bytes
  std::size_t end = 0;
};

class Matcher {
 public:
  // A phrase or a prefix.
  void add(const Node& leaf);
  std::size_t terms() const { return terms_.size(); }
  // Words of a term: a phrase shows more than a word.
  std::size_t words_of(std::size_t term) const { return terms_[term].tokens.size(); }

  void begin(std::string_view text);
  // The next one by its end; false where there is none.
  bool next(Match& match);
  // Nothing that begins behind this place is looked at.
  void stop_at(std::size_t place) { stop_ = place; }

 private:
  struct Term {
    std::vector<std::string> tokens;
    bool is_prefix = false;
  };
  struct Spot {  // token `index` of a term
    std::size_t term = 0;
    std::size_t index = 0;
    bool operator==(const Spot&) const = default;
  };
  struct Begun {  // a phrase of which all up to `spot` has been seen
    Spot spot;
    std::size_t begin = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  bool is_last(const Spot& spot) const { return spot.index + 1 == terms_[spot.term].tokens.size(); }
  void see(const Token& token);
  void hit(const Spot& spot, std::size_t begin, std::size_t end);

  std::vector<Term> terms_;
  std::unordered_map<std::string, std::vector<Spot>, Hash, std::equal_to<>> spots_;
  std::vector<Spot> prefixes_;
  // Of tokens that begin with a byte, the lengths that are looked for, as bits: most words end
  // here.
  std::array<std::uint64_t, 256> lengths_ = {};

  WordCutter* cutter_ = nullptr;
  std::string_view text_;
  std::size_t stop_ = 0;
  Token ahead_;  // the first token of the next place, if there is one
  bool has_ahead_ = false;
  std::vector<Begun> begun_;  // at the last place
  std::vector<Begun> going_;  // at this one
  std::vector<Match> found_;  // at this one
  std::size_t given_ = 0;
};

}  // namespace quern::search

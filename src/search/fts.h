// What packs add to FTS5: a function that weighs the hits of a row, and a tokenizer that counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/pack_format.h"

struct sqlite3;

namespace quern::search {

// Where a token stands: the column, then how many tokens come before it there. The next token of a
// phrase stands at the next spot.
using Spot = std::uint64_t;
inline constexpr int kSpotBits = 32;

// What the function saw in the row that was stepped to last.
struct RowHits {
  std::uint32_t by_field[kFields] = {};
  bool wants_spots = false;
  std::vector<Spot> spots;  // of the phrase's first token, in order
};

// Makes the tokenizer "quern" and the function quern_weight(words) known to a connection: the
// weighted number of hits of the first phrase of a MATCH, at most kWeightMax. `hits` outlives the
// connection.
Result<> register_fts(sqlite3* database, RowHits* hits);

// Of all texts that are indexed through a connection.
struct WordCount {
  std::uint32_t tokens = 0;  // stems are not counted: they stand beside their words
  std::function<void(std::string_view)> on_word;
};
// After register_fts(): what is indexed from now on is counted. `count` outlives the connection.
Result<> count_words(sqlite3* database, WordCount* count);

// A weight is no more than this, so that a byte holds it.
std::uint32_t weight_of(const RowHits& hits);

}  // namespace quern::search

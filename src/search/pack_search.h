// Searching one pack. Inside search only.
#pragma once

#include "search/pack.h"
#include "search/pack_state.h"

namespace quern::search {

// Rows that are walked over for one question, whether they match or not.
inline constexpr std::size_t kRowsWalkedMax = 400'000;
// Of phrases of common words: documents that have all the words and are looked into.
inline constexpr std::size_t kProbesMax = 500;
// A text that was unpacked is kept by its thread up to this size.
inline constexpr std::size_t kTextBufferKept = 1024 * 1024;

Result<Answer> search_pack(const Pack::State& pack, const Question& question);

// How many documents have a token; one that only one has is looked up in the index.
Result<std::int64_t> documents_with(Connection& connection, const std::string& token);

}  // namespace quern::search

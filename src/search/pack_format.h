// The file of a pack.
//
//   meta    one row: format, documents, tokens, bytes of all texts
//   doc     a row for each document, in the order of days; the text compressed. Words that stand
//           behind kTextEnd are found and weighed, and never shown
//   words   FTS5 without contents: where each token stands
//   term    tokens of at least two documents (in small packs: all), with their numbers
//   begin   the most frequent words of beginnings that many words share
//   list    of tokens of many documents: their rows and weights, and the best of them (list.h)
//   spot    of the same tokens: where they stand in each row, for phrases
//   col     what ranking and filters need of each document, loaded when a pack is opened
//
// A pack whose schema differs from this one in any byte is refused.
#pragma once

#include <cstdint>

namespace quern::search {

inline constexpr std::int64_t kPackFormat = 1;
inline constexpr std::int64_t kPackApplication = 0x5175726E;  // "Qurn"
// Rows are 32 bits wide, and the columns of all of them are held in memory.
inline constexpr std::int64_t kPackDocumentsMax = 50'000'000;

// In the order of the columns of `words`: what a hit in each one weighs. On Cranfield a title that
// weighs 1 gives an nDCG@10 of 0.383, 3 0.391, 4 0.392, 6 0.391.
inline constexpr int kFields = 5;
inline constexpr int kFieldWeights[kFields] = {4, 2, 2, 2, 1};
// No text has this sign: steps give none, and cleaning makes it a blank.
inline constexpr char kTextEnd = '\x1e';
// A document has a word at most that often.
inline constexpr std::uint32_t kWeightMax = 255;

inline constexpr char kPackSchema[] =
    "CREATE TABLE meta(format INTEGER, documents INTEGER, length INTEGER, text_bytes INTEGER);"
    "CREATE TABLE doc(row INTEGER PRIMARY KEY, page INTEGER, title TEXT, filename TEXT,"
    " author TEXT, sender TEXT, url TEXT, text_bytes INTEGER, page_ends BLOB, text BLOB);"
    "CREATE VIRTUAL TABLE words USING fts5(title, filename, author, sender, text,"
    " content='', columnsize=0, detail=full, tokenize='quern');"
    "CREATE TABLE term(token TEXT PRIMARY KEY, documents INTEGER, word INTEGER, alone INTEGER,"
    " list INTEGER) WITHOUT ROWID;"
    "CREATE TABLE begin(beginning TEXT, place INTEGER, token TEXT, documents INTEGER,"
    " PRIMARY KEY(beginning, place)) WITHOUT ROWID;"
    "CREATE TABLE list(id INTEGER PRIMARY KEY, documents INTEGER, best BLOB, rows BLOB);"
    "CREATE TABLE spot(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE col(name TEXT PRIMARY KEY, bytes INTEGER, data BLOB) WITHOUT ROWID;";

}  // namespace quern::search

// Sources: where the rows of one word or phrase come from, and how much it weighs in each.
//
// Rows come in order; seek() goes to the first that is not before a row, backward too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/connection.h"
#include "search/list.h"

namespace quern::search {

class Source {
 public:
  virtual ~Source() = default;
  // kNoRow: none.
  virtual std::uint32_t seek(std::uint32_t row) = 0;
  // Of the row that seek() gave last.
  virtual std::uint32_t weight() const = 0;
  // How many rows it has; `exact()` says how surely, otherwise it has no more.
  virtual std::int64_t rows() const = 0;
  virtual bool exact() const { return true; }
  // The rows that are worth looking at first: the champions, or all of them if they are few.
  virtual Result<std::vector<Posting>> best() = 0;
  // Whether seek() gives rows that only may have it, and probe() must be asked.
  virtual bool unsure() const { return false; }
  // The weight in the row that seek() gave last; 0: it is not there after all.
  virtual Result<std::uint32_t> probe(Connection&) { return weight(); }
  virtual bool damaged() const { return false; }
};

std::unique_ptr<Source> make_rows_source(std::vector<Posting> postings);
// A list of the pack, read when its rows are asked for: the best ones may do. The connection
// outlives it.
Result<std::unique_ptr<Source>> make_list_source(std::int64_t id, Connection& connection,
                                                 std::uint32_t documents);
// Rows of any of them. Beyond so many rows together the rest is left out: they are given with the
// most frequent first.
inline constexpr std::int64_t kAnyRowsMax = 100'000;
std::unique_ptr<Source> make_any_source(std::vector<std::unique_ptr<Source>> sources,
                                        std::uint32_t documents);
// Rows of all of them, which may have the phrase.
std::unique_ptr<Source> make_phrase_source(std::vector<std::unique_ptr<Source>> tokens,
                                           std::string phrase);

}  // namespace quern::search

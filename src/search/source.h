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
#include "search/query.h"

namespace quern::search {

class Source {
 public:
  virtual ~Source() = default;
  // kNoRow: none.
  virtual std::uint32_t seek(std::uint32_t row) = 0;
  // Whether it has this very row; as seek(), but no other row is looked for.
  virtual bool at(std::uint32_t row) { return seek(row) == row; }
  // Of the row that seek() gave last.
  virtual std::uint32_t weight() const = 0;
  // How many rows it has, at most and at least.
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t rows_min() const { return rows(); }
  // Whether some rows were left out, because they are too many.
  virtual bool partial() const { return false; }
  // The rows that are worth looking at first: the champions, or all of them if they are few.
  virtual Result<std::vector<Posting>> best() = 0;
  // Whether seek() gives rows that only may have it, and probe() must be asked.
  virtual bool unsure() const { return false; }
  // The weight in the row that seek() gave last; 0: it is not there after all.
  virtual Result<std::uint32_t> probe() { return weight(); }
  // Of a single token: where it stands in the row that seek() gave last, in order.
  virtual Result<> spots(std::vector<Spot>& into) {
    into.clear();
    return {};
  }
  virtual bool damaged() const { return false; }
};

std::unique_ptr<Source> make_rows_source(std::vector<Posting> postings);
std::unique_ptr<Source> make_spotted_source(std::vector<Posting> postings,
                                            std::vector<std::vector<Spot>> spots);
// A list of the pack, read when its rows are asked for: the best ones may do. The connection
// outlives it.
Result<std::unique_ptr<Source>> make_list_source(std::int64_t id, Connection& connection,
                                                 std::uint32_t documents);
// Rows of any of them, which are given with the most frequent first. Where they would be too many,
// the best of each are taken.
inline constexpr std::int64_t kAnyRowsMax = 16'000;
// Whether these are all that should be there.
enum class Whole { Yes, No };
Result<std::unique_ptr<Source>> make_any_source(std::vector<std::unique_ptr<Source>> sources,
                                                Whole whole, std::uint32_t documents);
// Rows in which the tokens follow each other, in one column: of that field, if one is named. Few of
// them are looked up at once; otherwise the rows that have all the tokens come, and are unsure.
inline constexpr std::int64_t kPhraseRowsSure = 1'024;
Result<std::unique_ptr<Source>> make_phrase_source(std::vector<std::unique_ptr<Source>> tokens,
                                                   Field field);

}  // namespace quern::search

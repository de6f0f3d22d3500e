// RowMatchers: a query as a tree that finds the rows it means and scores them.
//
// FTS5 is asked for single phrases only; And, Or and Not are done here. So no query is too deep or
// too odd for it, and lists of common words are leapt through.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "search/pack.h"
#include "search/rank.h"
#include "search/source.h"

namespace quern::search {

struct ScoredRow {
  std::uint32_t row = 0;
  double score = 0;
};

class RowMatcher {
 public:
  virtual ~RowMatcher() = default;
  // The first row that matches and is not before this one; kNoRow: none. Backward too. Where it is
  // unsure(), rows come that only may match.
  virtual std::uint32_t seek(std::uint32_t row) = 0;
  // Whether this very row matches; as seek(), but no other row is looked for.
  virtual bool at(std::uint32_t row) = 0;
  // Of the row that seek() gave last.
  virtual double score(std::uint32_t row) = 0;
  // Whether this very row matches, and its score.
  virtual Result<std::optional<double>> verify(std::uint32_t row) = 0;
  virtual bool unsure() const = 0;
  // Some rows that match were left out.
  virtual bool partial() const = 0;
  // Bounds of how many rows match.
  virtual std::int64_t rows_max() const = 0;
  virtual std::int64_t rows_min() const = 0;
  // Adds the rows that are likely to have the best scores, at most `quota` for each word.
  virtual Result<> best(std::vector<std::uint32_t>& rows, std::size_t quota) = 0;
  // The same with their scores, where it is one word: nothing else need be looked at.
  virtual Result<std::optional<std::vector<ScoredRow>>> best_scored() {
    return std::optional<std::vector<ScoredRow>>();
  }
  // How many words can make a score; without any, there is none.
  virtual std::size_t scoring() const = 0;
  virtual bool damaged() const = 0;
};

// `ranking` outlives it.
Result<std::unique_ptr<RowMatcher>> make_matcher(const Node& words, const Frequencies& frequencies,
                                                 const Ranking& ranking, Connection& connection,
                                                 std::uint32_t documents);

std::unique_ptr<RowMatcher> make_leaf(std::unique_ptr<Source> source, double rarity,
                                      const Ranking& ranking);
// `nots` must not match. Without children it is all rows but those.
std::unique_ptr<RowMatcher> make_and(std::vector<std::unique_ptr<RowMatcher>> children,
                                     std::vector<std::unique_ptr<RowMatcher>> nots,
                                     std::uint32_t documents);
std::unique_ptr<RowMatcher> make_or(std::vector<std::unique_ptr<RowMatcher>> children);

}  // namespace quern::search

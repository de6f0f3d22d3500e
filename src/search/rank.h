// Ranking: BM25 over weighted hits (pack_format.h), with frequencies and lengths of the whole
// collection, so that scores of different packs compare.
//
// Never FTS5's bm25(): it walks over every match to learn a frequency that is known already.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "search/columns.h"
#include "search/list.h"

namespace quern::search {

struct Frequencies;

// Tuned on Cranfield: nDCG@10 is 0.398 with these, 0.392 with the usual 1.2 and 0.75, 0.387 for
// FTS5's bm25(). Between 1.4 and 2 and between 0.4 and 0.75 it hardly changes.
inline constexpr double kSaturation = 1.6;
inline constexpr double kLengthShare = 0.6;
// What a prefix looks for is not counted for each word it may mean: it weighs as a word that one of
// so many documents has.
inline constexpr double kPrefixShare = 20;

class Ranking {
 public:
  Ranking(const Columns& columns, double documents, double average_length)
      : columns_(columns),
        documents_(documents),
        flat_(kSaturation * (1 - kLengthShare)),
        steep_(kSaturation * kLengthShare / (average_length < 1 ? 1 : average_length)) {}

  double rarity(double documents) const {
    const double having = documents < 1 ? 1 : documents;
    const double rest = documents_ < having ? 0 : documents_ - having;
    return std::log(1 + (rest + 0.5) / (having + 0.5));
  }
  double prefix_rarity() const { return rarity(documents_ / kPrefixShare); }

  // Of one word of a query, before its rarity: 0 to 1.
  double impact(std::uint32_t row, std::uint32_t weight) const {
    const double length = columns_.length[row - 1];
    return weight / (weight + flat_ + steep_ * length);
  }

 private:
  const Columns& columns_;
  double documents_;
  double flat_;
  double steep_;
};

// Chooses the best of a list, when a pack is built.
class Champions {
 public:
  explicit Champions(const Columns& columns);
  // The kChampions with the greatest impact, in the order of rows.
  std::vector<Posting> of(const std::vector<Posting>& postings) const;

 private:
  Ranking ranking_;
};

}  // namespace quern::search

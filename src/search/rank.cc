#include "search/rank.h"

#include <algorithm>
#include <numeric>

namespace quern::search {
namespace {

double average_length(const Columns& columns) {
  const double sum = std::accumulate(columns.length.begin(), columns.length.end(), 0.0);
  return columns.documents() == 0 ? 0 : sum / static_cast<double>(columns.documents());
}

struct Ranked {
  double impact;
  Posting posting;
};

}  // namespace

Champions::Champions(const Columns& columns)
    : ranking_(columns, static_cast<double>(columns.documents()), average_length(columns)) {}

std::vector<Posting> Champions::of(const std::vector<Posting>& postings) const {
  std::vector<Ranked> ranked;
  ranked.reserve(postings.size());
  for (const Posting& posting : postings) {
    ranked.push_back({ranking_.impact(posting.row, posting.weight), posting});
  }
  const std::size_t kept = std::min(kChampions, ranked.size());
  // Of equals the newer ones.
  std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(kept) - 1,
                           [](const Ranked& a, const Ranked& b) {
                             if (a.impact != b.impact) return a.impact > b.impact;
                             return a.posting.row > b.posting.row;
                           });
  std::vector<Posting> best;
  for (std::size_t i = 0; i < kept; ++i) best.push_back(ranked[i].posting);
  std::ranges::sort(best, {}, &Posting::row);
  return best;
}

}  // namespace quern::search

#include "search/collector.h"

#include <algorithm>
#include <chrono>

namespace quern::search {

Place Collector::place_of(std::uint32_t row, double score) const {
  const std::size_t at = row - 1;
  return {score, columns_.day[at], columns_.tie[at], columns_.file[at]};
}

void Collector::take(std::uint32_t row, double score) {
  ++taken_;
  const std::size_t at = row - 1;
  if (question_.facets) {
    ++types_[columns_.type[at]];
    if (columns_.day[at] != kNoDay) ++days_[columns_.day[at]];
  }
  if (keep_ == 0) return;
  const Found found{place_of(row, score), row};
  if (question_.after && !goes_before(question_.sort, *question_.after, found.place)) return;
  const auto earlier = [this](const Found& a, const Found& b) {
    return goes_before(question_.sort, a.place, b.place);
  };
  if (found_.size() == keep_) {
    if (!earlier(found, found_.front())) return;
    std::ranges::pop_heap(found_, earlier);
    found_.back() = found;
  } else {
    found_.push_back(found);
  }
  std::ranges::push_heap(found_, earlier);
}

std::vector<Found> Collector::finish() {
  std::ranges::sort(found_, [this](const Found& a, const Found& b) {
    return goes_before(question_.sort, a.place, b.place);
  });
  return std::move(found_);
}

void Collector::facets(Answer& answer) const {
  for (const auto& [type, count] : types_) answer.types[columns_.types[type]] += count;
  for (const auto& [day, count] : days_) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    answer.years[static_cast<int>(date.year())] += count;
  }
}

}  // namespace quern::search

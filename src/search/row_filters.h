// Filters of a question, made ready for one pack: asked for each row that matches.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "search/pack.h"
#include "search/pack_state.h"

namespace quern::search {

// Rows from the first to the last, both inclusive.
using RowRange = std::pair<std::uint32_t, std::uint32_t>;

class RowFilters {
 public:
  static Result<RowFilters> make(const Pack::State& pack, const Question& question,
                                 Connection& connection);

  bool accepts(std::uint32_t row) const;
  // Where rows can lie at all, in order and apart from each other.
  const std::vector<RowRange>& ranges() const { return ranges_; }
  // Everything is accepted but what is masked.
  bool only_masks() const { return !filtered_; }
  std::int64_t masked() const { return masked_; }

 private:
  explicit RowFilters(const Pack::State& pack, const Mask* mask)
      : columns_(pack.columns), mask_(mask) {}
  void set_types(const Filter<std::string>& types);
  void set_dates(const Filter<DateRange>& dates);
  Result<> set_paths(const Filter<std::string>& paths, const Pack::State& pack,
                     Connection& connection);
  void choose_jobs(std::span<const std::int64_t> hidden, const std::vector<std::int64_t>* only);

  const Columns& columns_;
  const Mask* mask_;
  std::int64_t masked_ = 0;
  bool filtered_ = false;
  std::vector<RowRange> ranges_;
  std::vector<RowRange> no_rows_;
  std::vector<bool> types_;        // by place; empty: any
  std::vector<bool> hidden_jobs_;  // by place; empty: none
  bool some_paths_ = false;
  std::vector<RowRange> paths_;  // of ranks
  std::vector<RowRange> no_paths_;
};

}  // namespace quern::search

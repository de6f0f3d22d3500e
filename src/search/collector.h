// Collector: keeps the best hits of a question, and counts all of them.
#pragma once

#include <map>
#include <vector>

#include "search/columns.h"
#include "search/pack.h"

namespace quern::search {

class Collector {
 public:
  // Keeps `keep` hits.
  Collector(const Columns& columns, const Question& question, std::size_t keep)
      : columns_(columns), question_(question), keep_(keep) {}

  void take(std::uint32_t row, double score);
  std::int64_t taken() const { return taken_; }
  // As many as can be kept are there.
  bool full() const { return found_.size() >= keep_; }
  Place place_of(std::uint32_t row, double score) const;

  // The best ones in order; nothing is left here.
  std::vector<Found> finish();
  void facets(Answer& answer) const;

 private:
  const Columns& columns_;
  const Question& question_;
  std::size_t keep_;
  std::int64_t taken_ = 0;
  std::vector<Found> found_;  // a heap, the last in order first
  std::map<std::uint32_t, std::int64_t> types_;
  std::map<std::int32_t, std::int64_t> days_;
};

}  // namespace quern::search

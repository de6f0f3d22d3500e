#include "search/row_filters.h"

#include <algorithm>

namespace quern::search {
namespace {

bool lies_in(const std::vector<RowRange>& ranges, std::uint32_t at) {
  return std::ranges::any_of(
      ranges, [at](const RowRange& range) { return range.first <= at && at <= range.second; });
}

// In order, joined where they overlap; empty ones go.
std::vector<RowRange> joined(std::vector<RowRange> ranges) {
  std::erase_if(ranges, [](const RowRange& range) { return range.first > range.second; });
  std::ranges::sort(ranges);
  std::vector<RowRange> apart;
  for (const RowRange& range : ranges) {
    if (!apart.empty() && range.first <= apart.back().second) {
      apart.back().second = std::max(apart.back().second, range.second);
    } else {
      apart.push_back(range);
    }
  }
  return apart;
}

// How many paths of the pack come before this text.
Result<std::uint32_t> paths_before(const std::string& text, const Pack::State& pack,
                                   Connection& connection) {
  std::size_t from = 0;
  std::size_t to = pack.path_order.size();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    TRY_ASSIGN(const std::string path, connection.path(pack.path_order[middle]));
    if (path < text) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return static_cast<std::uint32_t>(from);
}

// Ranks of one path and of all below it. Two ranges: "a-b" stands between "a" and "a/b".
Result<> add_path(const std::string& path, const Pack::State& pack, Connection& connection,
                  std::vector<RowRange>& ranks) {
  const auto count = static_cast<std::uint32_t>(pack.path_order.size());
  if (path.empty()) {
    if (count > 0) ranks.push_back({0, count - 1});
    return {};
  }
  const std::pair<std::string, std::string> spans[] = {{path, path + '\0'},
                                                       {path + '/', path + '0'}};
  for (const auto& [first, behind] : spans) {
    TRY_ASSIGN(const std::uint32_t from, paths_before(first, pack, connection));
    TRY_ASSIGN(const std::uint32_t to, paths_before(behind, pack, connection));
    if (from < to) ranks.push_back({from, to - 1});
  }
  return {};
}

}  // namespace

Result<RowFilters> RowFilters::make(const Pack::State& pack, const Question& question,
                                    Connection& connection) {
  const Query& query = *question.query;
  RowFilters filters(pack, question.mask);
  filters.masked_ = question.mask == nullptr ? 0 : question.mask->count();
  filters.filtered_ = !query.types.empty() || !query.dates.empty() || !query.paths.empty();
  filters.set_types(query.types);
  filters.set_dates(query.dates);
  filters.choose_jobs(question.hidden_jobs, question.only_jobs);
  TRY(filters.set_paths(query.paths, pack, connection));
  return filters;
}

void RowFilters::set_types(const Filter<std::string>& types) {
  if (types.empty()) return;
  const auto one_of = [](const std::vector<std::string>& wanted, const std::string& mime) {
    return std::ranges::any_of(
        wanted, [&mime](const std::string& filter) { return type_matches(filter, mime); });
  };
  for (const std::string& mime : columns_.types) {
    types_.push_back((types.any.empty() || one_of(types.any, mime)) && !one_of(types.none, mime));
  }
}

void RowFilters::set_dates(const Filter<DateRange>& dates) {
  for (const DateRange& range : dates.none) {
    no_rows_.push_back(columns_.rows_of_days(range.first, range.last));
  }
  if (dates.any.empty()) {
    ranges_ = joined({{1, static_cast<std::uint32_t>(columns_.documents())}});
    return;
  }
  for (const DateRange& range : dates.any) {
    ranges_.push_back(columns_.rows_of_days(range.first, range.last));
  }
  ranges_ = joined(std::move(ranges_));
}

Result<> RowFilters::set_paths(const Filter<std::string>& paths, const Pack::State& pack,
                               Connection& connection) {
  some_paths_ = !paths.any.empty();
  for (const std::string& path : paths.any) {
    TRY(add_path(fold_path(path), pack, connection, paths_));
  }
  for (const std::string& path : paths.none) {
    TRY(add_path(fold_path(path), pack, connection, no_paths_));
  }
  return {};
}

void RowFilters::choose_jobs(std::span<const std::int64_t> jobs,
                             const std::vector<std::int64_t>* only) {
  if (jobs.empty() && only == nullptr) return;
  std::vector<std::int64_t> hidden(jobs.begin(), jobs.end());
  std::ranges::sort(hidden);
  std::vector<std::int64_t> shown = only == nullptr ? std::vector<std::int64_t>() : *only;
  std::ranges::sort(shown);
  for (const std::int64_t job : columns_.jobs) {
    const bool is_shown = only == nullptr || std::ranges::binary_search(shown, job);
    hidden_jobs_.push_back(!is_shown || std::ranges::binary_search(hidden, job));
    filtered_ = filtered_ || hidden_jobs_.back();
  }
}

bool RowFilters::accepts(std::uint32_t row) const {
  if (masked_ > 0 && mask_->has(row)) return false;
  if (!filtered_) return true;
  const std::size_t at = row - 1;
  if (!types_.empty() && !types_[columns_.type[at]]) return false;
  if (!hidden_jobs_.empty() && hidden_jobs_[columns_.job[at]]) return false;
  if (some_paths_ && !lies_in(paths_, columns_.path[at])) return false;
  return !lies_in(no_paths_, columns_.path[at]) && !lies_in(no_rows_, row) && lies_in(ranges_, row);
}

}  // namespace quern::search

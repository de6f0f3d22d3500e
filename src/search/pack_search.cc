#include "search/pack_search.h"

#include <algorithm>

#include "search/collector.h"
#include "search/row_filters.h"
#include "search/row_matcher.h"

namespace quern::search {
namespace {

// Walking downward goes by windows, each walked upward: lists are read in that direction. They
// grow, for words that are rare there.
constexpr std::uint32_t kFirstWindow = 2'048;
constexpr std::uint32_t kWindowGrowth = 4;
// Of a question with phrases that must be looked up: so many of the best are.
constexpr std::size_t kUnsureKept = 500;
// Of all words together, and of each of many.
constexpr std::size_t kChampionsScored = 4'096;
constexpr std::size_t kChampionsOfWordMin = 128;
static_assert(kChampionsOfWordMin * kQueryTermsMax <= kCandidatesMax);
// A champion that is scored stands for many that are not: with fewer of them than this, more rows
// are walked.
constexpr std::int64_t kChampionsMin = 200;

class Search {
 public:
  Search(const Pack::State& pack, const Question& question, const RowFilters& filters,
         RowMatcher* matcher)
      : pack_(pack),
        question_(question),
        filters_(filters),
        matcher_(matcher),
        documents_(static_cast<std::uint32_t>(pack.columns.documents())),
        unsure_(matcher != nullptr && matcher->unsure()),
        unscored_(matcher == nullptr || matcher->scoring() == 0),
        collector_(pack.columns, question, kept(), behind()) {}

  Result<Answer> run() {
    if (few() && !probing()) {
      TRY(walk_all());
    } else if (!by_day()) {
      TRY(take_champions());
      if (!enough()) TRY(walk_newest());
    } else if (question_.sort == Sort::Oldest) {
      TRY(walk_oldest());
    } else {
      TRY(walk_newest());
    }
    return answer();
  }

 private:
  std::size_t limit() const { return std::min(question_.limit, kCandidatesMax); }
  std::size_t kept() const {
    return unsure_ && !by_day() ? std::max(limit(), kUnsureKept) : limit();
  }
  // What is unsure may have a lower score than it looks, and then stand behind that place.
  std::optional<Place> behind() const {
    return unsure_ && !by_day() ? std::nullopt : question_.after;
  }
  bool few() const {
    return matcher_ != nullptr && matcher_->rows_max() <= std::int64_t{kCandidatesMax};
  }
  // In the order of days a row that does not match would push out one that does: each is looked up
  // at once.
  bool probing() const { return unsure_ && by_day(); }
  bool by_day() const { return question_.sort != Sort::Relevance || unscored_; }
  bool enough() const { return collector_.full() && collector_.taken() >= kChampionsMin; }
  // By day, what comes behind the last hit is only counted, as far as that is cheap.
  bool satisfied() const {
    if (by_day()) return probing() && collector_.full();
    return enough();
  }
  bool spent() const {
    return walked_ >= kRowsWalkedMax || collector_.taken() >= std::int64_t{kCandidatesMax} ||
           probes_ >= kProbesMax;
  }
  std::uint32_t next(std::uint32_t row) {
    if (matcher_ != nullptr) return matcher_->seek(row);
    return row <= documents_ ? row : kNoRow;
  }

  double score_by_day(std::uint32_t row) const { return pack_.columns.day[row - 1]; }

  void take(std::uint32_t row);
  Result<> walk_range(RowRange range);
  Result<> probe_range(RowRange range);
  Result<> walk_all();
  Result<> walk_newest();
  Result<> walk_oldest();
  Result<bool> walk_days(RowRange range, std::uint32_t& window);
  Result<> take_champions();
  Result<> take_scored(const std::vector<ScoredRow>& rows);
  Result<Answer> answer();
  Result<std::vector<Found>> verified(const std::vector<Found>& found);

  const Pack::State& pack_;
  const Question& question_;
  const RowFilters& filters_;
  RowMatcher* matcher_;  // null: only filters
  std::uint32_t documents_;
  bool unsure_;
  bool unscored_;  // the newest are the best
  Collector collector_;
  std::vector<std::uint32_t> champions_;  // taken already
  std::size_t walked_ = 0;
  std::size_t probes_ = 0;
  std::int64_t verified_ = 0;
  bool complete_ = false;  // every row was looked at
};

// A row that matches, or may.
void Search::take(std::uint32_t row) {
  if (!filters_.accepts(row) || std::ranges::binary_search(champions_, row)) return;
  collector_.take(row, unscored_ ? score_by_day(row) : matcher_->score(row));
}

Result<> Search::walk_range(RowRange range) {
  if (probing()) return probe_range(range);
  for (std::uint32_t row = next(range.first); row <= range.second && row != kNoRow;
       row = next(row + 1)) {
    ++walked_;
    take(row);
  }
  return {};
}

// In the order of the answer, and only until there is enough.
Result<> Search::probe_range(RowRange range) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = next(range.first); row <= range.second && row != kNoRow;
       row = next(row + 1)) {
    ++walked_;
    const Place place = collector_.place_of(row, score_by_day(row));
    if (question_.after && !goes_before(question_.sort, *question_.after, place)) continue;
    if (filters_.accepts(row)) rows.push_back(row);
  }
  std::ranges::sort(rows, [this](std::uint32_t a, std::uint32_t b) {
    return goes_before(question_.sort, collector_.place_of(a, score_by_day(a)),
                       collector_.place_of(b, score_by_day(b)));
  });
  for (const std::uint32_t row : rows) {
    if (collector_.full() || probes_ >= kProbesMax) return {};
    ++probes_;
    TRY_ASSIGN(const std::optional<double> score, matcher_->verify(row));
    if (score) collector_.take(row, unscored_ ? score_by_day(row) : *score);
  }
  return {};
}

Result<> Search::walk_all() {
  for (const RowRange& range : filters_.ranges()) TRY(walk_range(range));
  complete_ = true;
  return {};
}

Result<> Search::walk_newest() {
  std::uint32_t window = kFirstWindow;
  const auto& ranges = filters_.ranges();
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    for (std::uint32_t end = range->second; end >= range->first;) {
      const std::uint32_t begin = end - range->first < window ? range->first : end - window + 1;
      TRY(walk_range({begin, end}));
      if (satisfied() || spent()) return {};
      window = std::min(window, UINT32_MAX / kWindowGrowth) * kWindowGrowth;
      end = begin - 1;
    }
  }
  complete_ = true;
  return {};
}

// Rows go up with days, but of one day in the other direction: so days are walked as a whole. Those
// without a day come last, though their rows come first.
Result<> Search::walk_oldest() {
  const std::uint32_t dated = pack_.columns.rows_of_days(kNoDay + 1, INT32_MAX).first;
  std::uint32_t window = kFirstWindow;
  for (const RowRange& part : {RowRange{dated, documents_}, RowRange{1, dated - 1}}) {
    for (const RowRange& range : filters_.ranges()) {
      const RowRange both{std::max(part.first, range.first), std::min(part.second, range.second)};
      TRY_ASSIGN(const bool more, walk_days(both, window));
      if (!more) return {};
    }
  }
  complete_ = true;
  return {};
}

// False where there is enough.
Result<bool> Search::walk_days(RowRange range, std::uint32_t& window) {
  const auto& day = pack_.columns.day;
  while (range.first <= range.second) {
    const std::uint32_t last =
        range.second - range.first < window ? range.second : range.first + window - 1;
    const auto next_day = std::ranges::upper_bound(day, day[last - 1]);
    const std::uint32_t end =
        std::min(range.second, static_cast<std::uint32_t>(next_day - day.begin()));
    TRY(walk_range({range.first, end}));
    if (satisfied() || spent()) return false;
    window = std::min(window, UINT32_MAX / kWindowGrowth) * kWindowGrowth;
    range.first = end + 1;
  }
  return true;
}

Result<> Search::take_scored(const std::vector<ScoredRow>& rows) {
  for (const ScoredRow& one : rows) {
    if (filters_.accepts(one.row)) collector_.take(one.row, one.score);
    champions_.push_back(one.row);
  }
  std::ranges::sort(champions_);
  return {};
}

Result<> Search::take_champions() {
  TRY_ASSIGN(const auto scored, matcher_->best_scored());
  if (scored) return take_scored(*scored);
  std::vector<std::uint32_t> rows;
  const std::size_t quota = kChampionsScored / matcher_->scoring();
  TRY(matcher_->best(rows, std::max<std::size_t>(kChampionsOfWordMin, quota)));
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const std::uint32_t row : rows) {
    if (row == 0 || row > documents_) return Error{Errc::Corrupt, "pack: a list is damaged"};
    if (!filters_.accepts(row) || !matcher_->at(row)) continue;
    take(row);
  }
  champions_ = std::move(rows);
  return {};
}

// What was unsure is looked up, the best first. A score only falls when it is looked up, so that it
// is over where the next one was no better than the last that is asked for.
Result<std::vector<Found>> Search::verified(const std::vector<Found>& found) {
  std::vector<Found> sure;
  if (limit() == 0) return sure;
  const auto before = [this](const Found& a, const Found& b) {
    return goes_before(question_.sort, a.place, b.place);
  };
  for (const Found& one : found) {
    const bool full = sure.size() >= limit();
    if (probes_ >= kProbesMax || (full && !before(one, sure.back()))) break;
    ++probes_;
    TRY_ASSIGN(const std::optional<double> score, matcher_->verify(one.row));
    if (!score) continue;
    const Found real{collector_.place_of(one.row, *score), one.row};
    if (question_.after && !goes_before(question_.sort, *question_.after, real.place)) continue;
    sure.insert(std::ranges::upper_bound(sure, real, before), real);
    if (full) sure.pop_back();
    ++verified_;
  }
  return sure;
}

Result<Answer> Search::answer() {
  Answer answer;
  if (matcher_ != nullptr && matcher_->damaged()) {
    return Error{Errc::Corrupt, "pack: a list is damaged"};
  }
  collector_.facets(answer);
  answer.total = collector_.taken();
  answer.exact = complete_;
  answer.found = collector_.finish();
  if (unsure_ && !by_day()) {
    const std::size_t kept = answer.found.size();
    const bool all = std::ssize(answer.found) == answer.total;
    TRY_ASSIGN(answer.found, verified(answer.found));
    answer.total = verified_;
    answer.exact = complete_ && all && probes_ == kept;
  } else if (!complete_ && filters_.only_masks() && matcher_ != nullptr) {
    // Which of those that match are masked is not known.
    answer.total = std::max(answer.total, matcher_->rows_min() - filters_.masked());
    answer.exact = filters_.masked() == 0 && matcher_->rows_min() == matcher_->rows_max();
  }
  if (matcher_ != nullptr && matcher_->partial()) answer.exact = false;
  if (answer.found.size() > limit()) answer.found.resize(limit());
  return answer;
}

double average_of(const Frequencies& frequencies) {
  return static_cast<double>(frequencies.length) /
         static_cast<double>(std::max<std::int64_t>(1, frequencies.documents));
}

}  // namespace

Result<Answer> search_pack(const Pack::State& pack, const Question& question) {
  if (question.query->empty()) return Answer{};
  TRY_ASSIGN(const PooledConnection connection, pack.connection());
  TRY_ASSIGN(const RowFilters filters, RowFilters::make(pack, question, *connection));
  const Frequencies& frequencies = *question.frequencies;
  const Ranking ranking(pack.columns, static_cast<double>(frequencies.documents),
                        average_of(frequencies));
  std::unique_ptr<RowMatcher> matcher;
  if (question.query->words) {
    TRY_ASSIGN(matcher, make_matcher(*question.query->words, frequencies, ranking, *connection,
                                     static_cast<std::uint32_t>(pack.columns.documents())));
  }
  return Search(pack, question, filters, matcher.get()).run();
}

}  // namespace quern::search

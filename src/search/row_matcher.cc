#include "search/row_matcher.h"

#include <algorithm>

namespace quern::search {
namespace {

using RowMatchers = std::vector<std::unique_ptr<RowMatcher>>;

bool any_unsure(const RowMatchers& all) {
  return std::ranges::any_of(all, [](const auto& one) { return one->unsure(); });
}
bool any_partial(const RowMatchers& all) {
  return std::ranges::any_of(all, [](const auto& one) { return one->partial(); });
}
bool any_damaged(const RowMatchers& all) {
  return std::ranges::any_of(all, [](const auto& one) { return one->damaged(); });
}
std::size_t scoring_of(const RowMatchers& all) {
  std::size_t sum = 0;
  for (const auto& one : all) sum += one->scoring();
  return sum;
}

class Leaf final : public RowMatcher {
 public:
  Leaf(std::unique_ptr<Source> source, double rarity, const Ranking& ranking)
      : source_(std::move(source)), rarity_(rarity), ranking_(ranking) {}

  std::uint32_t seek(std::uint32_t row) override { return source_->seek(row); }
  bool at(std::uint32_t row) override { return source_->at(row); }
  double score(std::uint32_t row) override {
    return rarity_ * ranking_.impact(row, source_->weight());
  }
  Result<std::optional<double>> verify(std::uint32_t row) override {
    if (!source_->at(row)) return std::optional<double>();
    TRY_ASSIGN(const std::uint32_t weight, source_->probe());
    if (weight == 0) return std::optional<double>();
    return std::optional(rarity_ * ranking_.impact(row, weight));
  }
  bool unsure() const override { return source_->unsure(); }
  bool partial() const override { return source_->partial(); }
  std::int64_t rows_max() const override { return source_->rows(); }
  std::int64_t rows_min() const override { return source_->rows_min(); }
  Result<> best(std::vector<std::uint32_t>& rows, std::size_t quota) override {
    TRY_ASSIGN(std::vector<Posting> postings, source_->best());
    if (postings.size() > quota) keep_heaviest(postings, quota);
    for (const Posting& posting : postings) rows.push_back(posting.row);
    return {};
  }
  Result<std::optional<std::vector<ScoredRow>>> best_scored() override {
    if (unsure()) return std::optional<std::vector<ScoredRow>>();
    TRY_ASSIGN(std::vector<Posting> postings, source_->best());
    if (postings.size() > kCandidatesMax) keep_heaviest(postings, kCandidatesMax);
    std::vector<ScoredRow> scored;
    scored.reserve(postings.size());
    for (const Posting& posting : postings) {
      scored.push_back({posting.row, rarity_ * ranking_.impact(posting.row, posting.weight)});
    }
    return std::optional(std::move(scored));
  }
  std::size_t scoring() const override { return 1; }
  bool damaged() const override { return source_->damaged(); }

 private:
  void keep_heaviest(std::vector<Posting>& postings, std::size_t quota) const {
    std::vector<std::pair<double, Posting>> ranked;
    ranked.reserve(postings.size());
    for (const Posting& posting : postings) {
      ranked.push_back({-ranking_.impact(posting.row, posting.weight), posting});
    }
    // Of equals the newer ones.
    std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(quota),
                             [](const auto& a, const auto& b) {
                               if (a.first != b.first) return a.first < b.first;
                               return a.second.row > b.second.row;
                             });
    postings.resize(quota);
    for (std::size_t i = 0; i < quota; ++i) postings[i] = ranked[i].second;
  }

  std::unique_ptr<Source> source_;
  double rarity_;
  const Ranking& ranking_;
};

class And final : public RowMatcher {
 public:
  And(RowMatchers children, RowMatchers nots, std::uint32_t documents)
      : children_(std::move(children)), nots_(std::move(nots)), documents_(documents) {
    // The rarest leads.
    std::ranges::stable_sort(children_, {}, [](const auto& one) { return one->rows_max(); });
  }

  std::uint32_t seek(std::uint32_t row) override {
    for (row = all_at(row); row != kNoRow && refused(row);) row = all_at(row + 1);
    return row;
  }
  bool at(std::uint32_t row) override {
    return std::ranges::all_of(children_, [row](const auto& one) { return one->at(row); }) &&
           row <= documents_ && !refused(row);
  }
  double score(std::uint32_t row) override {
    double sum = 0;
    for (const auto& child : children_) sum += child->score(row);
    return sum;
  }
  Result<std::optional<double>> verify(std::uint32_t row) override {
    double sum = 0;
    for (const auto& child : children_) {
      TRY_ASSIGN(const std::optional<double> score, child->verify(row));
      if (!score) return score;
      sum += *score;
    }
    for (const auto& child : nots_) {
      TRY_ASSIGN(const std::optional<double> score, child->verify(row));
      if (score) return std::optional<double>();
    }
    return std::optional(sum);
  }
  bool unsure() const override { return any_unsure(children_) || any_unsure(nots_); }
  bool partial() const override { return any_partial(children_) || any_partial(nots_); }
  std::int64_t rows_max() const override {
    return children_.empty() ? documents_ : children_.front()->rows_max();
  }
  std::int64_t rows_min() const override {
    std::int64_t least = documents_;
    for (const auto& child : children_) least += child->rows_min() - documents_;
    for (const auto& child : nots_) least -= child->rows_max();
    return std::max<std::int64_t>(0, least);
  }
  Result<> best(std::vector<std::uint32_t>& rows, std::size_t quota) override {
    for (const auto& child : children_) TRY(child->best(rows, quota));
    return {};
  }
  std::size_t scoring() const override { return scoring_of(children_); }
  bool damaged() const override { return any_damaged(children_) || any_damaged(nots_); }

 private:
  std::uint32_t all_at(std::uint32_t row) {
    if (children_.empty()) return row <= documents_ ? row : kNoRow;
    for (std::size_t i = 0; i < children_.size() && row != kNoRow;) {
      const std::uint32_t at = children_[i]->seek(row);
      i = at == row || i == 0 ? i + 1 : 0;
      row = at;
    }
    return row;
  }
  // One that is unsure refuses nothing here: it is asked when a row is verified.
  bool refused(std::uint32_t row) const {
    return std::ranges::any_of(nots_,
                               [row](const auto& one) { return !one->unsure() && one->at(row); });
  }

  RowMatchers children_;
  RowMatchers nots_;
  std::uint32_t documents_;
};

class Or final : public RowMatcher {
 public:
  explicit Or(RowMatchers children) : children_(std::move(children)), at_(children_.size(), 0) {}

  std::uint32_t seek(std::uint32_t row) override {
    const bool back = row < sought_;
    sought_ = row;
    std::uint32_t first = kNoRow;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (back || at_[i] < row) at_[i] = children_[i]->seek(row);
      first = std::min(first, at_[i]);
    }
    return first;
  }
  bool at(std::uint32_t row) override {
    sought_ = row;
    bool any = false;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      // Where one stands that is not here, nobody knows: the next seek() finds out.
      at_[i] = children_[i]->at(row) ? row : 0;
      any = any || at_[i] == row;
    }
    return any;
  }
  double score(std::uint32_t row) override {
    double sum = 0;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (at_[i] == row) sum += children_[i]->score(row);
    }
    return sum;
  }
  Result<std::optional<double>> verify(std::uint32_t row) override {
    std::optional<double> sum;
    for (const auto& child : children_) {
      TRY_ASSIGN(const std::optional<double> score, child->verify(row));
      if (score) sum = sum.value_or(0) + *score;
    }
    // They stand elsewhere now.
    std::ranges::fill(at_, 0);
    return sum;
  }
  bool unsure() const override { return any_unsure(children_); }
  bool partial() const override { return any_partial(children_); }
  std::int64_t rows_max() const override {
    std::int64_t sum = 0;
    for (const auto& child : children_) sum += child->rows_max();
    return sum;
  }
  std::int64_t rows_min() const override {
    std::int64_t most = 0;
    for (const auto& child : children_) most = std::max(most, child->rows_min());
    return most;
  }
  Result<> best(std::vector<std::uint32_t>& rows, std::size_t quota) override {
    for (const auto& child : children_) TRY(child->best(rows, quota));
    return {};
  }
  std::size_t scoring() const override { return scoring_of(children_); }
  bool damaged() const override { return any_damaged(children_); }

 private:
  RowMatchers children_;
  std::vector<std::uint32_t> at_;
  std::uint32_t sought_ = 0;
};

}  // namespace

std::unique_ptr<RowMatcher> make_leaf(std::unique_ptr<Source> source, double rarity,
                                      const Ranking& ranking) {
  return std::make_unique<Leaf>(std::move(source), rarity, ranking);
}

std::unique_ptr<RowMatcher> make_and(RowMatchers children, RowMatchers nots,
                                     std::uint32_t documents) {
  if (children.size() == 1 && nots.empty()) return std::move(children.front());
  return std::make_unique<And>(std::move(children), std::move(nots), documents);
}

std::unique_ptr<RowMatcher> make_or(RowMatchers children) {
  if (children.size() == 1) return std::move(children.front());
  return std::make_unique<Or>(std::move(children));
}

}  // namespace quern::search

#include "search/source.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "search/pack_format.h"

namespace quern::search {
namespace {

class RowsSource final : public Source {
 public:
  explicit RowsSource(std::vector<Posting> postings, std::vector<std::vector<Spot>> spots = {})
      : postings_(std::move(postings)), spots_(std::move(spots)) {}

  std::uint32_t seek(std::uint32_t row) override {
    if (at_ > 0 && postings_[at_ - 1].row >= row) at_ = 0;
    // Most seeks are near.
    std::size_t leap = 1;
    std::size_t to = at_;
    while (to < postings_.size() && postings_[to].row < row) {
      at_ = to + 1;
      to += leap;
      leap *= 2;
    }
    const auto begin = postings_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end =
        postings_.begin() + static_cast<std::ptrdiff_t>(std::min(to, postings_.size()));
    const auto found = std::ranges::lower_bound(begin, end, row, {}, &Posting::row);
    at_ = static_cast<std::size_t>(found - postings_.begin());
    return at_ < postings_.size() ? postings_[at_].row : kNoRow;
  }
  std::uint32_t weight() const override { return postings_[at_].weight; }
  std::int64_t rows() const override { return std::ssize(postings_); }
  Result<std::vector<Posting>> best() override { return postings_; }
  Result<> spots(std::vector<Spot>& into) override {
    into.clear();
    if (at_ < spots_.size()) into = spots_[at_];
    return {};
  }

 private:
  std::vector<Posting> postings_;
  std::vector<std::vector<Spot>> spots_;  // of each, or none at all
  std::size_t at_ = 0;
};

class ListSource final : public Source {
 public:
  ListSource(std::int64_t id, std::int64_t rows, Connection& connection, std::uint32_t documents)
      : id_(id), rows_(rows), connection_(connection), documents_(documents) {}

  std::uint32_t seek(std::uint32_t row) override {
    if (!cursor_ && !load()) return kNoRow;
    return cursor_->seek(row);
  }
  std::uint32_t weight() const override { return cursor_->weight(); }
  std::int64_t rows() const override { return rows_; }
  Result<std::vector<Posting>> best() override {
    TRY_ASSIGN(const std::string best, connection_.list(id_, Connection::ListPart::Best));
    if (!best.empty()) return read_list(best, documents_);
    if (!cursor_ && !load()) return Error{Errc::Corrupt, "pack: a list is damaged"};
    return read_list(bytes_, documents_);
  }
  Result<> spots(std::vector<Spot>& into) override {
    return connection_.spots(id_, cursor_->place(), into);
  }
  bool damaged() const override { return damaged_ || (cursor_ && cursor_->damaged()); }

 private:
  bool load() {
    if (damaged_) return false;
    auto bytes = connection_.list(id_, Connection::ListPart::Rows);
    if (bytes) {
      bytes_ = *std::move(bytes);
      auto cursor = ListCursor::open(bytes_, documents_);
      if (cursor && cursor->rows() == rows_) cursor_.emplace(*std::move(cursor));
    }
    damaged_ = !cursor_;
    return !damaged_;
  }

  std::int64_t id_;
  std::int64_t rows_;
  Connection& connection_;
  std::uint32_t documents_;
  std::string bytes_;  // what the cursor reads
  std::optional<ListCursor> cursor_;
  bool damaged_ = false;
};

// The weight of every row of a pack, a byte each: adding up many lists takes no comparisons, and
// rows without any are passed eight at a time.
class DenseSource final : public Source {
 public:
  explicit DenseSource(std::uint32_t documents)
      : weights_((std::size_t{documents} + 1 + kStride - 1) / kStride * kStride) {}

  void add(Source& source) {
    for (std::uint32_t row = source.seek(1); row < weights_.size(); row = source.seek(row + 1)) {
      add({row, source.weight()});
    }
    damaged_ = damaged_ || source.damaged();
    least_ = std::max(least_, source.rows());
  }
  Result<> add_best(Source& source) {
    TRY_ASSIGN(const std::vector<Posting> best, source.best());
    for (const Posting& posting : best) add(posting);
    all_ = false;
    least_ = std::max(least_, source.rows());
    return {};
  }
  void leave_out() { all_ = false; }

  std::uint32_t seek(std::uint32_t row) override {
    std::size_t at = row;
    while (at < weights_.size() && weights_[at] == 0) {
      std::uint64_t eight = 0;
      if (at % kStride == 0) std::memcpy(&eight, weights_.data() + at, kStride);
      at += at % kStride == 0 && eight == 0 ? kStride : 1;
    }
    return at_ = at < weights_.size() ? static_cast<std::uint32_t>(at) : kNoRow;
  }
  std::uint32_t weight() const override { return weights_[at_]; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t rows_min() const override { return std::max(rows_, least_); }
  bool partial() const override { return !all_; }
  Result<std::vector<Posting>> best() override {
    std::vector<Posting> all;
    all.reserve(static_cast<std::size_t>(rows_));
    for (std::uint32_t row = seek(1); row != kNoRow; row = seek(row + 1)) {
      all.push_back({row, weights_[row]});
    }
    return all;
  }
  bool damaged() const override { return damaged_; }

 private:
  static constexpr std::size_t kStride = 8;

  void add(const Posting& posting) {
    if (posting.row >= weights_.size()) return;
    std::uint8_t& weight = weights_[posting.row];
    rows_ += weight == 0 ? 1 : 0;
    weight = static_cast<std::uint8_t>(std::min(weight + posting.weight, kWeightMax));
  }

  std::vector<std::uint8_t> weights_;
  std::int64_t rows_ = 0;
  std::int64_t least_ = 0;  // of one source, whether it was taken as a whole or not
  std::uint32_t at_ = 0;
  bool all_ = true;
  bool damaged_ = false;
};

// Of phrases that must be looked up.
class AnySource final : public Source {
 public:
  explicit AnySource(std::vector<std::unique_ptr<Source>> sources)
      : sources_(std::move(sources)), at_(sources_.size(), 0) {}

  std::uint32_t seek(std::uint32_t row) override {
    const bool back = row < sought_;
    sought_ = row;
    row_ = kNoRow;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (back || at_[i] < row) at_[i] = sources_[i]->seek(row);
      row_ = std::min(row_, at_[i]);
    }
    return row_;
  }
  std::uint32_t weight() const override {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (at_[i] == row_) sum += sources_[i]->weight();
    }
    return std::min(sum, kWeightMax);
  }
  std::int64_t rows() const override {
    std::int64_t sum = 0;
    for (const auto& source : sources_) sum += source->rows();
    return sum;
  }
  std::int64_t rows_min() const override { return 0; }
  bool partial() const override { return true; }
  bool unsure() const override { return true; }
  Result<std::uint32_t> probe() override {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (at_[i] != row_) continue;
      TRY_ASSIGN(const std::uint32_t weight, sources_[i]->probe());
      sum += weight;
    }
    return std::min(sum, kWeightMax);
  }
  Result<std::vector<Posting>> best() override {
    std::vector<Posting> all;
    for (const auto& source : sources_) {
      TRY_ASSIGN(const std::vector<Posting> some, source->best());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  bool damaged() const override {
    return std::ranges::any_of(sources_, [](const auto& source) { return source->damaged(); });
  }

 private:
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::uint32_t> at_;
  std::uint32_t sought_ = 0;
  std::uint32_t row_ = kNoRow;
};

class PhraseSource final : public Source {
 public:
  PhraseSource(std::vector<std::unique_ptr<Source>> tokens, Field field)
      : tokens_(std::move(tokens)), field_(field), spots_(tokens_.size()) {
    for (const auto& token : tokens_) order_.push_back(token.get());
    // The rarest leads.
    std::ranges::stable_sort(order_, {}, [](const Source* token) { return token->rows(); });
  }

  std::uint32_t seek(std::uint32_t row) override {
    for (std::size_t i = 0; i < order_.size() && row != kNoRow;) {
      const std::uint32_t at = order_[i]->seek(row);
      i = at == row || i == 0 ? i + 1 : 0;
      row = at;
    }
    return row;
  }
  bool at(std::uint32_t row) override {
    return std::ranges::all_of(order_, [row](Source* token) { return token->at(row); });
  }
  std::uint32_t weight() const override {
    std::uint32_t least = kWeightMax;
    for (const auto& token : tokens_) least = std::min(least, token->weight());
    return least;
  }
  std::int64_t rows() const override { return order_.front()->rows(); }
  std::int64_t rows_min() const override { return 0; }
  // The rarest word's best; where the others stand is looked up.
  Result<std::vector<Posting>> best() override { return order_.front()->best(); }
  bool unsure() const override { return true; }
  Result<std::uint32_t> probe() override {
    for (std::size_t i = 0; i < tokens_.size(); ++i) TRY(tokens_[i]->spots(spots_[i]));
    RowHits hits;
    for (const Spot first : spots_[0]) {
      const auto column = static_cast<std::size_t>(first >> kSpotBits);
      if (column >= kFields) return Error{Errc::Corrupt, "pack: spots are damaged"};
      if (field_ != Field::Any && column + 1 != static_cast<std::size_t>(field_)) continue;
      bool follows = true;
      for (std::size_t i = 1; i < spots_.size() && follows; ++i) {
        follows = std::ranges::binary_search(spots_[i], first + i);
      }
      if (follows && hits.by_field[column] < kWeightMax) ++hits.by_field[column];
    }
    return weight_of(hits);
  }
  bool damaged() const override {
    return std::ranges::any_of(tokens_, [](const auto& token) { return token->damaged(); });
  }

 private:
  std::vector<std::unique_ptr<Source>> tokens_;  // as they follow each other
  std::vector<Source*> order_;
  Field field_;
  std::vector<std::vector<Spot>> spots_;  // of each token, where it was looked up
};

}  // namespace

std::unique_ptr<Source> make_rows_source(std::vector<Posting> postings) {
  return std::make_unique<RowsSource>(std::move(postings));
}

std::unique_ptr<Source> make_spotted_source(std::vector<Posting> postings,
                                            std::vector<std::vector<Spot>> spots) {
  return std::make_unique<RowsSource>(std::move(postings), std::move(spots));
}

Result<std::unique_ptr<Source>> make_list_source(std::int64_t id, Connection& connection,
                                                 std::uint32_t documents) {
  TRY_ASSIGN(const std::int64_t rows, connection.list_rows(id));
  if (rows == 0) return make_rows_source({});
  if (rows < 0 || rows > std::int64_t{documents}) {
    return Error{Errc::Corrupt, "pack: a list is damaged"};
  }
  return std::unique_ptr<Source>(std::make_unique<ListSource>(id, rows, connection, documents));
}

Result<std::unique_ptr<Source>> make_any_source(std::vector<std::unique_ptr<Source>> sources,
                                                Whole whole, std::uint32_t documents) {
  if (std::ranges::any_of(sources, [](const auto& source) { return source->unsure(); })) {
    return std::unique_ptr<Source>(std::make_unique<AnySource>(std::move(sources)));
  }
  auto dense = std::make_unique<DenseSource>(documents);
  if (whole == Whole::No) dense->leave_out();
  for (const auto& source : sources) {
    const std::int64_t room = kAnyRowsMax - dense->rows();
    if (source->rows() <= room) {
      dense->add(*source);
    } else if (room > 0) {
      TRY(dense->add_best(*source));
    } else {
      dense->leave_out();
    }
  }
  return std::unique_ptr<Source>(std::move(dense));
}

Result<std::unique_ptr<Source>> make_phrase_source(std::vector<std::unique_ptr<Source>> tokens,
                                                   Field field) {
  auto phrase = std::make_unique<PhraseSource>(std::move(tokens), field);
  if (phrase->rows() > kPhraseRowsSure) return std::unique_ptr<Source>(std::move(phrase));
  std::vector<Posting> sure;
  for (std::uint32_t row = phrase->seek(1); row != kNoRow; row = phrase->seek(row + 1)) {
    TRY_ASSIGN(const std::uint32_t weight, phrase->probe());
    if (weight > 0) sure.push_back({row, weight});
  }
  if (phrase->damaged()) return Error{Errc::Corrupt, "pack: a list is damaged"};
  return make_rows_source(std::move(sure));
}

}  // namespace quern::search

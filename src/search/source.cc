#include "search/source.h"

#include <algorithm>

#include "search/pack_format.h"

namespace quern::search {
namespace {

class RowsSource final : public Source {
 public:
  explicit RowsSource(std::vector<Posting> postings) : postings_(std::move(postings)) {}

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

 private:
  std::vector<Posting> postings_;
  std::size_t at_ = 0;
};

class ListSource final : public Source {
 public:
  ListSource(std::unique_ptr<const std::string> bytes, std::string best, ListCursor cursor,
             std::uint32_t documents)
      : bytes_(std::move(bytes)),
        best_(std::move(best)),
        cursor_(std::move(cursor)),
        documents_(documents) {}

  std::uint32_t seek(std::uint32_t row) override { return cursor_.seek(row); }
  std::uint32_t weight() const override { return cursor_.weight(); }
  std::int64_t rows() const override { return cursor_.rows(); }
  Result<std::vector<Posting>> best() override {
    return read_list(best_.empty() ? *bytes_ : best_, documents_);
  }
  bool damaged() const override { return cursor_.damaged(); }

 private:
  std::unique_ptr<const std::string> bytes_;  // what the cursor reads
  std::string best_;
  ListCursor cursor_;
  std::uint32_t documents_;
};

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
  bool exact() const override { return sources_.size() <= 1; }
  bool unsure() const override {
    return std::ranges::any_of(sources_, [](const auto& source) { return source->unsure(); });
  }
  Result<std::uint32_t> probe(Connection& connection) override {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (at_[i] != row_) continue;
      TRY_ASSIGN(const std::uint32_t weight, sources_[i]->probe(connection));
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
  PhraseSource(std::vector<std::unique_ptr<Source>> tokens, std::string phrase)
      : tokens_(std::move(tokens)), phrase_(std::move(phrase)) {
    // The rarest leads.
    std::ranges::sort(tokens_, {}, [](const auto& token) { return token->rows(); });
  }

  std::uint32_t seek(std::uint32_t row) override {
    for (std::size_t i = 0; i < tokens_.size() && row != kNoRow;) {
      const std::uint32_t at = tokens_[i]->seek(row);
      i = at == row || i == 0 ? i + 1 : 0;
      row = at;
    }
    return row_ = row;
  }
  std::uint32_t weight() const override {
    std::uint32_t least = kWeightMax;
    for (const auto& token : tokens_) least = std::min(least, token->weight());
    return least;
  }
  std::int64_t rows() const override { return tokens_.front()->rows(); }
  bool exact() const override { return false; }
  // The rarest word's best; where the others stand is looked up.
  Result<std::vector<Posting>> best() override { return tokens_.front()->best(); }
  bool unsure() const override { return true; }
  Result<std::uint32_t> probe(Connection& connection) override {
    return connection.probe(phrase_, row_);
  }
  bool damaged() const override {
    return std::ranges::any_of(tokens_, [](const auto& token) { return token->damaged(); });
  }

 private:
  std::vector<std::unique_ptr<Source>> tokens_;
  std::string phrase_;
  std::uint32_t row_ = kNoRow;
};

}  // namespace

std::unique_ptr<Source> make_rows_source(std::vector<Posting> postings) {
  return std::make_unique<RowsSource>(std::move(postings));
}

Result<std::unique_ptr<Source>> make_list_source(std::string rows, std::string best,
                                                 std::uint32_t documents) {
  auto bytes = std::make_unique<const std::string>(std::move(rows));
  TRY_ASSIGN(ListCursor cursor, ListCursor::open(*bytes, documents));
  return std::unique_ptr<Source>(std::make_unique<ListSource>(std::move(bytes), std::move(best),
                                                              std::move(cursor), documents));
}

std::unique_ptr<Source> make_any_source(std::vector<std::unique_ptr<Source>> sources) {
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<AnySource>(std::move(sources));
}

std::unique_ptr<Source> make_phrase_source(std::vector<std::unique_ptr<Source>> tokens,
                                           std::string phrase) {
  return std::make_unique<PhraseSource>(std::move(tokens), std::move(phrase));
}

}  // namespace quern::search

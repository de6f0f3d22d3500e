#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "bench/search/engine.h"
#include "search/pack.h"
#include "search/snippet.h"

namespace quern::bench {
namespace {

using search::Pack;

constexpr std::size_t kHits = 10;

class Packs final : public Engine {
 public:
  Packs(std::filesystem::path folder, std::int64_t documents_each)
      : folder_(std::move(folder)), documents_each_(documents_each) {
    std::filesystem::create_directories(folder_);
  }

  void add(const search::PackDocument& document) override {
    if (builder_ && builder_->documents() == documents_each_) finish();
    if (!builder_) {
      auto made = search::PackBuilder::create(path());
      CHECK_OK(made);
      builder_ = std::make_unique<search::PackBuilder>(*std::move(made));
    }
    CHECK_OK(builder_->add(document));
  }

  void finish() override {
    if (!builder_) return;
    const auto info = builder_->finish();
    CHECK_OK(info);
    bytes_ += static_cast<std::uintmax_t>(info->file_bytes);
    auto pack = Pack::open(path());
    CHECK_OK(pack);
    packs_.push_back(*std::move(pack));
    builder_.reset();
  }

  std::vector<std::int64_t> search(const std::string& text) override {
    const search::Query query = search::parse_query(text);
    const std::vector<std::string> tokens = search::tokens_of(query);
    search::Frequencies frequencies;
    for (const auto& pack : packs_) {
      const auto found = pack->frequencies(tokens);
      CHECK_OK(found);
      frequencies.add(*found);
    }
    search::Question question;
    question.query = &query;
    question.frequencies = &frequencies;
    question.limit = kHits;
    std::vector<std::pair<search::Found, const Pack*>> all;
    for (const auto& pack : packs_) {
      const auto answer = pack->search(question);
      CHECK_OK(answer);
      for (const search::Found& found : answer->found) all.emplace_back(found, pack.get());
    }
    std::ranges::sort(all, [](const auto& a, const auto& b) {
      return search::goes_before(search::Sort::Relevance, a.first.place, b.first.place);
    });
    all.resize(std::min(all.size(), kHits));
    search::Highlighter highlighter(query);
    std::vector<std::int64_t> files;
    for (const auto& [found, pack] : all) {
      const auto hit = pack->show(found.row, highlighter);
      CHECK_OK(hit);
      files.push_back(hit->file);
    }
    return files;
  }

  std::uintmax_t bytes() const override { return bytes_; }

 private:
  std::filesystem::path path() const { return folder_ / fmt::format("{}.pack", packs_.size()); }

  std::filesystem::path folder_;
  std::int64_t documents_each_;
  std::unique_ptr<search::PackBuilder> builder_;
  std::vector<std::shared_ptr<Pack>> packs_;
  std::uintmax_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_packs(const std::filesystem::path& folder,
                                   std::int64_t documents_each) {
  return std::make_unique<Packs>(folder, documents_each);
}

}  // namespace quern::bench

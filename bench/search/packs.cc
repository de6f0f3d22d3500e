#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "bench/search/engine.h"
#include "search/pack.h"
#include "search/snippet.h"

namespace quern::bench {
namespace {

using search::Pack;

constexpr std::size_t kHits = 10;

class Packs final : public PackEngine {
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

  void publish(const std::vector<search::PackDocument>& documents) override {
    const std::filesystem::path path = folder_ / fmt::format("published{}.pack", published_++);
    auto builder = search::PackBuilder::create(path);
    CHECK_OK(builder);
    for (const search::PackDocument& document : documents) CHECK_OK(builder->add(document));
    CHECK_OK(builder->finish());
    auto pack = Pack::open(path);
    CHECK_OK(pack);
    const std::lock_guard lock(mutex_);
    if (published_ > 1) packs_.pop_back();
    packs_.push_back(*std::move(pack));
  }

  std::vector<std::int64_t> search(const std::string& text) override {
    const std::vector<std::shared_ptr<Pack>> packs = current();
    const search::Query query = search::parse_query(text);
    const std::vector<std::string> tokens = search::tokens_of(query);
    search::Frequencies frequencies;
    for (const auto& pack : packs) {
      const auto found = pack->frequencies(tokens);
      CHECK_OK(found);
      frequencies.add(*found);
    }
    search::Question question;
    question.query = &query;
    question.frequencies = &frequencies;
    question.limit = kHits;
    std::vector<std::pair<search::Found, const Pack*>> all;
    for (const auto& pack : packs) {
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
  std::vector<std::shared_ptr<Pack>> current() {
    const std::lock_guard lock(mutex_);
    return packs_;
  }
  std::filesystem::path path() const { return folder_ / fmt::format("{}.pack", packs_.size()); }

  std::filesystem::path folder_;
  std::int64_t documents_each_;
  std::unique_ptr<search::PackBuilder> builder_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Pack>> packs_;
  int published_ = 0;
  std::uintmax_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<PackEngine> make_packs(const std::filesystem::path& folder,
                                       std::int64_t documents_each) {
  return std::make_unique<Packs>(folder, documents_each);
}

}  // namespace quern::bench

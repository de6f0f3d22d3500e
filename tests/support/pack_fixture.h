// For tests of packs: builds one from documents and asks it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "search/pack.h"
#include "search/pack_builder.h"
#include "search/query.h"
#include "search/snippet.h"
#include "support/temp_folder.h"

namespace quern::search {

struct Asked {
  Answer answer;
  std::vector<std::int64_t> files;
};

class PackTest : public testing::Test {
 protected:
  std::shared_ptr<Pack> build(const std::vector<PackDocument>& documents,
                              const std::string& name = "pack") {
    auto builder = PackBuilder::create(folder_ / name);
    CHECK_OK(builder);
    for (const PackDocument& document : documents) CHECK_OK(builder->add(document));
    auto info = builder->finish();
    CHECK_OK(info);
    info_ = *info;
    return open(name);
  }
  std::shared_ptr<Pack> open(const std::string& name = "pack") {
    auto pack = Pack::open(folder_ / name);
    CHECK_OK(pack);
    return *pack;
  }

  struct Ask {
    Sort sort = Sort::Relevance;
    std::size_t limit = 10;
    const Mask* mask = nullptr;
    std::span<const std::int64_t> hidden_jobs;
    const std::vector<std::int64_t>* only_jobs = nullptr;
    std::optional<Place> after;
    bool facets = false;
  };
  static Asked ask(const Pack& pack, const std::string& text) { return ask(pack, text, Ask{}); }
  static Asked ask(const Pack& pack, const std::string& text, const Ask& how) {
    return ask_query(pack, parse_query(text), how);
  }
  static Asked ask_query(const Pack& pack, const Query& query, const Ask& how) {
    auto frequencies = pack.frequencies(tokens_of(query));
    CHECK_OK(frequencies);
    auto answer = pack.search({.query = &query,
                               .frequencies = &*frequencies,
                               .mask = how.mask,
                               .hidden_jobs = how.hidden_jobs,
                               .only_jobs = how.only_jobs,
                               .sort = how.sort,
                               .limit = how.limit,
                               .after = how.after,
                               .facets = how.facets});
    CHECK_OK(answer);
    Asked asked{.answer = *std::move(answer)};
    for (const Found& found : asked.answer.found) asked.files.push_back(found.place.file);
    return asked;
  }
  static Hit show(const Pack& pack, const std::string& text, std::uint32_t row) {
    const Query query = parse_query(text);
    Highlighter highlighter(query);
    auto hit = pack.show(row, highlighter);
    CHECK_OK(hit);
    return *std::move(hit);
  }

  support::TempFolder folder_;
  PackInfo info_;
};

using Files = std::vector<std::int64_t>;

// Documents of words whose frequencies fall like those of a language: w1 is in nearly all.
inline std::vector<PackDocument> seeded_documents(int count, int words, int vocabulary) {
  std::mt19937_64 random(6);  // NOLINT: the same documents every time
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<PackDocument> documents;
  for (int i = 1; i <= count; ++i) {
    PackDocument document{
        .file = i,
        .job = i % 7,
        .filename = "d" + std::to_string(i % 50) + "/f" + std::to_string(i) + ".txt"};
    document.type = i % 3 == 0 ? "application/pdf" : "text/plain";
    document.day = static_cast<std::int32_t>(random() % 20'000);
    for (int w = 0; w < words; ++w) {
      const double rank = std::pow(static_cast<double>(vocabulary), uniform());
      document.text += "w" + std::to_string(static_cast<int>(rank)) + " ";
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace quern::search

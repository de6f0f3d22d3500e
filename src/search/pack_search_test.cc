// Searching packs, held against looking through all documents one by one.
#include <cmath>
#include <map>
#include <set>

#include "search/list.h"
#include "search/pack_search.h"
#include "search/rank.h"
#include "support/pack_fixture.h"

namespace quern::search {
namespace {

// Enough that common words have lists and champions, and more matches than may be scored.
constexpr int kMany = 14'000;

// What is known of a document without a pack.
struct Known {
  PackDocument document;
  std::map<std::string, int> words;
  std::vector<std::string> text;
};

class ManyTest : public PackTest {
 protected:
  // Built once for all tests.
  static void SetUpTestSuite() {
    shared_ = new Shared();
    auto builder = PackBuilder::create(shared_->folder / "pack");
    CHECK_OK(builder);
    for (PackDocument& document : seeded_documents(kMany, 30, 3'000)) {
      CHECK_OK(builder->add(document));
      Known known{.document = std::move(document)};
      std::istringstream words(known.document.text);
      for (std::string word; words >> word;) {
        ++known.words[word];
        known.text.push_back(word);
      }
      shared_->known.push_back(std::move(known));
    }
    CHECK_OK(builder->finish());
    shared_->pack = *Pack::open(shared_->folder / "pack");
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  struct Shared {
    support::TempFolder folder;
    std::vector<Known> known;
    std::shared_ptr<Pack> pack;
  };
  static const Pack& pack() { return *shared_->pack; }

  template <class Matches>
  static std::set<std::int64_t> all(const Matches& matches) {
    std::set<std::int64_t> files;
    for (const Known& known : shared_->known) {
      if (matches(known)) files.insert(known.document.file);
    }
    return files;
  }
  // Everything that is found, and that it is no more than that.
  static std::set<std::int64_t> found(const std::string& query, const Ask& how) {
    const Asked asked = ask(pack(), query, how);
    const std::set<std::int64_t> files(asked.files.begin(), asked.files.end());
    EXPECT_EQ(files.size(), asked.files.size()) << "a document comes twice";
    return files;
  }
  static bool has(const Known& known, const std::string& word) {
    return known.words.contains(word);
  }
  static bool has_pair(const Known& known, const std::string& a, const std::string& b) {
    for (std::size_t i = 1; i < known.text.size(); ++i) {
      if (known.text[i - 1] == a && known.text[i] == b) return true;
    }
    return false;
  }

  static inline Shared* shared_ = nullptr;
};

constexpr std::size_t kAll = kCandidatesMax;

TEST_F(ManyTest, WordsOfAllFrequenciesAreFoundExactly) {
  for (const char* word : {"w3", "w5", "w20", "w100", "w700", "w2999"}) {
    const auto expected = all([&](const Known& known) { return has(known, word); });
    ASSERT_FALSE(expected.empty()) << word;
    const Asked asked = ask(pack(), word, {.limit = kAll});
    EXPECT_EQ(asked.answer.total, std::ssize(expected)) << word;
    EXPECT_TRUE(asked.answer.exact) << word;
    if (expected.size() <= kAll) {
      EXPECT_EQ(std::set(asked.files.begin(), asked.files.end()), expected) << word;
    }
  }
}

TEST_F(ManyTest, AndOrAndNotAreWhatTheySay) {
  EXPECT_EQ(found("w5 w9", {.limit = kAll}),
            all([](const Known& d) { return has(d, "w5") && has(d, "w9"); }));
  EXPECT_EQ(found("w50 w1", {.limit = kAll}),
            all([](const Known& d) { return has(d, "w50") && has(d, "w1"); }));
  EXPECT_EQ(found("w300 OR w40", {.limit = kAll}),
            all([](const Known& d) { return has(d, "w300") || has(d, "w40"); }));
  EXPECT_EQ(found("w20 -w1 -w2", {.limit = kAll}),
            all([](const Known& d) { return has(d, "w20") && !has(d, "w1") && !has(d, "w2"); }));
  EXPECT_EQ(found("w20 (w7 OR (w8 w9)) -w1500", {.limit = kAll}), all([](const Known& d) {
              return has(d, "w20") && (has(d, "w7") || (has(d, "w8") && has(d, "w9"))) &&
                     !has(d, "w1500");
            }));
  EXPECT_EQ(found("w900 OR (w30 -w1)", {.limit = kAll}),
            all([](const Known& d) { return has(d, "w900") || (has(d, "w30") && !has(d, "w1")); }));
}

TEST_F(ManyTest, PhrasesOfRareAndOfCommonWordsAreFound) {
  EXPECT_EQ(found("\"w40 w60\"", {.limit = kAll}),
            all([](const Known& d) { return has_pair(d, "w40", "w60"); }));
  const auto expected = all([](const Known& d) { return has_pair(d, "w2", "w3"); });
  for (const Sort sort : {Sort::Relevance, Sort::Newest, Sort::Oldest}) {
    const Asked asked = ask(pack(), "\"w2 w3\"", {.sort = sort});
    EXPECT_EQ(asked.files.size(), 10U);
    EXPECT_LE(asked.answer.total, std::ssize(expected));
    for (const std::int64_t file : asked.files) EXPECT_TRUE(expected.contains(file)) << file;
  }
}

TEST_F(ManyTest, NoHitsAtAllCanBeAskedFor) {
  for (const Sort sort : {Sort::Relevance, Sort::Newest, Sort::Oldest}) {
    for (const char* query : {"w1", "w2000", "\"w2 w3\"", "w2*", "type:pdf", "-w1"}) {
      EXPECT_TRUE(ask(pack(), query, {.sort = sort, .limit = 0}).files.empty()) << query;
    }
  }
}

TEST_F(ManyTest, PagesOfAPhraseOfCommonWordsFollowEachOther) {
  for (const Sort sort : {Sort::Relevance, Sort::Newest}) {
    const Asked whole = ask(pack(), "\"w2 w3\"", {.sort = sort, .limit = 30});
    ASSERT_EQ(whole.files.size(), 30U);
    Files pages;
    std::optional<Place> after;
    for (int page = 0; page < 3; ++page) {
      const Asked asked = ask(pack(), "\"w2 w3\"", {.sort = sort, .limit = 10, .after = after});
      pages.insert(pages.end(), asked.files.begin(), asked.files.end());
      ASSERT_EQ(asked.files.size(), 10U);
      after = asked.answer.found.back().place;
    }
    EXPECT_EQ(pages, whole.files);
  }
}

TEST_F(ManyTest, APhraseThatIsRefusedIsLookedUpToo) {
  const Asked asked = ask(pack(), "w60 -\"w2 w3\"", {.limit = 200});
  const auto expected =
      all([](const Known& d) { return has(d, "w60") && !has_pair(d, "w2", "w3"); });
  EXPECT_GE(asked.files.size(), 100U);
  for (const std::int64_t file : asked.files) EXPECT_TRUE(expected.contains(file)) << file;
}

TEST_F(ManyTest, PrefixesMeanTheirWords) {
  EXPECT_EQ(found("w299*", {.limit = kAll}), all([](const Known& d) {
              return std::ranges::any_of(
                  d.words, [](const auto& word) { return word.first.starts_with("w299"); });
            }));
  // Too many words: those that are most frequent.
  const Asked asked = ask(pack(), "w2*", {.limit = 50});
  EXPECT_EQ(asked.files.size(), 50U);
  EXPECT_FALSE(asked.answer.exact);
}

TEST_F(ManyTest, DaysComeInTheirOrderAndPagesOfAnswersFollowEachOther) {
  for (const Sort sort : {Sort::Newest, Sort::Oldest, Sort::Relevance}) {
    for (const char* query : {"w1", "w20 w2", "w300", "w1 type:pdf", "-w1", "type:pdf"}) {
      const Asked whole = ask(pack(), query, {.sort = sort, .limit = 60});
      ASSERT_EQ(whole.files.size(), 60U) << query;
      for (std::size_t i = 1; i < whole.answer.found.size(); ++i) {
        EXPECT_TRUE(
            goes_before(sort, whole.answer.found[i - 1].place, whole.answer.found[i].place));
      }
      Files pages;
      std::optional<Place> after;
      for (int page = 0; page < 6; ++page) {
        const Asked asked = ask(pack(), query, {.sort = sort, .limit = 10, .after = after});
        pages.insert(pages.end(), asked.files.begin(), asked.files.end());
        ASSERT_FALSE(asked.files.empty()) << query;
        after = asked.answer.found.back().place;
      }
      EXPECT_EQ(pages, whole.files) << query;
    }
  }
}

TEST_F(ManyTest, TheNewestAndTheOldestOfACommonWordAreExact) {
  std::vector<std::pair<std::int32_t, std::int64_t>> days;
  for (const Known& known : shared_->known) {
    if (has(known, "w1")) days.push_back({known.document.day, known.document.file});
  }
  std::ranges::sort(days);
  const Asked oldest = ask(pack(), "w1", {.sort = Sort::Oldest});
  const Asked newest = ask(pack(), "w1", {.sort = Sort::Newest});
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(oldest.answer.found.at(i).place.day, days.at(i).first);
    EXPECT_EQ(newest.answer.found.at(i).place.day, days.at(days.size() - 1 - i).first);
  }
}

TEST_F(ManyTest, TheOldestOfAYearAreThoseOfItsFirstDays) {
  std::vector<std::int32_t> days;
  for (const Known& known : shared_->known) {
    if (has(known, "w1") && known.document.day >= 10'957) days.push_back(known.document.day);
  }
  std::ranges::sort(days);
  const Asked asked = ask(pack(), "w1 date:2000..", {.sort = Sort::Oldest});
  ASSERT_EQ(asked.answer.found.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(asked.answer.found[i].place.day, days.at(i));
  }
}

TEST_F(ManyTest, FiltersHoldForCommonAndRareWords) {
  for (const std::string word : {"w1", "w200", "w1500"}) {
    const auto expected = all([&](const Known& d) {
      return has(d, word) && d.document.type == "application/pdf" && d.document.day >= 10'957 &&
             d.document.day < 14'610 && d.document.filename.starts_with("d7/");
    });
    EXPECT_EQ(found(word + " type:pdf date:2000..2009 path:d7", {.limit = kAll}), expected) << word;
    EXPECT_EQ(found(word + " -path:d7", {.sort = Sort::Newest}).size(), 10U);
  }
}

TEST_F(ManyTest, HiddenJobsAreNotShown) {
  const std::vector<std::int64_t> hidden = {0, 1, 2, 3, 5, 6};
  const Asked asked = ask(pack(), "w1", {.limit = kAll, .hidden_jobs = hidden});
  EXPECT_EQ(std::set(asked.files.begin(), asked.files.end()),
            all([](const Known& d) { return has(d, "w1") && d.document.job == 4; }));
}

TEST_F(ManyTest, OnlyTheJobsThatWereNamedAreShown) {
  const std::vector<std::int64_t> only = {4, 6, 999};
  const std::vector<std::int64_t> hidden = {6};
  const auto expected = all([](const Known& d) { return has(d, "w1") && d.document.job == 4; });
  const Asked asked = ask(pack(), "w1", {.limit = kAll, .hidden_jobs = hidden, .only_jobs = &only});
  EXPECT_EQ(std::set(asked.files.begin(), asked.files.end()), expected);
  const std::vector<std::int64_t> nobody;
  EXPECT_EQ(ask(pack(), "w1", {.limit = kAll, .only_jobs = &nobody}).answer.total, 0);
}

TEST_F(ManyTest, MaskedDocumentsAreTakenOffTheTotalOfACommonWord) {
  Mask mask(kMany);
  for (std::uint32_t row = 1; row <= 100; ++row) mask.set(row);
  const auto having = std::ssize(all([](const Known& d) { return has(d, "w1"); }));
  const Asked asked = ask(pack(), "w1", {.mask = &mask});
  EXPECT_FALSE(asked.answer.exact);
  EXPECT_GE(asked.answer.total, having - 100);
  EXPECT_LE(asked.answer.total, having);
  const Mask none(kMany);
  EXPECT_TRUE(ask(pack(), "w1", {.mask = &none}).answer.exact);
}

TEST_F(ManyTest, FacetsCountTypesAndYears) {
  const Asked asked = ask(pack(), "w300", {.facets = true});
  std::map<std::string, std::int64_t> types;
  std::int64_t years = 0;
  for (const Known& known : shared_->known) {
    if (has(known, "w300")) ++types[known.document.type];
  }
  EXPECT_EQ(asked.answer.types, types);
  for (const auto& [year, count] : asked.answer.years) {
    EXPECT_GE(year, 1970);
    EXPECT_LE(year, 2024);
    years += count;
  }
  EXPECT_EQ(years, asked.answer.total);
}

// The plain formula, for every document: champions leave none of the best out.
TEST_F(ManyTest, ScoresAreThoseOfTheFormulaAndTheBestAreFound) {
  // All documents are equally long, so that only the weights count.
  const auto impact = [](double weight) { return weight / (weight + kSaturation); };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"w1"}, {"w1", "w2"}, {"w2", "w9"}, {"w30", "w4"}, {"w700"}}) {
    std::string query;
    std::map<std::string, double> rarity;
    for (const std::string& word : words) {
      query += word + " ";
      const auto having =
          static_cast<double>(all([&](const Known& d) { return has(d, word); }).size());
      rarity[word] = std::log(1 + (kMany - having + 0.5) / (having + 0.5));
    }
    std::vector<double> scores;
    for (const Known& known : shared_->known) {
      double score = 0;
      for (const std::string& word : words) {
        if (!has(known, word)) score = -100;
        if (score >= 0) score += rarity[word] * impact(known.words.at(word));
      }
      scores.push_back(score);
    }
    std::ranges::sort(scores, std::greater<>());
    const Asked asked = ask(pack(), query);
    ASSERT_EQ(asked.files.size(), 10U);
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(asked.answer.found[i].place.score, scores[i], 1e-9) << query << i;
    }
  }
}

TEST_F(ManyTest, ManyThreadsAskAtOnce) {
  const Asked calm = ask(pack(), "w5 w9");
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) same += ask(pack(), "w5 w9").files == calm.files ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 160);
}

TEST_F(ManyTest, SuggestionsAreTheMostFrequentWords) {
  const auto words = pack().suggest("w", 5);
  ASSERT_TRUE(words.ok());
  ASSERT_EQ(words->size(), 5U);
  EXPECT_EQ((*words)[0].word, "w1");
  EXPECT_EQ((*words)[1].word, "w2");
  EXPECT_EQ((*words)[0].documents,
            std::ssize(all([](const Known& known) { return has(known, "w1"); })));
  const auto few = pack().suggest("w299", 100);
  ASSERT_TRUE(few.ok());
  for (const Suggestion& word : *few) EXPECT_TRUE(word.word.starts_with("w299"));
  EXPECT_EQ(few->size(), 11U);
  EXPECT_TRUE(pack().suggest("nothing", 5)->empty());
  EXPECT_TRUE(pack().suggest("", 5)->empty());
}

}  // namespace
}  // namespace quern::search

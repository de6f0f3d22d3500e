#include <algorithm>
#include <vector>

#include "search/fts.h"
#include "search/list.h"
#include "search/pack_finish.h"
#include "search/rank.h"
#include "search/sqlite_file.h"

namespace quern::search {
namespace {

constexpr char kMakeVocabulary[] =
    "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)";
constexpr char kDropVocabulary[] = "DROP TABLE temp.vocabulary";
constexpr char kVocabulary[] = "SELECT term, doc FROM temp.vocabulary";
constexpr char kTerm[] =
    "INSERT INTO term(token, documents, word, alone, list) VALUES(?1, ?2, ?3, ?4, ?5)";
constexpr char kBegin[] =
    "INSERT INTO begin(beginning, place, token, documents) VALUES(?1, ?2, ?3, ?4)";
constexpr char kListed[] = "SELECT token, list FROM term WHERE list > 0";
constexpr char kPostings[] = "SELECT rowid, quern_weight(words) FROM words WHERE words MATCH ?1";
constexpr char kSpot[] = "INSERT INTO spot(id, data) VALUES(?1, ?2)";
constexpr char kList[] = "INSERT INTO list(id, documents, best, rows) VALUES(?1, ?2, ?3, ?4)";

struct Common {
  std::string token;
  std::int64_t documents = 0;
};

bool more_common(const Common& a, const Common& b) {
  if (a.documents != b.documents) return a.documents > b.documents;
  return a.token < b.token;
}

// The beginnings of the word that came last, each with its best words. Words come sorted, so a
// beginning that the next one does not share is over.
class Beginnings {
 public:
  explicit Beginnings(Statement insert) : insert_(std::move(insert)), open_(kBeginningBytesMax) {}

  Result<> add(std::string_view word, std::int64_t documents) {
    TRY(close(shared_with(word)));
    last_.assign(word);
    const std::size_t depth = std::min(word.size(), kBeginningBytesMax);
    for (std::size_t i = 0; i < depth; ++i) open_[i].add({last_, documents});
    return {};
  }
  Result<> finish() { return close(0); }

 private:
  struct Open {
    std::size_t words = 0;
    std::vector<Common> best;  // a heap, the least common first
    void add(Common word) {
      ++words;
      if (best.size() == kBeginningWordsKept && !more_common(word, best.front())) return;
      best.push_back(std::move(word));
      std::ranges::push_heap(best, more_common);
      if (best.size() <= kBeginningWordsKept) return;
      std::ranges::pop_heap(best, more_common);
      best.pop_back();
    }
  };

  std::size_t shared_with(std::string_view word) const {
    const auto [end, other] = std::ranges::mismatch(last_, word);
    return static_cast<std::size_t>(end - last_.begin());
  }

  Result<> close(std::size_t depth) {
    for (std::size_t i = std::min(last_.size(), kBeginningBytesMax); i > depth; --i) {
      Open done = std::move(open_[i - 1]);
      open_[i - 1] = {};
      if (done.words > kBeginningWordsMin) TRY(write(std::string_view(last_).substr(0, i), done));
    }
    return {};
  }

  Result<> write(std::string_view beginning, Open& done) {
    std::ranges::sort(done.best, more_common);
    std::int64_t place = 0;
    for (const Common& word : done.best) {
      insert_.bind_text(1, beginning).bind(2, ++place).bind_text(3, word.token);
      insert_.bind(4, word.documents);
      TRY(insert_.run());
    }
    return {};
  }

  Statement insert_;
  std::vector<Open> open_;
  std::string last_;
};

// Of all fields together, then of each but the text: nearly all rows have a word in their text.
constexpr int kLists = kFields;
static_assert(kLists <= kListsOfToken);

class Lists {
 public:
  Lists(const Columns& columns, RowHits& hits) : hits_(hits), best_(columns) {}

  Result<> prepare(SqliteFile& pack) {
    TRY_ASSIGN(postings_, pack.prepare(kPostings));
    TRY_ASSIGN(insert_, pack.prepare(kList));
    TRY_ASSIGN(spot_, pack.prepare(kSpot));
    return {};
  }

  Result<> write(std::string_view token, std::int64_t first) {
    TRY(gather(token, first));
    for (int i = 0; i < kLists; ++i) {
      if (!lists_[i].empty()) TRY(write_one(lists_[i], first + i));
    }
    return {};
  }

 private:
  Result<> gather(std::string_view token, std::int64_t first) {
    for (auto& list : lists_) list.clear();
    const std::string match = '"' + std::string(token) + '"';
    std::string block;
    const ResetAtEnd reset(postings_);
    postings_.bind_text(1, match);
    while (true) {
      TRY_ASSIGN(const bool more, postings_.step());
      if (!more) break;
      add(static_cast<std::uint32_t>(postings_.number(0)),
          static_cast<std::uint32_t>(postings_.number(1)));
      put_spots(block, hits_.spots);
      if (lists_[0].size() % kBlockRows == 0) TRY(write_spots(first, block));
    }
    return block.empty() ? Result<>() : write_spots(first, block);
  }

  void add(std::uint32_t row, std::uint32_t weight) {
    lists_[0].push_back({row, weight});
    for (int field = 0; field < kFields - 1; ++field) {
      const std::uint32_t hits = hits_.by_field[field];
      if (hits == 0) continue;
      const auto each = static_cast<std::uint32_t>(kFieldWeights[field]);
      lists_[field + 1].push_back({row, std::min(hits * each, kWeightMax)});
    }
  }

  Result<> write_spots(std::int64_t first, std::string& block) {
    spot_.bind(1, spots_id(first, (lists_[0].size() - 1) / kBlockRows)).bind_blob(2, block);
    TRY(spot_.run());
    block.clear();
    return {};
  }

  Result<> write_one(const std::vector<Posting>& postings, std::int64_t id) {
    const std::string rows = write_list(postings);
    const std::string best =
        postings.size() > kChampions ? write_list(best_.of(postings)) : std::string();
    insert_.bind(1, id).bind(2, static_cast<std::int64_t>(postings.size()));
    insert_.bind_blob(3, best).bind_blob(4, rows);
    return insert_.run();
  }

  Statement postings_;
  Statement insert_;
  Statement spot_;
  RowHits& hits_;
  Champions best_;
  std::vector<Posting> lists_[kLists];
};

}  // namespace

Result<> write_terms(SqliteFile& pack, const RealWords& words, std::size_t documents_of_pack) {
  const std::int64_t documents_min = documents_of_pack <= kLoneTermsMax ? 1 : 2;
  TRY(pack.run(kMakeVocabulary));
  {
    TRY_ASSIGN(Statement vocabulary, pack.prepare(kVocabulary));
    TRY_ASSIGN(Statement term, pack.prepare(kTerm));
    TRY_ASSIGN(Statement begin, pack.prepare(kBegin));
    Beginnings beginnings(std::move(begin));
    std::int64_t alone = 0;
    std::int64_t lists = 0;
    while (true) {
      TRY_ASSIGN(const bool more, vocabulary.step());
      if (!more) break;
      const std::string token(vocabulary.bytes(0));
      const std::int64_t documents = vocabulary.number(1);
      if (documents < documents_min) {
        ++alone;
        continue;
      }
      const bool word = words.may_have(token);
      const bool listed = documents >= static_cast<std::int64_t>(kListRowsMin);
      term.bind_text(1, token).bind(2, documents).bind(3, word ? 1 : 0).bind(4, alone);
      term.bind(5, listed ? ++lists * kListsOfToken : 0);
      TRY(term.run());
      if (word) TRY(beginnings.add(token, documents));
    }
    TRY(beginnings.finish());
  }
  return pack.run(kDropVocabulary);
}

Result<> write_lists(SqliteFile& pack, const Columns& columns, RowHits& hits) {
  TRY_ASSIGN(Statement listed, pack.prepare(kListed));
  Lists lists(columns, hits);
  TRY(lists.prepare(pack));
  hits.wants_spots = true;
  while (true) {
    TRY_ASSIGN(const bool more, listed.step());
    if (!more) return {};
    TRY(lists.write(std::string(listed.bytes(0)), listed.number(1)));
  }
}

}  // namespace quern::search

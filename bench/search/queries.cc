#include "bench/search/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace quern::bench {
namespace {

class Maker {
 public:
  Maker(const Generator& generator, std::int64_t documents)
      : generator_(generator), documents_(documents) {}

  std::string rare() { return ranked(20'000, 200'000); }
  std::string common() { return ranked(3, 60); }
  std::string two() { return ranked(100, 3'000) + " " + ranked(60, 1'500); }
  // Of a document that is there.
  std::string phrase() {
    const std::string text =
        generator_.document(1 + static_cast<std::int64_t>(random_() % documents_)).text;
    std::size_t at = text.find(' ', random_() % (text.size() / 2 + 1));
    if (at == std::string::npos) return rare();
    std::size_t end = ++at;
    for (std::size_t words = 2 + random_() % 2; words > 0 && end != std::string::npos; --words) {
      end = text.find_first_of(" \n", end + 1);
    }
    return "\"" + text.substr(at, end == std::string::npos ? end : end - at) + "\"";
  }
  std::string prefix() { return ranked(500, 20'000).substr(0, 4 + random_() % 2) + "*"; }
  std::string any() {
    return fmt::format("{} OR {} OR {}", ranked(200, 20'000), ranked(200, 20'000),
                       ranked(60, 2'000));
  }
  std::string filtered() {
    constexpr const char* kTypes[] = {"pdf", "html", "mail", "word"};
    const auto year = 2005 + random_() % 19;
    return fmt::format("{} type:{} date:{}..{}", ranked(60, 3'000), kTypes[random_() % 4], year,
                       year + 1);
  }

 private:
  std::string ranked(std::size_t first, std::size_t last) {
    return generator_.word(first + random_() % (last - first));
  }
  const Generator& generator_;
  std::uint64_t documents_;
  std::mt19937_64 random_{1'001};
};

}  // namespace

std::vector<QuerySet> make_queries(const Generator& generator, std::int64_t documents,
                                   std::size_t each) {
  Maker maker(generator, documents);
  const std::pair<const char*, std::string (Maker::*)()> kinds[] = {
      {"rare", &Maker::rare},        {"common", &Maker::common}, {"two words", &Maker::two},
      {"phrase", &Maker::phrase},    {"prefix", &Maker::prefix}, {"or", &Maker::any},
      {"filtered", &Maker::filtered}};
  constexpr std::size_t kShares[] = {4, 2, 6, 3, 2, 1, 2};  // of 20
  std::vector<QuerySet> sets;
  QuerySet mixed{"mixed", {}};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    QuerySet set{kinds[i].first, {}};
    for (std::size_t n = 0; n < each; ++n) set.queries.push_back((maker.*kinds[i].second)());
    for (std::size_t n = 0; n < each * kShares[i] / 20; ++n) {
      mixed.queries.push_back((maker.*kinds[i].second)());
    }
    sets.push_back(std::move(set));
  }
  std::ranges::shuffle(mixed.queries, std::mt19937_64(7));
  sets.push_back(std::move(mixed));
  return sets;
}

}  // namespace quern::bench

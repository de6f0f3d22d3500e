// From the tree of a query to matchers: where each word's rows come from.
#include <algorithm>

#include "search/pack_finish.h"
#include "search/pack_search.h"
#include "search/row_matcher.h"

namespace quern::search {
namespace {

// A beginning whose words have no more rows is left to FTS5; one with more means its most frequent
// words. Behind other words of a phrase FTS5 takes much longer: 40 us for each row.
constexpr std::int64_t kPrefixRowsMax = 2'000;
constexpr std::int64_t kPrefixPhraseRowsMax = 200;
constexpr std::size_t kPrefixWords = 32;
constexpr std::size_t kPrefixPhrases = 16;

// Where no document has the word in this field, there is no such list.
std::int64_t list_of(const TermRow& term, Field field) {
  return term.list + static_cast<std::int64_t>(field);
}

class Compiler {
 public:
  Compiler(const Frequencies& frequencies, const Ranking& ranking, Connection& connection,
           std::uint32_t documents)
      : frequencies_(frequencies),
        ranking_(ranking),
        connection_(connection),
        documents_(documents) {}

  Result<std::unique_ptr<RowMatcher>> matcher(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Phrase:
      case Node::Kind::Prefix:
        return leaf(node);
      case Node::Kind::Or:
        return any_of(node);
      case Node::Kind::And:
        return all_of(node.children);
      case Node::Kind::Not:
        return all_of({&node, 1});
    }
    return Error{Errc::Internal, "a query of no kind"};
  }

 private:
  Result<std::unique_ptr<RowMatcher>> all_of(std::span<const Node> nodes) {
    std::vector<std::unique_ptr<RowMatcher>> children;
    std::vector<std::unique_ptr<RowMatcher>> nots;
    for (const Node& node : nodes) {
      const bool negated = node.kind == Node::Kind::Not;
      TRY_ASSIGN(std::unique_ptr<RowMatcher> made, matcher(negated ? node.children.at(0) : node));
      (negated ? nots : children).push_back(std::move(made));
    }
    return make_and(std::move(children), std::move(nots), documents_);
  }

  Result<std::unique_ptr<RowMatcher>> any_of(const Node& node) {
    std::vector<std::unique_ptr<RowMatcher>> children;
    for (const Node& child : node.children) {
      TRY_ASSIGN(std::unique_ptr<RowMatcher> made, matcher(child));
      children.push_back(std::move(made));
    }
    return make_or(std::move(children));
  }

  Result<std::unique_ptr<RowMatcher>> leaf(const Node& node) {
    const bool prefix = node.kind == Node::Kind::Prefix;
    double rarity = prefix ? ranking_.prefix_rarity() : 0;
    const std::size_t whole = node.tokens.size() - (prefix ? 1 : 0);
    for (std::size_t i = 0; i < whole; ++i) rarity += rarity_of(node.tokens[i]);
    TRY_ASSIGN(std::unique_ptr<Source> source, prefix ? prefix_source(node.tokens, node.field)
                                                      : phrase_source(node.tokens, node.field));
    return make_leaf(std::move(source), rarity, ranking_);
  }

  double rarity_of(const std::string& token) const {
    const auto found = frequencies_.by_token.find(token);
    return ranking_.rarity(
        found == frequencies_.by_token.end() ? 1 : static_cast<double>(found->second));
  }

  Result<std::unique_ptr<Source>> matched(std::span<const std::string> tokens, Field field,
                                          LastToken last) {
    const std::optional<std::string> phrase = phrase_text(tokens, field, last);
    if (!phrase) return make_rows_source({});
    TRY_ASSIGN(std::vector<Posting> rows, connection_.match(*phrase, documents_));
    return make_rows_source(std::move(rows));
  }

  Result<std::unique_ptr<Source>> token_source(const std::string& token, Field field) {
    TRY_ASSIGN(const TermRow term, connection_.term(token));
    if (term.list == 0) return matched({&token, 1}, field, LastToken::Whole);
    return make_list_source(list_of(term, field), connection_, documents_);
  }

  Result<std::unique_ptr<Source>> phrase_source(std::span<const std::string> tokens, Field field) {
    if (tokens.size() == 1) return token_source(tokens[0], field);
    std::vector<std::unique_ptr<Source>> sources;
    for (const std::string& token : tokens) {
      TRY_ASSIGN(std::unique_ptr<Source> source, spotted_source(token));
      // Where one is missing the others need not be looked at.
      if (source->rows() == 0) return make_rows_source({});
      sources.push_back(std::move(source));
    }
    return make_phrase_source(std::move(sources), field);
  }

  Result<std::unique_ptr<Source>> spotted_source(const std::string& token) {
    TRY_ASSIGN(const TermRow term, connection_.term(token));
    if (term.list != 0) {
      return make_list_source(list_of(term, Field::Any), connection_, documents_);
    }
    const auto phrase = phrase_text({&token, 1}, Field::Any, LastToken::Whole);
    if (!phrase) return make_rows_source({});
    std::vector<std::vector<Spot>> spots;
    TRY_ASSIGN(std::vector<Posting> rows, connection_.match(*phrase, documents_, &spots));
    return make_spotted_source(std::move(rows), std::move(spots));
  }

  Result<std::unique_ptr<Source>> prefix_source(const std::vector<std::string>& tokens,
                                                Field field) {
    TRY_ASSIGN(Beginning beginning, connection_.words_of(tokens.back()));
    const std::int64_t rows_max = tokens.size() == 1 ? kPrefixRowsMax : kPrefixPhraseRowsMax;
    if (beginning.complete && beginning.rows <= rows_max) {
      return matched(tokens, field, LastToken::Beginning);
    }
    const std::size_t most = tokens.size() == 1 ? kPrefixWords : kPrefixPhrases;
    if (beginning.words.size() > most) beginning.words.resize(most);
    std::vector<std::unique_ptr<Source>> sources;
    std::vector<std::string> phrase = tokens;
    for (Suggestion& word : beginning.words) {
      phrase.back() = std::move(word.word);
      TRY_ASSIGN(std::unique_ptr<Source> source, phrase_source(phrase, field));
      sources.push_back(std::move(source));
    }
    if (sources.empty()) return matched(tokens, field, LastToken::Beginning);
    return make_any_source(std::move(sources), Whole::No, documents_);
  }

  const Frequencies& frequencies_;
  const Ranking& ranking_;
  Connection& connection_;
  std::uint32_t documents_;
};

}  // namespace

Result<std::unique_ptr<RowMatcher>> make_matcher(const Node& words, const Frequencies& frequencies,
                                                 const Ranking& ranking, Connection& connection,
                                                 std::uint32_t documents) {
  return Compiler(frequencies, ranking, connection, documents).matcher(words);
}

Result<std::int64_t> documents_with(Connection& connection, const std::string& token) {
  TRY_ASSIGN(const TermRow term, connection.term(token));
  if (term.documents > 0) return term.documents;
  const auto phrase = phrase_text({&token, 1}, Field::Any, LastToken::Whole);
  if (!phrase) return 0;
  TRY_ASSIGN(const bool there, connection.has(*phrase));
  return there ? 1 : 0;
}

}  // namespace quern::search

// Queries: what people type, as a tree. Any text is one; none is an error.
//
//   words "a phrase" prefi* a OR b NOT c -c (a b) title:word author:"a phrase"
//   type:pdf date:2020..2021-06 path:leak/mails collection:name -type:mail
//   dataset:success in_ia:true
//
// Words must all be there unless OR stands between them: a b OR c means a (b OR c). OR and NOT are
// operators in capitals only (AND too, and means nothing). What is not closed ends with the text;
// an operator without its word is a word. A quoted phrase means its very words; a word alone all
// its forms. A word that the cutter makes several tokens of (e-mail, c++11) is a phrase of them.
// A run of letters of a script without blanks is a phrase of pairs; one such letter alone is a
// prefix, for it begins a pair or ends a run.
//
// Filters hold for the whole query: they stand at its top, perhaps negated, several of a kind or an
// OR of one kind mean any of them. One that stands deeper, or whose value means nothing
// (date:soon), is searched as words, and `notes` says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::search {

inline constexpr std::size_t kQueryBytesMax = 4096;
inline constexpr std::size_t kQueryTermsMax =
    64;  // words, phrases and prefixes; others are left out
inline constexpr std::size_t kQueryTokensMax = 256;  // of all terms; phrases are cut there
inline constexpr std::size_t kQueryFiltersMax = 64;
// Nodes from the root to a leaf. Parentheses deeper than that are looked through.
inline constexpr std::size_t kQueryDepthMax = 32;
inline constexpr std::size_t kQueryNotesMax = 8;

enum class Field : std::uint8_t { Any, Title, Filename, Author, From };

struct Node {
  enum class Kind : std::uint8_t { Phrase, Prefix, And, Or, Not };
  Kind kind = Kind::And;
  Field field = Field::Any;
  // Of a phrase: its tokens in their order (one: a word). Of a prefix: the same, the last one is a
  // beginning. Never empty.
  std::vector<std::string> tokens;
  std::vector<Node> children;  // And, Or: at least two, all different. Not: exactly one
  bool operator==(const Node&) const = default;
};

struct DateRange {
  // Days since 1970, both inclusive; half open ones reach to the ends.
  std::int32_t first = INT32_MIN + 1;
  std::int32_t last = INT32_MAX;
  bool operator==(const DateRange&) const = default;
};

template <class T>
struct Filter {
  std::vector<T> any;   // it must be one of these, if there are some
  std::vector<T> none;  // and none of these
  bool empty() const { return any.empty() && none.empty(); }
};

struct Query {
  std::optional<Node> words;  // none: only filters, or nothing at all
  Filter<std::string> types;  // "pdf", "application/pdf", "image", lower case
  Filter<DateRange> dates;
  Filter<std::string> paths;        // "leak/mails": that path and all below it, folded
  Filter<std::string> collections;  // names
  Filter<std::string> datasets;     // statuses of datasets, lower case
  Filter<std::string> in_ia;        // "true", "false": whether those are items of archive.org
  bool cut = false;                 // it was longer than kQueryBytesMax
  std::vector<std::string> notes;   // for the user: what was understood otherwise than it looks

  bool empty() const {
    return !words && types.empty() && dates.empty() && paths.empty() && collections.empty() &&
           !asks_for_datasets();
  }
  // Only whoever knows the jobs can tell what these mean: it gives them with the question.
  bool asks_for_datasets() const { return !datasets.empty() || !in_ia.empty(); }
};

Query parse_query(std::string_view text);

// The same words, any of which will do: for a query that found nothing. Nothing where it has no two
// words that could be let go.
std::optional<Query> relaxed(const Query& query);

// Every token that the query looks for, each once, with those of NOT: whose frequencies are asked.
std::vector<std::string> tokens_of(const Query& query);

// Its phrases and prefixes, without those of NOT: what can be shown in a text. They live as long as
// the query.
std::vector<const Node*> wanted_leaves(const Query& query);

// A path as it is compared: folded case, one '/' between parts, none at the ends.
std::string fold_path(std::string_view path);
// Whether a type (a MIME type) is meant by the value of a type filter.
bool type_matches(std::string_view filter, std::string_view mime);

}  // namespace quern::search

// Queries: any bytes are one, its tree keeps the bounds of search/query.h, and what it finds in the
// very same bytes is marked without harm.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "search/query.h"
#include "search/snippet.h"
#include "search/words.h"

namespace quern::search {
namespace {

std::size_t count_terms(const Node& node, std::size_t depth) {
  CHECK(depth <= kQueryDepthMax);
  const bool is_leaf = node.kind == Node::Kind::Phrase || node.kind == Node::Kind::Prefix;
  CHECK(is_leaf == !node.tokens.empty());
  CHECK(is_leaf == node.children.empty());
  for (const std::string& token : node.tokens) {
    CHECK(!token.empty() && token.size() <= kTokenBytesMax && is_valid_utf8(token));
    CHECK(token.find_first_of(" \"*()") == std::string::npos);
  }
  std::size_t terms = is_leaf ? 1 : 0;
  for (const Node& child : node.children) terms += count_terms(child, depth + 1);
  return terms;
}

void check_query(const Query& query) {
  CHECK(query.notes.size() <= kQueryNotesMax);
  CHECK(!query.words || count_terms(*query.words, 1) <= kQueryTermsMax);
  CHECK(tokens_of(query).size() <= kQueryTokensMax);
  for (const DateRange& range : query.dates.any) CHECK(range.first <= range.last);
}

}  // namespace
}  // namespace quern::search

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::search;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Query query = parse_query(text);
  check_query(query);
  if (const auto looser = relaxed(query)) check_query(*looser);
  Highlighter highlighter(query);
  const Snippet snippet = highlighter.snippet(text);
  CHECK(quern::is_valid_utf8(snippet.html));
  CHECK(!snippet.hit || *snippet.hit < size);
  return 0;
}

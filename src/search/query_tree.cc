#include <algorithm>

#include "search/query.h"
#include "search/words.h"

namespace quern::search {
namespace {

// Beyond words themselves: a phrase becomes its words in all their forms.
void add_words(std::vector<Node>& to, const Node& node, WordCutter& cutter) {
  for (std::size_t i = 0; i < node.tokens.size(); ++i) {
    Node word;
    const bool is_beginning = node.kind == Node::Kind::Prefix && i + 1 == node.tokens.size();
    word.kind = is_beginning ? Node::Kind::Prefix : Node::Kind::Phrase;
    word.field = node.field;
    word.tokens.push_back(is_beginning ? node.tokens[i] : std::string(cutter.stem(node.tokens[i])));
    if (to.size() < kQueryTermsMax && std::ranges::find(to, word) == to.end()) {
      to.push_back(std::move(word));
    }
  }
}

void collect_words(std::vector<Node>& to, const Node& node, WordCutter& cutter) {
  if (node.kind == Node::Kind::Not) return;
  add_words(to, node, cutter);
  for (const Node& child : node.children) collect_words(to, child, cutter);
}

std::size_t count_terms(const Node& node) {
  std::size_t terms = node.tokens.empty() ? 0 : 1;
  for (const Node& child : node.children) terms += count_terms(child);
  return terms;
}

void collect_tokens(std::vector<std::string>& to, const Node& node) {
  for (const std::string& token : node.tokens) {
    if (std::ranges::find(to, token) == to.end()) to.push_back(token);
  }
  for (const Node& child : node.children) collect_tokens(to, child);
}

void collect_wanted(const Node& node, std::vector<const Node*>& to) {
  if (node.kind == Node::Kind::Not) return;
  if (!node.tokens.empty()) to.push_back(&node);
  for (const Node& child : node.children) collect_wanted(child, to);
}

}  // namespace

std::optional<Query> relaxed(const Query& query) {
  if (!query.words) return std::nullopt;
  Node any;
  any.kind = Node::Kind::Or;
  collect_words(any.children, *query.words, thread_cutter());
  Node all;
  all.kind = Node::Kind::And;
  std::size_t terms = kQueryTermsMax;
  for (const Node& child : query.words->children) {
    // What must not be there still must not.
    if (query.words->kind != Node::Kind::And || child.kind != Node::Kind::Not) continue;
    terms -= std::min(terms, count_terms(child));
    all.children.push_back(child);
  }
  any.children.resize(std::min(any.children.size(), terms));
  if (any.children.size() < 2) return std::nullopt;
  all.children.insert(all.children.begin(), any);
  Query out = query;
  out.words = all.children.size() > 1 ? std::move(all) : std::move(any);
  if (*out.words == *query.words) return std::nullopt;
  return out;
}

std::vector<std::string> tokens_of(const Query& query) {
  std::vector<std::string> tokens;
  if (query.words) collect_tokens(tokens, *query.words);
  return tokens;
}

std::vector<const Node*> wanted_leaves(const Query& query) {
  std::vector<const Node*> leaves;
  if (query.words) collect_wanted(*query.words, leaves);
  return leaves;
}

}  // namespace quern::search

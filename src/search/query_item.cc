#include "search/query_item.h"

#include <algorithm>

#include "search/words.h"

namespace quern::search {
namespace {

// What the cutter made of one word or phrase of a query.
struct Cut {
  std::vector<std::string> tokens;
  Token::Kind last = Token::Kind::Word;
  std::size_t run = 0;  // letters of the run of pairs at the end
};

Cut cut(WordCutter& cutter, std::string_view text) {
  Cut out;
  cutter.begin(text);
  // One more than can be used, so that the caller sees that there were more.
  for (Token token; out.tokens.size() <= kQueryTokensMax && cutter.next(token);) {
    if (token.kind == Token::Kind::Stem) continue;
    const bool goes_on = out.last == Token::Kind::Pair;
    out.run = goes_on ? out.run + 1 : 1;
    out.last = token.kind;
    out.tokens.emplace_back(token.text);
  }
  return out;
}

void append_children(std::vector<Item>& to, Item item, Item::Kind kind) {
  item = simplified(std::move(item));
  if (item.kind == Item::Kind::Nothing) return;
  if (item.kind != kind) {
    if (std::ranges::find(to, item) == to.end()) to.push_back(std::move(item));
    return;
  }
  for (Item& child : item.children) {
    if (std::ranges::find(to, child) == to.end()) to.push_back(std::move(child));
  }
}

Item simplified_not(Item item) {
  Item child = item.children.empty() ? Item() : simplified(std::move(item.children.front()));
  if (child.kind == Item::Kind::Nothing) return {};
  if (child.kind == Item::Kind::Not) {
    Item inner = std::move(child.children.front());
    return inner;
  }
  item.children.clear();
  item.children.push_back(std::move(child));
  return item;
}

}  // namespace

Item TermMaker::make(const Text& text) {
  WordCutter& cutter = thread_cutter();
  Item item;
  Cut found = cut(cutter, text.text);
  if (found.tokens.empty()) return item;
  if (terms_ == kQueryTermsMax || tokens_ == kQueryTokensMax) {
    left_out_ = true;
    return item;
  }
  item.kind = Item::Kind::Leaf;
  item.leaf.field = text.field;
  item.leaf.kind = text.star ? Node::Kind::Prefix : Node::Kind::Phrase;
  if (found.last == Token::Kind::Last) {
    // The last letter ends a pair, and says nothing new: in a text the run may go on. Alone it
    // begins one.
    const bool is_alone = found.run == 1;
    if (!is_alone) found.tokens.pop_back();
    item.leaf.kind = is_alone ? Node::Kind::Prefix : Node::Kind::Phrase;
  }
  const std::size_t room = kQueryTokensMax - tokens_;
  if (found.tokens.size() > room) {
    found.tokens.resize(room);
    item.leaf.kind = Node::Kind::Phrase;
    left_out_ = true;
  }
  if (!text.quoted && item.leaf.kind == Node::Kind::Phrase) {
    for (std::string& token : found.tokens) token = std::string(cutter.stem(token));
  }
  item.leaf.tokens = std::move(found.tokens);
  ++terms_;
  tokens_ += item.leaf.tokens.size();
  return item;
}

Item simplified(Item item) {
  if (item.kind == Item::Kind::Not) return simplified_not(std::move(item));
  if (item.kind != Item::Kind::And && item.kind != Item::Kind::Or) return item;
  std::vector<Item> children;
  for (Item& child : item.children) append_children(children, std::move(child), item.kind);
  if (children.empty()) return {};
  if (children.size() == 1) {
    Item only = std::move(children.front());
    return only;
  }
  item.children = std::move(children);
  return item;
}

std::optional<Node> node_of(const Item& item) {
  if (item.kind == Item::Kind::Nothing || item.kind == Item::Kind::Filter) return std::nullopt;
  if (item.kind == Item::Kind::Leaf) return item.leaf;
  Node node;
  node.kind = item.kind == Item::Kind::And  ? Node::Kind::And
              : item.kind == Item::Kind::Or ? Node::Kind::Or
                                            : Node::Kind::Not;
  for (const Item& child : item.children) {
    if (std::optional<Node> made = node_of(child)) node.children.push_back(*std::move(made));
  }
  return node;
}

}  // namespace quern::search

// A query while it is read: like its tree, with filters still where they were written.
#pragma once

#include <string>
#include <vector>

#include "search/query.h"
#include "search/query_lexer.h"

namespace quern::search {

struct Item {
  enum class Kind : std::uint8_t { Nothing, Leaf, Filter, And, Or, Not };
  Kind kind = Kind::Nothing;
  Node leaf;           // a phrase or a prefix
  FieldName filter{};  // a filter: what it looks at,
  std::string value;   // for what,
  std::string raw;     // and how that was written
  std::vector<Item> children;
  bool operator==(const Item&) const = default;
};

// The same meaning: no nothings, nothing twice, no And in an And, no group of one.
Item simplified(Item item);
// Without filters; Nothing gives none.
std::optional<Node> node_of(const Item& item);

// Makes the terms of a query, as many as it may have.
class TermMaker {
 public:
  struct Text {
    std::string_view text;
    Field field = Field::Any;
    bool quoted = false;
    bool star = false;
  };
  // Nothing where the text has no words, or there are enough.
  Item make(const Text& text);
  // A limit was met.
  bool left_out() const { return left_out_; }

 private:
  std::size_t terms_ = 0;
  std::size_t tokens_ = 0;
  bool left_out_ = false;
};

}  // namespace quern::search

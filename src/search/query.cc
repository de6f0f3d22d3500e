#include "search/query.h"

#include <algorithm>

#include "base/utf8.h"
#include "search/filter.h"
#include "search/query_item.h"
#include "search/query_lexer.h"

namespace quern::search {
namespace {

using Kind = Lexeme::Kind;

// Each parenthesis adds an And, an Or and a Not to the depth of the tree at most.
constexpr std::size_t kParenthesesMax = (kQueryDepthMax - 4) / 3;
// How far back a word may begin that is left out whole where a query is cut.
constexpr std::size_t kCutWordBytesMax = 128;

Field field_of(FieldName name) {
  switch (name) {
    case FieldName::Title:
      return Field::Title;
    case FieldName::Filename:
      return Field::Filename;
    case FieldName::Author:
      return Field::Author;
    case FieldName::From:
      return Field::From;
    default:
      return Field::Any;
  }
}

class Parser {
 public:
  Parser(std::vector<Lexeme> lexemes, TermMaker& terms)
      : lexemes_(std::move(lexemes)), terms_(terms) {}

  Item run() { return take_list(0, Field::Any); }
  bool looked_through() const { return looked_through_; }
  bool filters_left_out() const { return filters_ > kQueryFiltersMax; }

 private:
  bool is(std::size_t at, Kind kind) const {
    return at < lexemes_.size() && lexemes_[at].kind == kind;
  }
  // What stands there can be the word of an operator.
  bool begins_operand(std::size_t at) const {
    while (is(at, Kind::Not) || is(at, Kind::Minus)) ++at;
    return at < lexemes_.size() && !is(at, Kind::Or) && !is(at, Kind::And) && !is(at, Kind::Close);
  }

  // Up to the parenthesis that closes it, or the end.
  Item take_list(std::size_t depth, Field field) {
    Item list;
    list.kind = Item::Kind::And;
    while (at_ < lexemes_.size()) {
      if (is(at_, Kind::Close)) {
        ++at_;
        if (skipped_ == 0 && depth > 0) break;
        if (skipped_ > 0) --skipped_;
        continue;
      }
      const bool has_left = !list.children.empty();
      const bool is_operator = has_left && begins_operand(at_ + 1);
      if (is(at_, Kind::And) && is_operator) {
        ++at_;
        continue;
      }
      if (is(at_, Kind::Or) && is_operator) {
        ++at_;
        join(list.children.back(), take_operand(depth, field));
        continue;
      }
      list.children.push_back(take_operand(depth, field));
    }
    return list;
  }

  static void join(Item& left, Item right) {
    Item both;
    both.kind = Item::Kind::Or;
    both.children.push_back(std::move(left));
    both.children.push_back(std::move(right));
    left = simplified(std::move(both));
  }

  Item take_operand(std::size_t depth, Field field) {
    bool negated = false;
    while ((is(at_, Kind::Not) || is(at_, Kind::Minus)) && begins_operand(at_ + 1)) {
      negated = !negated;
      ++at_;
    }
    Item item = take_term(depth, field);
    if (!negated) return item;
    Item outer;
    outer.kind = Item::Kind::Not;
    outer.children.push_back(std::move(item));
    return outer;
  }

  Item take_term(std::size_t depth, Field field) {
    const Lexeme& lexeme = lexemes_[at_++];
    switch (lexeme.kind) {
      case Kind::Open:
        if (depth < kParenthesesMax) return take_list(depth + 1, field);
        ++skipped_;
        looked_through_ = true;
        return {};
      case Kind::Name:
        return take_named(lexeme, depth);
      case Kind::Quoted:
        return terms_.make({lexeme.text, field, true, lexeme.star});
      default:
        return terms_.make({lexeme.text, field, false, lexeme.star});
    }
  }

  Item take_named(const Lexeme& name, std::size_t depth) {
    const FieldName field = find_field(name.text);
    if (!is_filter(field)) return take_term(depth, field_of(field));
    const Lexeme& value = lexemes_[at_++];
    Item item;
    if (++filters_ > kQueryFiltersMax) return item;
    item.kind = Item::Kind::Filter;
    item.filter = field;
    item.value = valid_utf8(value.text);
    if (value.star) item.value += '*';
    item.raw = name.raw;
    return item;
  }

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0;
  TermMaker& terms_;
  std::size_t skipped_ = 0;  // parentheses that were opened deeper than we go
  std::size_t filters_ = 0;
  bool looked_through_ = false;
};

void note(Query& query, std::string text) {
  if (query.notes.size() < kQueryNotesMax &&
      std::ranges::find(query.notes, text) == query.notes.end()) {
    query.notes.push_back(std::move(text));
  }
}

template <class T>
void add_value(Filter<T>& filter, bool negated, T value) {
  std::vector<T>& values = negated ? filter.none : filter.any;
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// False where the value means nothing.
bool apply_filter(Query& query, const Item& item, bool negated) {
  switch (item.filter) {
    case FieldName::Type: {
      if (!is_type_filter(item.value)) return false;
      add_value(query.types, negated, lower(item.value));
      return true;
    }
    case FieldName::Date: {
      const std::optional<DateRange> range = parse_dates(item.value);
      if (range) add_value(query.dates, negated, *range);
      return range.has_value();
    }
    case FieldName::Path: {
      std::string path = fold_path(item.value);
      if (path.empty()) return false;
      add_value(query.paths, negated, std::move(path));
      return true;
    }
    case FieldName::Dataset:
      if (!is_status_filter(item.value)) return false;
      add_value(query.datasets, negated, lower(item.value));
      return true;
    case FieldName::InIa: {
      std::string value = lower(item.value);
      if (value != "true" && value != "false") return false;
      add_value(query.in_ia, negated, std::move(value));
      return true;
    }
    default:
      if (item.value.empty()) return false;
      add_value(query.collections, negated, item.value);
      return true;
  }
}

bool is_filter_group(const Item& item) {
  if (item.kind == Item::Kind::Filter) return true;
  return item.kind == Item::Kind::Or && std::ranges::all_of(item.children, [&](const Item& child) {
           return child.kind == Item::Kind::Filter && child.filter == item.children[0].filter;
         });
}

// Moves the filters of one operand of the whole query out of it. Those that mean nothing stay.
void take_filters(Query& query, Item& item) {
  const bool negated = item.kind == Item::Kind::Not;
  Item& inner = negated ? item.children.front() : item;
  if (!is_filter_group(inner)) return;
  if (inner.kind == Item::Kind::Filter) {
    if (apply_filter(query, inner, negated)) item = {};
    return;
  }
  std::erase_if(inner.children,
                [&](const Item& child) { return apply_filter(query, child, negated); });
}

// Every filter that is left is searched as it was written.
void make_words(Query& query, Item& item, TermMaker& terms) {
  for (Item& child : item.children) make_words(query, child, terms);
  if (item.kind != Item::Kind::Filter) return;
  note(query, item.raw + " is searched as words: it is no filter here");
  item = terms.make({item.raw, Field::Any, false, false});
}

// Not longer than it may be, and not in the middle of a word.
std::string_view cut_text(std::string_view text) {
  if (text.size() <= kQueryBytesMax) return text;
  text = text.substr(0, kQueryBytesMax);
  const std::size_t blank = text.find_last_of(" \t\r\n");
  if (blank != std::string_view::npos && blank + kCutWordBytesMax > text.size()) {
    return text.substr(0, blank);
  }
  std::size_t end = text.size();
  while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xc0) == 0x80) --end;
  return text.substr(0, end > 0 ? end - 1 : text.size());
}

}  // namespace

Query parse_query(std::string_view text) {
  Query query;
  const std::string_view kept = cut_text(text);
  query.cut = kept.size() < text.size();
  TermMaker terms;
  Parser parser(lex_query(kept), terms);
  Item all = simplified(parser.run());
  if (all.kind == Item::Kind::And) {
    for (Item& child : all.children) take_filters(query, child);
  } else {
    take_filters(query, all);
  }
  make_words(query, all, terms);
  query.words = node_of(simplified(std::move(all)));
  if (query.cut) note(query, "the query was too long, and was cut");
  if (terms.left_out() || parser.filters_left_out()) {
    note(query, "the query has too many terms; the last ones were left out");
  }
  if (parser.looked_through()) note(query, "parentheses are too deep, and were left out");
  return query;
}

}  // namespace quern::search

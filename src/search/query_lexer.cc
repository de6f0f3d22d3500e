#include "search/query_lexer.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace quern::search {
namespace {

struct NamedField {
  std::string_view name;
  FieldName field;
};
constexpr NamedField kFields[] = {
    {"title", FieldName::Title},     {"filename", FieldName::Filename},
    {"author", FieldName::Author},   {"from", FieldName::From},
    {"type", FieldName::Type},       {"date", FieldName::Date},
    {"path", FieldName::Path},       {"collection", FieldName::Collection},
    {"dataset", FieldName::Dataset}, {"in_ia", FieldName::InIa},
};

enum class Mark : std::uint8_t { None, Blank, Quote, Open, Close };

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Lexeme> run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  struct Seen {
    Mark mark = Mark::None;
    std::size_t next = 0;
  };

  Seen look(std::size_t at) const {
    UChar32 c = 0;
    std::size_t next = at;
    U8_NEXT(text_.data(), next, text_.size(), c);
    if (c == '(') return {Mark::Open, next};
    if (c == ')') return {Mark::Close, next};
    // The typographic ones, too: “ ” „ and the full width.
    if (c == '"' || c == 0x201c || c == 0x201d || c == 0x201e || c == 0xff02) {
      return {Mark::Quote, next};
    }
    if (c == 0 || (c > 0 && u_isUWhiteSpace(c) != 0)) return {Mark::Blank, next};
    return {Mark::None, next};
  }

  void step() {
    const Seen seen = look(at_);
    switch (seen.mark) {
      case Mark::Blank:
        at_ = seen.next;
        fresh_ = true;
        return;
      case Mark::Open:
      case Mark::Close:
        add(seen.mark == Mark::Open ? Lexeme::Kind::Open : Lexeme::Kind::Close, at_, seen.next);
        at_ = seen.next;
        fresh_ = true;
        return;
      case Mark::Quote:
        at_ = seen.next;
        take_quoted();
        break;
      case Mark::None:
        if (!take_minus()) take_word();
    }
    fresh_ = false;
  }

  void add(Lexeme::Kind kind, std::size_t begin, std::size_t end) {
    Lexeme lexeme;
    lexeme.kind = kind;
    lexeme.text = text_.substr(begin, end - begin);
    out_.push_back(lexeme);
  }

  // Behind the opening quote.
  void take_quoted() {
    const std::size_t begin = at_;
    std::size_t end = text_.size();
    while (at_ < text_.size()) {
      const Seen seen = look(at_);
      const std::size_t here = at_;
      at_ = seen.next;
      if (seen.mark == Mark::Quote) {
        end = here;
        break;
      }
    }
    add(Lexeme::Kind::Quoted, begin, end);
    if (at_ < text_.size() && text_[at_] == '*') {
      out_.back().star = true;
      ++at_;
    }
    end_value(at_);
  }

  bool take_minus() {
    if (!fresh_ || text_[at_] != '-' || at_ + 1 == text_.size() || text_[at_ + 1] == '-') {
      return false;
    }
    const Mark next = look(at_ + 1).mark;
    if (next == Mark::Blank || next == Mark::Close) return false;
    add(Lexeme::Kind::Minus, at_, at_ + 1);
    ++at_;
    return true;
  }

  void take_word() {
    const std::size_t begin = at_;
    Seen seen = look(at_);
    while (at_ < text_.size() && seen.mark == Mark::None) {
      at_ = seen.next;
      if (at_ < text_.size()) seen = look(at_);
    }
    const std::size_t value = take_name(begin, at_ < text_.size() ? seen.mark : Mark::Blank);
    if (value == at_) return;
    add(Lexeme::Kind::Word, value, at_);
    Lexeme& word = out_.back();
    if (value == begin && word.text == "OR") word.kind = Lexeme::Kind::Or;
    if (value == begin && word.text == "AND") word.kind = Lexeme::Kind::And;
    if (value == begin && word.text == "NOT") word.kind = Lexeme::Kind::Not;
    if (word.text.size() > 1 && word.text.ends_with('*')) {
      word.star = true;
      word.text.remove_suffix(1);
    }
    end_value(at_);
  }

  // Where the value of the name at `begin` begins; `begin` where there is no name.
  std::size_t take_name(std::size_t begin, Mark behind) {
    const std::string_view word = text_.substr(begin, at_ - begin);
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return begin;
    const FieldName field = find_field(word.substr(0, colon));
    const bool is_open = behind == Mark::Quote || (behind == Mark::Open && !is_filter(field));
    if (field == FieldName::None || (colon + 1 == word.size() && !is_open)) return begin;
    add(Lexeme::Kind::Name, begin, begin + colon);
    name_begin_ = begin;
    return begin + colon + 1;
  }

  // What a name was written with is known once its value has ended.
  void end_value(std::size_t end) {
    if (out_.size() < 2) return;
    Lexeme& name = out_[out_.size() - 2];
    if (name.kind == Lexeme::Kind::Name) name.raw = text_.substr(name_begin_, end - name_begin_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_begin_ = 0;
  bool fresh_ = true;  // a blank or a parenthesis stands before
  std::vector<Lexeme> out_;
};

}  // namespace

FieldName find_field(std::string_view name) {
  for (const NamedField& known : kFields) {
    if (std::ranges::equal(known.name, name, {}, {}, [](char c) {
          return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        })) {
      return known.field;
    }
  }
  return FieldName::None;
}

std::vector<Lexeme> lex_query(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace quern::search

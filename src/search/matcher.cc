#include "search/matcher.h"

#include <unicode/utf8.h>

#include <algorithm>

namespace quern::search {
namespace {

static_assert(kTokenBytesMax == 64, "the lengths of tokens are the bits of a word");

std::uint64_t bit_of(std::size_t length) {
  return std::uint64_t{1} << (length - 1);
}

}  // namespace

void Matcher::add(const Node& leaf) {
  if (leaf.tokens.empty()) return;
  Term term;
  term.tokens = leaf.tokens;
  term.is_prefix = leaf.kind == Node::Kind::Prefix;
  for (std::size_t i = 0; i < term.tokens.size(); ++i) {
    const std::string& token = term.tokens[i];
    if (token.empty() || token.size() > kTokenBytesMax) continue;
    std::uint64_t& lengths = lengths_[static_cast<unsigned char>(token.front())];
    if (term.is_prefix && i + 1 == term.tokens.size()) {
      prefixes_.push_back({terms_.size(), i});
      lengths |= ~(bit_of(token.size()) - 1);
    } else {
      spots_[token].push_back({terms_.size(), i});
      lengths |= bit_of(token.size());
    }
  }
  terms_.push_back(std::move(term));
}

void Matcher::begin(std::string_view text) {
  cutter_ = &thread_cutter();
  cutter_->begin(text);
  has_ahead_ = cutter_->next(ahead_);
  begun_.clear();
  found_.clear();
  given_ = 0;
  text_ = text;
  stop_ = text.size();
}

// A token of a term stands here: it ends a match, or lets a phrase go on.
void Matcher::hit(const Spot& spot, std::size_t begin, std::size_t end) {
  std::size_t from = begin;
  if (spot.index > 0) {
    const auto before = std::ranges::find(begun_, Spot{spot.term, spot.index - 1}, &Begun::spot);
    if (before == begun_.end()) return;
    from = before->begin;
  }
  if (!is_last(spot)) {
    if (std::ranges::find(going_, spot, &Begun::spot) == going_.end()) {
      going_.push_back({spot, from});
    }
    return;
  }
  // A word and its stem may both be meant by one term.
  if (std::ranges::find(found_, spot.term, &Match::term) != found_.end()) return;
  found_.push_back({spot.term, from, end});
}

void Matcher::see(const Token& token) {
  const auto first = static_cast<unsigned char>(token.text.front());
  if ((lengths_[first] & bit_of(token.text.size())) == 0) return;
  if (const auto known = spots_.find(token.text); known != spots_.end()) {
    for (const Spot& spot : known->second) hit(spot, token.begin, token.end);
  }
  for (const Spot& spot : prefixes_) {
    const std::string& beginning = terms_[spot.term].tokens[spot.index];
    if (!token.text.starts_with(beginning)) continue;
    // Of a pair only its first letter is meant.
    std::size_t end = token.end;
    if (token.kind == Token::Kind::Pair && beginning.size() < token.text.size()) {
      end = token.begin;
      U8_FWD_1(text_.data(), end, text_.size());
    }
    hit(spot, token.begin, end);
  }
}

bool Matcher::next(Match& match) {
  while (true) {
    if (given_ < found_.size()) {
      match = found_[given_++];
      return true;
    }
    if (!has_ahead_ || ahead_.begin > stop_) return false;
    found_.clear();
    given_ = 0;
    going_.clear();
    see(ahead_);
    has_ahead_ = cutter_->next(ahead_);
    while (has_ahead_ && ahead_.kind == Token::Kind::Stem) {
      see(ahead_);
      has_ahead_ = cutter_->next(ahead_);
    }
    std::swap(begun_, going_);
  }
}

}  // namespace quern::search

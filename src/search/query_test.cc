#include "search/query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"
#include "search/letter.h"
#include "search/words.h"

namespace quern::search {
namespace {

std::string_view name_of(Field field) {
  constexpr std::string_view kNames[] = {"", "title:", "filename:", "author:", "from:"};
  return kNames[static_cast<std::size_t>(field)];
}

// (and a "b c" (not d*)): phrases of several tokens in quotes.
std::string show(const Node& node) {
  if (node.kind == Node::Kind::Phrase || node.kind == Node::Kind::Prefix) {
    std::string tokens;
    for (const std::string& token : node.tokens) tokens += (tokens.empty() ? "" : " ") + token;
    if (node.tokens.size() > 1) tokens = "\"" + tokens + "\"";
    return std::string(name_of(node.field)) + tokens + (node.kind == Node::Kind::Prefix ? "*" : "");
  }
  std::string out = node.kind == Node::Kind::And  ? "(and"
                    : node.kind == Node::Kind::Or ? "(or"
                                                  : "(not";
  for (const Node& child : node.children) out += " " + show(child);
  return out + ")";
}

std::string show(std::string_view text) {
  const Query query = parse_query(text);
  return query.words ? show(*query.words) : "";
}

std::string show_relaxed(std::string_view text) {
  const std::optional<Query> query = relaxed(parse_query(text));
  return query ? show(*query->words) : "nothing";
}

TEST(QueryTest, WordsMustAllBeThereUnlessOrStandsBetweenThem) {
  EXPECT_EQ(show("alpha beta"), "(and alpha beta)");
  EXPECT_EQ(show("alpha OR beta"), "(or alpha beta)");
  EXPECT_EQ(show("a b OR c OR d e"), "(and a (or b c d) e)");
  EXPECT_EQ(show("(a b) OR c"), "(or (and a b) c)");
  EXPECT_EQ(show("(a OR (b OR c))"), "(or a b c)");
  EXPECT_EQ(show("a a (a)"), "a");
}

TEST(QueryTest, OperatorsAreInCapitalsOnly) {
  EXPECT_EQ(show("a or b"), "(and a or b)");
  EXPECT_EQ(show("a AND b"), "(and a b)");
  EXPECT_EQ(show("a NOT b"), "(and a (not b))");
  EXPECT_EQ(show("a AND NOT b"), "(and a (not b))");
  EXPECT_EQ(show("a not b"), "(and a not b)");
  EXPECT_EQ(show("a -b -(c d)"), "(and a (not b) (not (and c d)))");
  EXPECT_EQ(show("a OR -b"), "(or a (not b))");
  EXPECT_EQ(show("NOT NOT a"), "a");
  EXPECT_EQ(show("-a"), "(not a)");
}

TEST(QueryTest, AnOperatorWithoutItsWordIsAWord) {
  EXPECT_EQ(show("OR"), "or");
  EXPECT_EQ(show("NOT"), "not");
  EXPECT_EQ(show("a OR"), "(and a or)");
  EXPECT_EQ(show("OR a"), "(and or a)");
  EXPECT_EQ(show("a NOT"), "(and a not)");
  EXPECT_EQ(show("a - b"), "(and a b)");
  EXPECT_EQ(show("(OR)"), "or");
}

TEST(QueryTest, AWordAloneMeansAllItsFormsAndAPhraseItsVeryWords) {
  EXPECT_EQ(show("Running dogs"), "(and run dog)");
  EXPECT_EQ(show("\"Running dogs\""), "\"running dogs\"");
  EXPECT_EQ(show("\"running\""), "running");
  EXPECT_EQ(show("“running dogs”"), "\"running dogs\"");
}

TEST(QueryTest, AWordOfSeveralTokensIsAPhraseOfThem) {
  EXPECT_EQ(show("e-mails"), "\"e mail\"");
  EXPECT_EQ(show("c++11"), "\"c 11\"");
  EXPECT_EQ(show("3.14"), "\"3 14\"");
  EXPECT_EQ(show("http://example.org/x"), "\"http exampl org x\"");
}

TEST(QueryTest, AStarMakesABeginningOfTheLastWord) {
  EXPECT_EQ(show("connecti*"), "connecti*");
  EXPECT_EQ(show("\"open con\"*"), "\"open con\"*");
  EXPECT_EQ(show("e-mai*"), "\"e mai\"*");
  EXPECT_EQ(show("*"), "");
  EXPECT_EQ(show("a*b"), "\"a b\"");
  EXPECT_EQ(show("title:pre*"), "title:pre*");
}

TEST(QueryTest, ScriptsWithoutBlanksAreLookedForInPairs) {
  EXPECT_EQ(show("東京都"), "\"東京 京都\"");
  EXPECT_EQ(show("東京"), "東京");
  EXPECT_EQ(show("山"), "山*");
  EXPECT_EQ(show("東京*"), "東京");
  EXPECT_EQ(show("東京 大阪"), "(and 東京 大阪)");
  EXPECT_EQ(show("東京\u3000大阪"), "(and 東京 大阪)");
  EXPECT_EQ(show("\"東京 x\""), "\"東京 京 x\"");
  EXPECT_EQ(show("iphone手机"), "\"iphon 手机\"");
  EXPECT_EQ(show("x山"), "\"x 山\"*");
}

TEST(QueryTest, FieldsHoldForAWordAPhraseOrAGroup) {
  EXPECT_EQ(show("title:dogs"), "title:dog");
  EXPECT_EQ(show("TITLE:dogs"), "title:dog");
  EXPECT_EQ(show("author:\"Jane Doe\" from:bob"), "(and author:\"jane doe\" from:bob)");
  EXPECT_EQ(show("filename:(a OR b) c"), "(and (or filename:a filename:b) c)");
  EXPECT_EQ(show("-title:x y"), "(and (not title:x) y)");
  EXPECT_EQ(show("title: x"), "(and titl x)");
  EXPECT_EQ(show("note:x"), "\"note x\"");
  EXPECT_EQ(show("title:OR x"), "(and title:or x)");
}

TEST(QueryTest, FiltersStandAtTheTopPerhapsNegated) {
  const Query query =
      parse_query("report type:PDF -type:mail path:/Leak//Mails/ collection:\"My One\"");
  EXPECT_EQ(show(*query.words), "report");
  EXPECT_EQ(query.types.any, std::vector<std::string>{"pdf"});
  EXPECT_EQ(query.types.none, std::vector<std::string>{"mail"});
  EXPECT_EQ(query.paths.any, std::vector<std::string>{"leak/mails"});
  EXPECT_EQ(query.collections.any, std::vector<std::string>{"My One"});
  EXPECT_TRUE(query.notes.empty());
}

TEST(QueryTest, AStarInAFilterIsPartOfItsValue) {
  EXPECT_EQ(parse_query("type:image/*").types.any, std::vector<std::string>{"image/*"});
  EXPECT_EQ(parse_query("date:2020..").dates.any.size(), 1U);
  EXPECT_EQ(parse_query("date:..2020-05").dates.any.size(), 1U);
}

TEST(QueryTest, SeveralFiltersOfAKindMeanAnyOfThem) {
  const std::vector<std::string> both = {"pdf", "doc"};
  EXPECT_EQ(parse_query("type:pdf type:doc").types.any, both);
  EXPECT_EQ(parse_query("type:pdf OR type:doc").types.any, both);
  EXPECT_EQ(parse_query("x (type:pdf OR type:doc)").types.any, both);
  EXPECT_EQ(parse_query("-(type:pdf OR type:doc)").types.none, both);
  EXPECT_EQ(parse_query("NOT type:pdf NOT type:doc").types.none, both);
  EXPECT_FALSE(parse_query("type:pdf").words.has_value());
  EXPECT_FALSE(parse_query("type:pdf").empty());
}

TEST(QueryTest, DatasetsAreAskedForByHowTheyEnded) {
  const Query query = parse_query("rainfall dataset:Success -dataset:mismatch-md5 in_ia:TRUE");
  EXPECT_EQ(query.datasets.any, std::vector<std::string>{"success"});
  EXPECT_EQ(query.datasets.none, std::vector<std::string>{"mismatch-md5"});
  EXPECT_EQ(query.in_ia.any, std::vector<std::string>{"true"});
  EXPECT_TRUE(query.asks_for_datasets());
  EXPECT_EQ(show("rainfall dataset:success"), show("rainfall"));
  EXPECT_FALSE(parse_query("dataset:success").empty());
  EXPECT_EQ(parse_query("dataset:spn2-error:no-access").datasets.any,
            std::vector<std::string>{"spn2-error:no-access"});
  EXPECT_EQ(show("in_ia:maybe"), "\"in ia mayb\"") << "no filter: it is searched as words";
  EXPECT_FALSE(parse_query("in_ia:maybe").asks_for_datasets());
  EXPECT_FALSE(parse_query("a OR dataset:success").notes.empty()) << "it stands too deep";
}

TEST(QueryTest, AFilterThatStandsDeeperIsWordsAndIsNoted) {
  const Query query = parse_query("a OR type:pdf");
  EXPECT_EQ(show(*query.words), "(or a \"type pdf\")");
  EXPECT_TRUE(query.types.empty());
  ASSERT_EQ(query.notes.size(), 1U);
  EXPECT_NE(query.notes[0].find("type:pdf"), std::string::npos);
  EXPECT_EQ(show("type:pdf OR date:2020"), "(or \"type pdf\" \"date 2020\")");
}

TEST(QueryTest, AFilterWhoseValueMeansNothingIsWordsAndIsNoted) {
  const Query query = parse_query("date:soon x");
  EXPECT_EQ(show(*query.words), "(and \"date soon\" x)");
  EXPECT_TRUE(query.dates.empty());
  EXPECT_EQ(query.notes.size(), 1U);
  for (const char* text : {"date:\"\"", "path:/", "type:ä", "type:\"a b\"", "collection:\"\""}) {
    EXPECT_EQ(parse_query(text).notes.size(), 1U) << text;
  }
}

TEST(QueryTest, A22_EveryOddQueryHasADefinedMeaning) {
  EXPECT_EQ(show("\"\""), "");
  EXPECT_EQ(show(""), "");
  EXPECT_EQ(show("a  b"), "(and a b)");
  EXPECT_EQ(show("don't"), "dont");
  EXPECT_EQ(show("don’t"), "dont");
  EXPECT_EQ(show("c++"), "c");
  EXPECT_EQ(show("e-mail"), "\"e mail\"");
  EXPECT_EQ(show("AND"), "and");
  EXPECT_EQ(show("(x"), "x");
  EXPECT_EQ(show("x)"), "x");
  EXPECT_EQ(show("NEAR("), "near");
  EXPECT_EQ(show("\"open"), "open");
  EXPECT_EQ(show("\"open door"), "\"open door\"");
  EXPECT_EQ(show("()"), "");
  EXPECT_EQ(show("-()"), "");
}

TEST(QueryTest, A22_ALongQueryIsCutBetweenWordsAndSaysSo) {
  std::string text;
  while (text.size() < 10'000) text += "words" + std::to_string(text.size()) + " ";
  const Query query = parse_query(text);
  EXPECT_TRUE(query.cut);
  EXPECT_FALSE(query.notes.empty());
  ASSERT_TRUE(query.words.has_value());
  EXPECT_EQ(query.words->children.size(), kQueryTermsMax);
  EXPECT_FALSE(parse_query(std::string(kQueryBytesMax, 'x')).cut);
  EXPECT_TRUE(parse_query(std::string(kQueryBytesMax + 1, 'x')).cut);
}

TEST(QueryTest, TermsBeyondTheLimitAreLeftOutAndNoted) {
  std::string text;
  for (std::size_t i = 0; i < kQueryTermsMax + 5; ++i) text += "w" + std::to_string(i) + " ";
  const Query query = parse_query(text);
  EXPECT_EQ(query.words->children.size(), kQueryTermsMax);
  EXPECT_EQ(query.notes.size(), 1U);
}

TEST(QueryTest, PhrasesAreCutWhereTheQueryHasTooManyTokens) {
  std::string text = "\"";
  for (std::size_t i = 0; i < kQueryTokensMax + 5; ++i) text += "w" + std::to_string(i) + " ";
  const Query query = parse_query(text + "\"");
  EXPECT_EQ(query.words->tokens.size(), kQueryTokensMax);
  EXPECT_EQ(query.notes.size(), 1U);
}

TEST(QueryTest, FiltersBeyondTheLimitAreLeftOut) {
  std::string text;
  for (std::size_t i = 0; i < kQueryFiltersMax + 5; ++i) text += "type:t" + std::to_string(i) + " ";
  EXPECT_EQ(parse_query(text).types.any.size(), kQueryFiltersMax);
  EXPECT_EQ(parse_query(text).notes.size(), 1U);
}

TEST(QueryTest, NotesAreFew) {
  std::string text = "x OR (";
  for (std::size_t i = 0; i < 20; ++i) text += "type:t" + std::to_string(i) + " ";
  EXPECT_EQ(parse_query(text).notes.size(), kQueryNotesMax);
}

TEST(QueryTest, ParenthesesTooDeepAreLookedThrough) {
  const std::string open(2000, '(');
  EXPECT_EQ(show(open + "a b" + std::string(2000, ')') + " c"), "(and a b c)");
  EXPECT_FALSE(parse_query(open + "a").notes.empty());
  std::string nots;
  for (int i = 0; i < 500; ++i) nots += "a" + std::to_string(i % 50) + " OR -(b -(";
  EXPECT_TRUE(parse_query(nots).words.has_value());
}

TEST(QueryTest, RelaxedMeansAnyOfTheWords) {
  EXPECT_EQ(show_relaxed("alpha beta -gamma"), "(and (or alpha beta) (not gamma))");
  EXPECT_EQ(show_relaxed("\"running dogs\""), "(or run dog)");
  EXPECT_EQ(show_relaxed("alpha \"beta gam\"*"), "(or alpha beta gam*)");
  EXPECT_EQ(show_relaxed("alpha"), "nothing");
  EXPECT_EQ(show_relaxed("alpha -beta"), "nothing");
  EXPECT_EQ(show_relaxed("alpha OR beta"), "nothing");
  EXPECT_EQ(show_relaxed("(alpha OR beta) -gamma"), "nothing");
  EXPECT_EQ(show_relaxed("type:pdf"), "nothing");
  EXPECT_EQ(relaxed(parse_query("a b type:pdf"))->types.any.size(), 1U);
}

TEST(QueryTest, TokensAreGivenOnceWithThoseThatMustNotBeThere) {
  const std::vector<std::string> expected = {"a", "b", "c", "d"};
  EXPECT_EQ(tokens_of(parse_query("a \"a b\" -c d* title:a")), expected);
  EXPECT_TRUE(tokens_of(parse_query("type:pdf")).empty());
}

struct Measured {
  std::size_t depth = 0;
  std::size_t terms = 0;
  std::size_t tokens = 0;
};

// Also that it is a tree as the header says.
void measure(const Node& node, std::size_t depth, Measured& out) {
  out.depth = std::max(out.depth, depth);
  const bool is_leaf = node.kind == Node::Kind::Phrase || node.kind == Node::Kind::Prefix;
  out.terms += is_leaf ? 1 : 0;
  out.tokens += node.tokens.size();
  ASSERT_EQ(is_leaf, !node.tokens.empty());
  ASSERT_TRUE(!is_leaf || node.children.empty());
  ASSERT_TRUE(node.kind != Node::Kind::Not || node.children.size() == 1);
  ASSERT_TRUE(is_leaf || node.kind == Node::Kind::Not || node.children.size() >= 2);
  for (const std::string& token : node.tokens) {
    ASSERT_TRUE(!token.empty() && token.size() <= kTokenBytesMax && is_valid_utf8(token));
    ASSERT_EQ(token.find_first_of(" \"*"), std::string::npos);
  }
  for (const Node& child : node.children) measure(child, depth + 1, out);
}

std::string random_query(std::mt19937& random) {
  constexpr std::string_view kPieces[] = {
      " ",     "\"",    "(",      ")",          "-",       "*",    " OR ",  " AND ",  " NOT ",
      "NEAR(", "type:", "date:",  "title:(",    "path:/a", "2020", "..",    "date:x", "word",
      "'",     "c++",   "東京",   "ไทย",        "👍🏽",    "\xff", "{a b}", "a + b",  "^x",
      "x:y",   "„",     "title:", "-type:mail", "running", "\0",   "é",     "-(",     ") OR ("};
  std::string text;
  const std::size_t pieces = random() % 60;
  for (std::size_t i = 0; i < pieces; ++i) {
    if (random() % 3 == 0) {
      std::array<char, 4> bytes = {};
      const char32_t plane = random() % 17 * 0x10000;
      text.append(bytes.data(), write_utf8(plane + random() % 0x10000, bytes.data()));
    } else {
      text += kPieces[random() % std::size(kPieces)];
    }
  }
  // Some are far too long.
  while (random() % 20 == 0 && text.size() < 20'000) text += text;
  return text;
}

TEST(QueryTest, TenThousandRandomStringsAreQueriesWithinTheBounds) {
  std::mt19937 random(20'001);
  for (int round = 0; round < 10'000; ++round) {
    const std::string text = random_query(random);
    SCOPED_TRACE(text);
    const Query query = parse_query(text);
    ASSERT_LE(query.notes.size(), kQueryNotesMax);
    Measured measured;
    if (query.words) measure(*query.words, 1, measured);
    ASSERT_LE(measured.depth, kQueryDepthMax);
    ASSERT_LE(measured.terms, kQueryTermsMax);
    ASSERT_LE(measured.tokens, kQueryTokensMax);
    const std::optional<Query> looser = relaxed(query);
    if (looser) measure(*looser->words, 1, measured);
    ASSERT_LE(tokens_of(query).size(), kQueryTokensMax);
  }
}

}  // namespace
}  // namespace quern::search

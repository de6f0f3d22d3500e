// Rows of the acceptance list, on packs: what people were promised, whatever the query and the
// documents.
#include <random>

#include "search/list.h"
#include "support/pack_fixture.h"

namespace quern::search {
namespace {

using PackRowsTest = PackTest;

std::vector<PackDocument> some() {
  return {{.file = 1,
           .title = "Don't panic",
           .filename = "a/c++.txt",
           .type = "text/plain",
           .text = "don't use c++ or e-mail AND other (x things NEAR( here"},
          {.file = 2,
           .filename = "b/two.txt",
           .type = "text/plain",
           .text = "an open book, a  b, and an e-mail"},
          {.file = 3, .filename = "d/three.txt", .type = "text/plain", .text = "日本語の文書 x"}};
}

TEST_F(PackRowsTest, A22_OddQueriesHaveDefinedAnswers) {
  const auto pack = build(some());
  EXPECT_EQ(ask(*pack, "\"\"").files, (Files{}));
  EXPECT_EQ(ask(*pack, "a  b").files, (Files{2}));
  EXPECT_EQ(ask(*pack, "don't").files, (Files{1}));
  EXPECT_EQ(ask(*pack, "c++").files, (Files{1}));
  EXPECT_EQ(ask(*pack, "e-mail").files.size(), 2U);
  EXPECT_EQ(ask(*pack, "AND").files.size(), 2U);
  EXPECT_EQ(ask(*pack, "(x").files.size(), 2U);
  EXPECT_EQ(ask(*pack, "NEAR(").files, (Files{1}));
  EXPECT_EQ(ask(*pack, "\"open").files, (Files{2}));
  EXPECT_EQ(ask(*pack, std::string(10'000, 'x')).files, (Files{}));
}

// All planes, quotes, operators, filters, broken UTF-8 and zero bytes.
std::string random_query(std::mt19937_64& random) {
  static const char* const kPieces[] = {
      "\"",     "(",           ")",     "*",     "-",          " OR ",  " AND ",    " NOT ",
      "title:", "author:",     "from:", "date:", "2020..2021", "type:", "pdf",      "path:",
      "a/b",    "collection:", "NEAR(", "^",     "+",          "{",     "}",        ":",
      "book",   "mail",        "e-",    "x",     "c++",        "'",     "日本",     "語",
      "ß",      "İ",           "\xFF",  "\xC3",  "\xF0\x9F",   "w*",    "\"a b\"*", ",",
      "\\",     "\n",          "|",     "&",     "~"};
  std::string query;
  for (std::size_t count = random() % 24; count > 0; --count) {
    const std::size_t choice = random() % 10;
    if (choice < 6) {
      query += kPieces[random() % std::size(kPieces)];
    } else if (choice == 6) {
      query += static_cast<char>(random());
    } else if (choice == 7) {
      query += ' ';
    } else {
      // Any code point below 0x110000, surrogates too.
      const auto point = static_cast<std::uint32_t>(random() % 0x110000);
      query += static_cast<char>(0xF0 | (point >> 18));
      query += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
      query += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
      query += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  return query;
}

TEST_F(PackRowsTest, A22_TenThousandRandomQueriesNeverFail) {
  const auto small = build(some());
  const auto large = build(seeded_documents(2'000, 12, 200), "large");
  std::mt19937_64 random(22);  // NOLINT: the same queries every time
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = random_query(random);
    const Sort sort = static_cast<Sort>(random() % 3);
    for (const Pack* pack : {small.get(), large.get()}) {
      const Query query = parse_query(text);
      const auto frequencies = pack->frequencies(tokens_of(query));
      ASSERT_TRUE(frequencies.ok()) << text << ": " << frequencies.error().message();
      const auto answer = pack->search(
          {.query = &query, .frequencies = &*frequencies, .sort = sort, .facets = true});
      ASSERT_TRUE(answer.ok()) << text << ": " << answer.error().message();
      Highlighter highlighter(query);
      for (const Found& found : answer->found) {
        ASSERT_TRUE(pack->show(found.row, highlighter).ok()) << text;
      }
    }
    ASSERT_TRUE(small->suggest(text, 5).ok()) << text;
  }
}

TEST_F(PackRowsTest, A22_TreesThatNoParserMakesAreFineToo) {
  const auto pack = build(some());
  Node deep{.kind = Node::Kind::Phrase, .tokens = {"book"}};
  for (int i = 0; i < 500; ++i) {
    Node around{.kind = i % 3 == 0   ? Node::Kind::Not
                        : i % 3 == 1 ? Node::Kind::Or
                                     : Node::Kind::And};
    if (around.kind != Node::Kind::Not) {
      around.children.push_back({.kind = Node::Kind::Prefix, .tokens = {"x", "b"}});
    }
    around.children.push_back(std::move(deep));
    deep = std::move(around);
  }
  Query query;
  query.words = std::move(deep);
  ask_query(*pack, query, {});
  for (const std::string& token : {std::string("a\0b", 3), std::string("\"\"\""), std::string(),
                                   std::string(" "), std::string(100'000, 'y')}) {
    query.words = Node{.kind = Node::Kind::Phrase, .tokens = {token}};
    EXPECT_EQ(ask_query(*pack, query, {}).files, (Files{}));
    query.words = Node{.kind = Node::Kind::Prefix, .tokens = {"book", token}};
    ask_query(*pack, query, {});
  }
}

TEST_F(PackRowsTest, A23_ADocumentIsFoundOnceAndItsBestFieldDrivesItsRank) {
  const std::string filler = " something else is written here, and nothing more than that";
  const auto pack =
      build({{.file = 1, .filename = "a.txt", .text = "zebra" + filler},
             {.file = 2, .title = "Zebra", .filename = "b.txt", .text = "no" + filler},
             {.file = 3,
              .title = "Zebra",
              .filename = "zebra.txt",
              .author = "Zebra",
              .text = "zebra" + filler},
             {.file = 4, .filename = "zebra.txt", .text = "no" + filler}});
  EXPECT_EQ(ask(*pack, "zebra").files, (Files{3, 2, 4, 1}));
}

TEST_F(PackRowsTest, A23_TiesAreBrokenByAStableKey) {
  std::vector<PackDocument> documents;
  for (int i = 1; i <= 40; ++i) {
    documents.push_back({.file = i, .filename = "f" + std::to_string(i), .text = "same words"});
  }
  const Asked one = ask(*build(documents, "one"), "same", {.limit = 40});
  std::ranges::reverse(documents);
  const Asked other = ask(*build(documents, "other"), "same", {.limit = 40});
  EXPECT_EQ(one.files, other.files);
  EXPECT_EQ(one.files.size(), 40U);
  // The same in another pack: by the name, not by where it stands.
  documents.resize(20);
  const Asked half = ask(*build(documents, "half"), "same", {.limit = 40});
  Files expected = one.files;
  std::erase_if(expected, [](std::int64_t file) { return file <= 20; });
  EXPECT_EQ(half.files, expected);
}

TEST_F(PackRowsTest, A24_APathHoldsForThatPathAndAllBelowIt) {
  const auto pack = build({
      {.file = 1, .url = "https://site.example/a/one", .text = "word"},
      {.file = 2, .url = "https://site.example/b/two", .text = "word"},
      {.file = 3, .url = "https://site.example/a", .text = "word"},
      {.file = 4, .url = "https://site.example/ab/c", .text = "word"},
      {.file = 5, .url = "https://site.example/a-b/c", .text = "word"},
      {.file = 6, .url = "https://site.example/A/deep/er?x=/b/#/b/", .text = "word"},
      {.file = 7, .filename = "A/notes.txt", .text = "word"},
      {.file = 8, .filename = "b/a/notes.txt", .text = "word"},
      {.file = 9, .url = "https://site.example", .text = "word"},
  });
  const auto sorted = [&](const std::string& query) {
    Files files = ask(*pack, query).files;
    std::ranges::sort(files);
    return files;
  };
  EXPECT_EQ(sorted("word path:/a/"), (Files{1, 3, 6, 7}));
  EXPECT_EQ(sorted("word path:a"), (Files{1, 3, 6, 7}));
  EXPECT_EQ(sorted("path:/a/deep"), (Files{6}));
  EXPECT_EQ(sorted("word -path:a"), (Files{2, 4, 5, 8, 9}));
  EXPECT_EQ(sorted("word path:b OR path:ab"), (Files{2, 4, 8}));
  EXPECT_EQ(sorted("word path:none"), (Files{}));
}

TEST_F(PackRowsTest, A25_FiveMegabytesOfDistinctWordsAreFoundByTheLast) {
  std::string text;
  int words = 0;
  while (text.size() < 5'000'000) text += "word" + std::to_string(++words) + "x ";
  text += "lastofall";
  const auto pack = build({{.file = 1, .filename = "big.txt", .text = text},
                           {.file = 2, .filename = "small.txt", .text = "small"}});
  EXPECT_EQ(ask(*pack, "lastofall").files, (Files{1}));
  EXPECT_EQ(ask(*pack, "word" + std::to_string(words) + "x lastofall").files, (Files{1}));
  const Hit hit = show(*pack, "lastofall", ask(*pack, "lastofall").answer.found.at(0).row);
  EXPECT_NE(hit.snippet.find("<mark>lastofall</mark>"), std::string::npos) << hit.snippet;
}

TEST_F(PackRowsTest, A28_AMaskedDocumentIsGoneAndTheOthersShowTheirOwnText) {
  std::vector<PackDocument> documents;
  for (int i = 1; i <= 30; ++i) {
    documents.push_back({.file = i,
                         .filename = "f" + std::to_string(i),
                         .day = i,
                         .text = "common words of number" + std::to_string(i)});
  }
  const auto pack = build(documents);
  const Files gone = {7, 20};
  const auto rows = pack->rows_of_files(gone);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  Mask mask(static_cast<std::size_t>(pack->documents()));
  for (const std::uint32_t row : *rows) mask.set(row);
  EXPECT_EQ(mask.count(), 2);
  for (const Sort sort : {Sort::Relevance, Sort::Newest, Sort::Oldest}) {
    const Asked asked = ask(*pack, "common", {.sort = sort, .limit = 40, .mask = &mask});
    EXPECT_EQ(asked.files.size(), 28U);
    EXPECT_EQ(asked.answer.total, 28);
    for (const Found& found : asked.answer.found) {
      EXPECT_NE(found.place.file, 7);
      EXPECT_NE(found.place.file, 20);
      const Hit hit = show(*pack, "common", found.row);
      EXPECT_EQ(hit.file, found.place.file);
      EXPECT_TRUE(hit.snippet.ends_with("number" + std::to_string(hit.file))) << hit.snippet;
    }
  }
  EXPECT_EQ(ask(*pack, "number7", {.mask = &mask}).files, (Files{}));
}

TEST_F(PackRowsTest, A28_WhatIsMaskedIsNotTakenIntoAnotherPack) {
  std::vector<PackDocument> documents = seeded_documents(200, 20, 100);
  documents[10].page_ends = {5, 30};
  documents[10].page = 0;
  const auto first = build({documents.begin(), documents.begin() + 120}, "first");
  const auto second = build({documents.begin() + 120, documents.end()}, "second");
  Mask mask(static_cast<std::size_t>(first->documents()));
  const Files gone = {3, 4, 5};
  const auto rows = first->rows_of_files(gone);
  ASSERT_TRUE(rows.ok());
  for (const std::uint32_t row : *rows) mask.set(row);
  auto builder = PackBuilder::create(folder_ / "both");
  ASSERT_TRUE(builder.ok());
  ASSERT_TRUE(builder->add_all(*second, nullptr).ok());
  ASSERT_TRUE(builder->add_all(*first, &mask).ok());
  EXPECT_EQ(builder->documents(), 197);
  const auto merged = builder->finish();
  ASSERT_TRUE(merged.ok()) << merged.error().message();
  // The same as if they had never been there.
  std::erase_if(documents, [](const PackDocument& document) {
    return document.file >= 3 && document.file <= 5;
  });
  build(documents, "fresh");
  EXPECT_EQ(merged->digest, info_.digest);
  EXPECT_EQ(merged->text_bytes, info_.text_bytes);
}

TEST_F(PackRowsTest, RowsOfAJobAreAllOfItsDocuments) {
  const auto pack = build(seeded_documents(50, 5, 20));
  const auto rows = pack->rows_of_job(3);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->size(), 7U);
  for (const std::uint32_t row : *rows) EXPECT_EQ(show(*pack, "w1", row).file % 7, 3);
  EXPECT_TRUE(pack->rows_of_job(99)->empty());
}

}  // namespace
}  // namespace quern::search

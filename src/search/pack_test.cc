#include "search/pack.h"

#include <sqlite3.h>

#include "io/file.h"
#include "support/pack_fixture.h"

namespace quern::search {
namespace {

std::vector<PackDocument> animals() {
  return {{.file = 11,
           .job = 1,
           .title = "Cats",
           .filename = "zoo/cats.txt",
           .type = "text/plain",
           .day = 100,
           .text = "A cat sleeps on the warm roof."},
          {.file = 12,
           .job = 1,
           .title = "Dogs",
           .filename = "zoo/dogs.pdf",
           .type = "application/pdf",
           .day = 200,
           .text = "A dog chases the cat over the roof."},
          {.file = 13,
           .job = 2,
           .filename = "farm/cows.txt",
           .author = "Ann Miller",
           .from = "bob@farm.example",
           .type = "text/plain",
           .text = "Cows eat grass."}};
}

TEST_F(PackTest, FindsDocumentsByTheirWords) {
  const auto pack = build(animals());
  EXPECT_EQ(pack->documents(), 3);
  EXPECT_EQ(ask(*pack, "grass").files, (Files{13}));
  EXPECT_EQ(ask(*pack, "cat roof").files.size(), 2U);
  EXPECT_EQ(ask(*pack, "cat dog").files, (Files{12}));
  EXPECT_EQ(ask(*pack, "cat -dog").files, (Files{11}));
  EXPECT_EQ(ask(*pack, "\"warm roof\"").files, (Files{11}));
  EXPECT_EQ(ask(*pack, "\"roof warm\"").files, (Files{}));
  EXPECT_EQ(ask(*pack, "gra*").files, (Files{13}));
  EXPECT_EQ(ask(*pack, "grass OR dog").files.size(), 2U);
  EXPECT_EQ(ask(*pack, "sleeping").files, (Files{11}));
  EXPECT_EQ(ask(*pack, "elephant").files, (Files{}));
  EXPECT_TRUE(ask(*pack, "elephant").answer.exact);
}

TEST_F(PackTest, FindsWordsInTheFieldsThatAreNamed) {
  const auto pack = build(animals());
  EXPECT_EQ(ask(*pack, "title:cats").files, (Files{11}));
  EXPECT_EQ(ask(*pack, "title:roof").files, (Files{}));
  EXPECT_EQ(ask(*pack, "author:miller").files, (Files{13}));
  EXPECT_EQ(ask(*pack, "from:bob").files, (Files{13}));
  EXPECT_EQ(ask(*pack, "filename:cows").files, (Files{13}));
}

TEST_F(PackTest, AnEmptyQueryFindsNothing) {
  const auto pack = build(animals());
  EXPECT_EQ(ask(*pack, "").files, (Files{}));
  EXPECT_EQ(ask(*pack, "   ").answer.total, 0);
}

TEST_F(PackTest, FiltersAloneListTheNewestFirst) {
  const auto pack = build(animals());
  EXPECT_EQ(ask(*pack, "type:text/plain").files, (Files{11, 13}));
  EXPECT_EQ(ask(*pack, "date:1970..2000").files, (Files{12, 11}));
  EXPECT_EQ(ask(*pack, "-type:pdf").files, (Files{11, 13}));
}

TEST_F(PackTest, NotAloneFindsAllTheRest) {
  const auto pack = build(animals());
  EXPECT_EQ(ask(*pack, "-grass").files, (Files{12, 11}));
  EXPECT_EQ(ask(*pack, "NOT grass NOT dog").files, (Files{11}));
}

TEST_F(PackTest, SortsByDayAndPutsThoseWithoutOneLast) {
  const auto pack = build(animals());
  EXPECT_EQ(ask(*pack, "cat OR grass", {.sort = Sort::Newest}).files, (Files{12, 11, 13}));
  EXPECT_EQ(ask(*pack, "cat OR grass", {.sort = Sort::Oldest}).files, (Files{11, 12, 13}));
}

TEST_F(PackTest, ShowsTheDocumentOfAHit) {
  const auto pack = build(animals());
  const Asked asked = ask(*pack, "dog");
  const Hit hit = show(*pack, "dog", asked.answer.found.at(0).row);
  EXPECT_EQ(hit.file, 12);
  EXPECT_EQ(hit.title, "Dogs");
  EXPECT_EQ(hit.filename, "zoo/dogs.pdf");
  EXPECT_EQ(hit.type, "application/pdf");
  EXPECT_EQ(hit.day, 200);
  EXPECT_NE(hit.snippet.find("<mark>dog</mark>"), std::string::npos) << hit.snippet;
}

TEST_F(PackTest, ShowsThePageOfTheHit) {
  const std::string first = "First page about apples. ";
  const std::string second = "Second page about pears. ";
  const std::string third = "Third page about plums.";
  const auto pack = build(
      {{.file = 1,
        .filename = "a.pdf",
        .type = "application/pdf",
        .text = first + second + third,
        .page_ends = {static_cast<std::uint32_t>(first.size()),
                      static_cast<std::uint32_t>(first.size() + second.size()),
                      static_cast<std::uint32_t>(first.size() + second.size() + third.size())}},
       {.file = 2, .filename = "b.pdf", .type = "application/pdf", .page = 7, .text = "quinces"}});
  EXPECT_EQ(show(*pack, "apples", ask(*pack, "apples").answer.found.at(0).row).page, 1);
  EXPECT_EQ(show(*pack, "pears", ask(*pack, "pears").answer.found.at(0).row).page, 2);
  EXPECT_EQ(show(*pack, "plums", ask(*pack, "plums").answer.found.at(0).row).page, 3);
  EXPECT_EQ(show(*pack, "quinces", ask(*pack, "quinces").answer.found.at(0).row).page, 7);
}

TEST_F(PackTest, SaysWhatItHolds) {
  const auto pack = build(animals());
  EXPECT_EQ(info_.documents, 3);
  EXPECT_EQ(info_.file_min, 11);
  EXPECT_EQ(info_.file_max, 13);
  EXPECT_EQ(info_.text_bytes, 30 + 35 + 15);
  EXPECT_EQ(info_.digest.size(), 64U);
  const std::vector<std::string> tokens = {"cat", "grass", "nothing"};
  const auto frequencies = pack->frequencies(tokens);
  ASSERT_TRUE(frequencies.ok());
  EXPECT_EQ(frequencies->documents, 3);
  EXPECT_EQ(frequencies->by_token.at("cat"), 2);
  EXPECT_EQ(frequencies->by_token.at("grass"), 1);
  EXPECT_EQ(frequencies->by_token.at("nothing"), 0);
}

TEST_F(PackTest, WordsOfASingleDocumentAreSuggestedAndStemsAreNot) {
  const auto pack = build({{.file = 1, .text = "generalities generously"}});
  const auto words = pack->suggest("gener", 10);
  ASSERT_TRUE(words.ok());
  ASSERT_EQ(words->size(), 2U);
  EXPECT_EQ((*words)[0].word, "generalities");
  EXPECT_EQ((*words)[1].word, "generously");
}

TEST_F(PackTest, TheOrderOfArrivalChangesNoByte) {
  std::vector<PackDocument> documents = seeded_documents(300, 40, 500);
  build(documents, "one");
  const PackInfo one = info_;
  std::mt19937_64 random(1);  // NOLINT: the same order every time
  std::shuffle(documents.begin(), documents.end(), random);
  build(documents, "other");
  EXPECT_EQ(one.digest, info_.digest);
}

TEST_F(PackTest, APackWithoutDocumentsIsFine) {
  const auto pack = build({});
  EXPECT_EQ(pack->documents(), 0);
  EXPECT_EQ(ask(*pack, "anything -type:pdf date:2020").files, (Files{}));
  EXPECT_EQ(ask(*pack, "type:pdf path:a").files, (Files{}));
  EXPECT_EQ(ask(*pack, "-a", {.sort = Sort::Oldest}).files, (Files{}));
}

TEST_F(PackTest, TheSameFileTwiceIsAConflict) {
  auto builder = PackBuilder::create(folder_ / "pack");
  ASSERT_TRUE(builder.ok());
  ASSERT_TRUE(builder->add({.file = 1}).ok());
  const auto again = builder->add({.file = 1});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind(), Errc::Conflict);
}

TEST_F(PackTest, WhatIsNotFinishedLeavesNothing) {
  {
    auto builder = PackBuilder::create(folder_ / "pack");
    ASSERT_TRUE(builder.ok());
    ASSERT_TRUE(builder->add({.file = 1, .text = "some text"}).ok());
  }
  EXPECT_TRUE(io::list_folder(folder_.path(), 10)->empty());
}

TEST_F(PackTest, FilesThatAreNoPacksAreCorrupt) {
  build(animals());
  const std::string good = io::read_file(folder_ / "pack", 1 << 20).value();
  const auto kind_of = [this](const std::string& bytes) {
    CHECK_OK(io::write_file_durably(folder_ / "bad", bytes));
    const auto opened = Pack::open(folder_ / "bad");
    return opened.ok() ? std::optional<Errc>() : opened.error().kind();
  };
  EXPECT_EQ(kind_of(good), std::nullopt);
  EXPECT_EQ(kind_of(""), Errc::Corrupt);
  EXPECT_EQ(kind_of("not a database at all"), Errc::Corrupt);
  EXPECT_EQ(kind_of(good.substr(0, good.size() / 2)), Errc::Corrupt);
  EXPECT_EQ(kind_of(std::string(good.size(), '\0')), Errc::Corrupt);
  EXPECT_EQ(Pack::open(folder_ / "none").error().kind(), Errc::Missing);
}

TEST_F(PackTest, APackWithMoreInItThanItsTablesIsRefused) {
  build(animals());
  for (const char* more : {"CREATE TABLE other(a)", "CREATE VIEW v AS SELECT 1",
                           "CREATE TRIGGER t AFTER INSERT ON doc BEGIN SELECT 1; END",
                           "CREATE INDEX i ON doc(title)"}) {
    std::filesystem::copy_file(folder_ / "pack", folder_ / "more",
                               std::filesystem::copy_options::overwrite_existing);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "more").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, more, nullptr, nullptr, nullptr), SQLITE_OK) << more;
    sqlite3_close(database);
    const auto opened = Pack::open(folder_ / "more");
    ASSERT_FALSE(opened.ok()) << more;
    EXPECT_EQ(opened.error().kind(), Errc::Corrupt) << more;
  }
}

TEST(PackBuilderTest, OneThatIsToldToStopEndsSoonAndLeavesNothing) {
  support::TempFolder folder;
  std::atomic<bool> stopping = false;
  {
    Result<PackBuilder> builder = PackBuilder::create(folder / "pack", &stopping);
    ASSERT_TRUE(builder.ok());
    for (int i = 1; i <= 5000; ++i) {
      PackDocument document;
      document.file = i;
      document.filename = std::to_string(i);
      document.text = "a text of some words, number " + std::to_string(i);
      ASSERT_TRUE(builder->add(document).ok());
    }
    stopping = true;
    EXPECT_EQ(builder->finish().error().kind(), Errc::Canceled);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

}  // namespace
}  // namespace quern::search

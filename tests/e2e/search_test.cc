// Searching what was added, as people do: by the command line alone, and over HTTP.
#include <cstdio>

#include "e2e/search_fixture.h"

namespace quern::e2e {
namespace {

using Clock = std::chrono::steady_clock;

// -- without a server --

class SearchCommandTest : public testing::TestWithParam<Store> {
 protected:
  SearchCommandTest() : folder_(GetParam() == Store::Sqlite ? "" : fresh_postgres()) {}

  void add(const std::string& name, const std::string& text, const std::string& more = "") {
    const std::filesystem::path file = files_.path() / name;
    std::FILE* written = std::fopen(file.c_str(), "w");
    ASSERT_NE(written, nullptr);
    std::fputs(text.c_str(), written);
    std::fclose(written);
    std::vector<std::string> arguments{"add", file.string()};
    if (!more.empty()) arguments.insert(arguments.end(), {"--collection", more});
    const support::Ran ran = folder_.run(arguments);
    ASSERT_EQ(ran.status.code, 0) << ran.standard_error;
  }
  Names search(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"search", "--json"});
    const support::Ran ran = folder_.run(std::move(arguments));
    EXPECT_EQ(ran.status.code, 0) << ran.standard_error;
    boost::system::error_code failed;
    const boost::json::value answer = boost::json::parse(ran.standard_output, failed);
    EXPECT_FALSE(failed) << ran.standard_output;
    return failed ? Names() : names_of(answer.as_object());
  }

  DataFolder folder_;
  support::TempFolder files_;
};

TEST_P(SearchCommandTest, WhatWasAddedIsFoundWithoutAServer) {
  add("barge.txt", "A river barge carries apples.\n");
  EXPECT_EQ(search({"barge"}), Names{"barge.txt"});
  EXPECT_EQ(search({"carrying"}), Names{"barge.txt"}) << "another form of the word";
  EXPECT_EQ(search({"lighthouse"}), Names{});
  add("mill.txt", "The mill stands by the river.\n");
  EXPECT_EQ(sorted(search({"river"})), (Names{"barge.txt", "mill.txt"}));
  EXPECT_EQ(search({"river -apples"}), Names{"mill.txt"});
  EXPECT_EQ(folder_.run({"check"}).status.code, 0);
}

TEST_P(SearchCommandTest, PeopleReadTheFilenameAndTheSentence) {
  add("barge.txt", "A river barge carries apples & pears.\n");
  const support::Ran ran = folder_.run({"search", "pears"});
  EXPECT_EQ(ran.status.code, 0) << ran.standard_error;
  EXPECT_NE(ran.standard_output.find("barge.txt"), std::string::npos);
  EXPECT_NE(ran.standard_output.find("apples & **pears**"), std::string::npos)
      << ran.standard_output;
  EXPECT_NE(ran.standard_output.find("1 found"), std::string::npos);
}

TEST_P(SearchCommandTest, OneCollectionIsSearchedAloneOrAllTogether) {
  add("a.txt", "harbour of the first\n", "first");
  add("b.txt", "harbour of the second\n", "second");
  EXPECT_EQ(search({"harbour", "--collection", "first"}), Names{"a.txt"});
  EXPECT_EQ(search({"harbour", "collection:second"}), Names{"b.txt"});
  EXPECT_EQ(sorted(search({"harbour"})), (Names{"a.txt", "b.txt"}));
  const support::Ran ran = folder_.run({"search", "harbour", "--collection", "nowhere"});
  EXPECT_NE(ran.status.code, 0);
}

TEST_P(SearchCommandTest, AFullPackAnswersLikeTheIncrementsBefore) {
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) add(name, std::string("granary ") + name);
  const Names before = search({"granary"});
  EXPECT_EQ(before.size(), 3u);
  const support::Ran ran = folder_.run({"pack", "default", "--full", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.standard_error;
  const boost::json::value pack = boost::json::parse(ran.standard_output);
  EXPECT_EQ(pack.at("segments").as_array().size(), 1u);
  EXPECT_EQ(pack.at("documents").as_int64(), 3);
  EXPECT_EQ(search({"granary"}), before);
  EXPECT_EQ(folder_.run({"check"}).status.code, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchCommandTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

// -- with one --

class SearchTest : public SearchingTest {
 protected:
  // All hits by pages of `limit`, in order.
  Names pages(const std::string& words, int limit, const std::string& sort) {
    Names all;
    std::string after;
    for (int page = 0; page < 100; ++page) {
      const std::string more = fmt::format("&limit={}&sort={}{}", limit, sort, after);
      const boost::json::object answer = ask(words, more);
      const Names names = names_of(answer);
      EXPECT_LE(names.size(), static_cast<std::size_t>(limit));
      all.insert(all.end(), names.begin(), names.end());
      const boost::json::value* next = answer.if_contains("next");
      if (next == nullptr) return all;
      after = "&after=" + std::string(next->as_string());
    }
    ADD_FAILURE() << "pages without end";
    return all;
  }
  std::map<std::string, std::int64_t> facet(const boost::json::object& answer,
                                            const std::string& name) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& one : answer.at("facets").at(name).as_array()) {
      const boost::json::value& value = one.at("value");
      const std::string text =
          value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
      counts[text] = one.at("count").as_int64();
    }
    return counts;
  }
};

// Prints the figure that people ask for: with the settings as they come, from the event of a
// document to the first answer that has it.
TEST_P(SearchTest, ADocumentIsFoundSecondsAfterItsEvent) {
  serve();
  net::RawPeer events(endpoint_);
  events.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  events.read_until(": quern");
  for (int i = 0; i < 3; ++i) {
    const std::string word = fmt::format("windmill{}", i);
    const std::int64_t job = put_text(word + ".txt", "default");
    WorkerPeer peer = worker();
    const LentTask task = peer.take("Text");
    ASSERT_EQ(peer.post_all(task, document_body(Style::SingleFile, task.filename(), word)), 202);
    events.read_until("event: document.created\n");
    const Clock::time_point begin = Clock::now();
    ASSERT_TRUE(finds(word, {word + ".txt"}));
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
    std::printf("found %lld ms after its event\n", static_cast<long long>(took));
    ASSERT_TRUE(finishes(job));
  }
}

TEST_P(SearchTest, AQuestionMayWaitForWhatWasJustAdded) {
  serve({{"QUERN_SEARCH_SETTLE", "3600000"}, {"QUERN_SEARCH_DELAY", "3600000"}});
  add_document("a.txt", "a sluice");
  EXPECT_EQ(found("sluice"), Names{}) << "nobody has packed it";
  EXPECT_EQ(found("sluice", "&fresh=60000"), Names{"a.txt"});
}

TEST_P(SearchTest, A22_AnyTextIsAQuestion) {
  serve_search();
  add_document("a.txt", "don't panic: c++ and e-mail, a  b, and x; open AND near");
  pack();
  std::string all_bytes;
  for (int byte = 1; byte < 128; ++byte) all_bytes += static_cast<char>(byte);
  all_bytes += "\u00e9\u05d0\u0e01\u4e2d\uffff\U0001f600\U000e0001\U0010fffd";
  const Names queries = {"\"\"",    "a  b",   "don't",   "c++",     "e-mail",
                         "AND",     "(x",     "NEAR(",   "\"open",  "",
                         "*",       "-",      "title:",  "NOT NOT", "date:9999999..",
                         all_bytes, "(((((",  ") OR (",  "^a",      "a AND OR NOT b",
                         "{a b}:c", "a:b:c:", "\"a\" *", "- -a"};
  for (const std::string& query : queries) {
    const net::Response answer = get(question(query));
    EXPECT_EQ(answer.status, 200) << query << ": " << answer.body;
  }
  EXPECT_EQ(get("/api/v1/search?q=%ff").status, 400) << "no text: addresses are UTF-8";
  for (const char* query : {"a  b", "don't", "c++", "e-mail", "\"open", "(x"}) {
    EXPECT_EQ(found(query), Names{"a.txt"}) << query;
  }
}

TEST_P(SearchTest, A22_TenKilobytesOfTextAreCutAndSaid) {
  serve_search();
  add_document("a.txt", "a culvert");
  pack();
  const std::string ascii = "culvert " + std::string(10'000, 'x');
  std::string russian = "culvert ";
  for (int i = 0; i < 5000; ++i) russian += "\xd0\xb6";
  for (const std::string& query : {ascii, russian}) {
    const boost::json::object answer = ask(query);
    EXPECT_EQ(field(answer, "cut"), "true");
  }
  EXPECT_EQ(field(ask("culvert"), "cut"), "false");
}

TEST_P(SearchTest, A24_OnlyWhatLiesUnderThePathIsFound) {
  serve_search();
  add_document("a/one.txt", "an aqueduct");
  add_document("b/two.txt", "an aqueduct");
  add_document("ab/three.txt", "an aqueduct");
  pack();
  EXPECT_EQ(found("aqueduct path:a/"), Names{"a/one.txt"});
  EXPECT_EQ(sorted(found("aqueduct -path:a/")), (Names{"ab/three.txt", "b/two.txt"}));
}

TEST_P(SearchTest, A25_FiveMegabytesOfWordsAreFoundByTheLast) {
  serve_search();
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += fmt::format("w{}q ", i * 7919);
  add_document("long.txt", text + "zymurgist");
  pack();
  EXPECT_EQ(found("zymurgist"), Names{"long.txt"});
  EXPECT_EQ(found("w0q"), Names{"long.txt"});
}

TEST_P(SearchTest, A26_NamesOfCollectionsAreNoPaths) {
  serve_search();
  add_document("a.txt", "a weir");
  pack();
  EXPECT_EQ(get("/search/..%2F..%2Fx?q=weir").status, 400);
  EXPECT_EQ(get("/search/nowhere?q=weir").status, 404);
  EXPECT_EQ(get("/api/v1/search?q=weir&collection=nowhere").status, 404);
  EXPECT_EQ(get("/api/v1/search?q=weir&collection=..%2Fx").status, 400);
  EXPECT_EQ(names_of(get_json("/search/default?q=weir")), Names{"a.txt"});
  for (const char* wrong : {"limit=0", "limit=201", "sort=best", "after=x", "after=1.2.3.4",
                            "facets=2", "colection=default", "fresh=-1"}) {
    EXPECT_EQ(get(std::string("/api/v1/search?q=weir&") + wrong).status, 400) << wrong;
  }
}

TEST_P(SearchTest, A27_NeverAHitOfAnotherCollection) {
  serve_search();
  for (const char* name : {"one.txt", "two.txt", "three.txt"}) {
    add_document(std::string("left-") + name, "the same words stand here", "left");
    add_document(std::string("right-") + name, "the same words stand here", "right");
  }
  pack("left");
  pack("right");
  std::atomic<int> wrong = 0;
  std::atomic<int> asked = 0;
  const auto ask_many = [&](const std::string& collection) {
    net::Loop loop;
    net::Client client(loop, endpoint_, {});
    for (int i = 0; i < 2500; ++i) {
      const std::string target = question("same words", "", "/search/" + collection);
      const Result<net::Response> answer =
          loop.run_until(client.fetch(net::get_request(target), 1 << 20));
      if (!answer.ok() || answer->status != 200) {
        ++wrong;
        continue;
      }
      const Names names = names_of(boost::json::parse(answer->body).as_object());
      const bool own = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return name.starts_with(collection + "-");
      });
      if (!own || names.size() != 3) ++wrong;
      ++asked;
    }
  };
  std::vector<std::thread> threads;
  for (const char* collection : {"left", "right", "left", "right"}) {
    threads.emplace_back(ask_many, collection);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(asked, 10'000);
}

TEST_P(SearchTest, A28_WhatWasDeletedIsNotFoundAndOthersKeepTheirRows) {
  serve({{"QUERN_SEARCH_SETTLE", "3600000"}, {"QUERN_SEARCH_DELAY", "3600000"}});
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 6; ++i) {
    jobs.push_back(add_document(fmt::format("{}.txt", i), fmt::format("a canal of number{}", i)));
  }
  pack();
  const auto expect_rows = [&](std::size_t hits) {
    const boost::json::object answer = ask("canal", "&limit=50");
    EXPECT_EQ(answer.at("total").as_int64(), static_cast<std::int64_t>(hits));
    EXPECT_EQ(answer.at("hits").as_array().size(), hits);
    for (const auto& hit : answer.at("hits").as_array()) {
      const std::string name(hit.at("filename").as_string());
      EXPECT_NE(name, "2.txt");
      const std::string snippet(hit.at("snippet").as_string());
      EXPECT_EQ(snippet, fmt::format("a <mark>canal</mark> of number{}", name.substr(0, 1)));
    }
  };
  EXPECT_EQ(found("canal").size(), 6u);
  const int status = remove(fmt::format("/api/v1/jobs/{}", jobs[2])).status;
  EXPECT_TRUE(status == 200 || status == 202);
  expect_rows(5);
  EXPECT_EQ(found("number2"), Names{});
  const boost::json::object packed = pack();
  EXPECT_EQ(packed.at("documents").as_int64(), 5);
  expect_rows(5);
  pack("default", "&full=1");
  expect_rows(5);
  expect_clean();
}

TEST_P(SearchTest, PagesHaveEveryHitOnce) {
  serve_search();
  Names all;
  for (int segment = 0; segment < 3; ++segment) {
    for (int i = 0; i < 7; ++i) {
      const std::string name = fmt::format("{}-{}.txt", segment, i);
      std::string text = "a dyke";
      for (int more = 0; more < i; ++more) text += " dyke";
      add_document(name, text);
      all.push_back(name);
    }
    pack();
  }
  for (const char* sort : {"relevance", "newest", "oldest"}) {
    const Names whole = found("dyke", fmt::format("&limit=100&sort={}", sort));
    EXPECT_EQ(sorted(whole), sorted(all));
    for (const int limit : {1, 4, 21, 30}) {
      EXPECT_EQ(pages("dyke", limit, sort), whole) << sort << " by " << limit;
    }
  }
}

TEST_P(SearchTest, FacetsCountTypesCollectionsAndYears) {
  serve_search();
  add_document("a.txt", "a lock", "first");
  add_document("b.txt", "a lock", "first");
  add_document("c.txt", "a lock", "second");
  add_document("d.txt", "something else", "second");
  pack("first");
  pack("second");
  const boost::json::object answer = ask("lock", "&facets=1&limit=1");
  EXPECT_EQ(answer.at("total").as_int64(), 3);
  EXPECT_EQ(field(answer, "total_is"), "exact");
  EXPECT_EQ(facet(answer, "collection"),
            (std::map<std::string, std::int64_t>{{"first", 2}, {"second", 1}}));
  std::int64_t types = 0;
  for (const auto& [type, count] : facet(answer, "type")) types += count;
  EXPECT_EQ(types, 3);
  EXPECT_FALSE(ask("lock").contains("facets"));
}

TEST_P(SearchTest, WordsAreSuggestedWhileTheyAreTyped) {
  serve_search();
  for (int i = 0; i < 3; ++i) add_document(fmt::format("{}.txt", i), "barges and a barrage");
  add_document("more.txt", "barges only");
  pack();
  const boost::json::object answer = get_json("/api/v1/suggest?q=some+bar");
  Names words;
  for (const auto& one : answer.at("suggestions").as_array()) {
    words.emplace_back(one.at("word").as_string());
  }
  ASSERT_GE(words.size(), 2u);
  EXPECT_TRUE(words[0].starts_with("barge")) << words[0];
  EXPECT_EQ(get("/api/v1/suggest?q=%22(").status, 200);
}

// The folder of packs is no more than a copy.
TEST_P(SearchTest, ALostFolderOfPacksComesBackFromTheStore) {
  serve_search();
  add_document("a.txt", "a ferry");
  pack();
  const Names before = found("ferry");
  server_->kill();
  std::error_code failed;
  EXPECT_GT(std::filesystem::remove_all(folder_.path() / "packs", failed), 1u);
  kill_and_restart();
  EXPECT_EQ(found("ferry"), before);
  EXPECT_EQ(before, Names{"a.txt"});
  expect_clean();
}

// Half a pack, or another's bytes under its name, is never answered from.
TEST_P(SearchTest, ADamagedPackIsFetchedAgain) {
  serve_search();
  add_document("a.txt", "a towpath");
  pack();
  server_->kill();
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "packs")) {
    if (entry.path().extension() != ".pack") continue;
    std::FILE* file = std::fopen(entry.path().c_str(), "r+");
    ASSERT_NE(file, nullptr);
    std::fseek(file, 5000, SEEK_SET);
    std::fputs("damage", file);
    std::fclose(file);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
  kill_and_restart();
  EXPECT_EQ(found("towpath"), Names{"a.txt"});
  expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e

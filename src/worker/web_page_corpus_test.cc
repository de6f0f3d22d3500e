// Page over real pages, feeds and sitemaps that are not ours (QUERN_CORPUS): how much of the main
// text is found and how much of the rest is not, and where they lead.
#include <boost/json.hpp>
#include <filesystem>
#include <set>

#include "support/step_corpus.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/web_page_decode.h"
#include "worker/web_page_main.h"
#include "worker/web_page_scripts.h"
#include "worker/web_page_text.h"

namespace quern::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Words = std::map<std::string, int>;

// What was reached, less 0.01.
constexpr double kF1Min = 0.977;
constexpr std::uint64_t kAll = UINT32_MAX;

std::string load(const fs::path& path) {
  const auto bytes = io::read_file(path, 64 << 20);
  CHECK_OK(bytes);
  return *bytes;
}

enum class Part { Main, All };

std::string text_in(const fs::path& path, Part part) {
  const std::string html = without_scripts(decode_web_page(load(path), "", kAll)).html;
  const auto tree = HtmlTree::parse(html);
  CHECK(tree.has_value());
  const PageOutline outline = outline_of(*tree);
  const bool whole = part == Part::All;
  const PageText text = text_of(
      outline, whole ? std::vector<bool>(outline.elements.size(), true) : main_text_of(outline),
      kAll);
  return text.text.substr(0, text.main_bytes);
}

// Letters and digits that stand together, in lower case; an ideograph is a word.
class WordCounter {
 public:
  static Words words_of(const std::string& text) {
    WordCounter counter;
    for (std::size_t at = 0; at < text.size();) {
      const auto lead = static_cast<unsigned char>(text[at]);
      const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      counter.take(text.substr(at, length), lead);
      at += length;
    }
    counter.end();
    return counter.words_;
  }

 private:
  void take(const std::string& character, unsigned char lead) {
    const bool is_word = lead >= 0xE3 && lead <= 0xED;
    const bool is_mark = (lead < 0x80 && std::isalnum(lead) == 0) || lead == 0xC2 || lead == 0xE2;
    if (is_word || is_mark) end();
    if (!is_mark)
      word_ += lead < 0x80 ? std::string(1, static_cast<char>(std::tolower(lead))) : character;
    if (is_word) end();
  }
  void end() {
    if (!word_.empty()) ++words_[word_];
    word_.clear();
  }

  Words words_;
  std::string word_;
};

struct Score {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

int count_of(const Words& words) {
  int count = 0;
  for (const auto& [word, times] : words) count += times;
  return count;
}

Score score_of(const Words& found, const Words& wanted) {
  int common = 0;
  for (const auto& [word, times] : found) {
    const auto there = wanted.find(word);
    if (there != wanted.end()) common += std::min(times, there->second);
  }
  Score score;
  if (common == 0) return score;
  score.precision = static_cast<double>(common) / count_of(found);
  score.recall = static_cast<double>(common) / count_of(wanted);
  score.f1 = 2 * score.precision * score.recall / (score.precision + score.recall);
  return score;
}

TEST(WebPageCorpusTest, MainTextsAreThoseOfTheReadabilityCases) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(corpus / "html" / "readability")) {
    if (fs::exists(entry.path() / "expected.html")) folders.insert(entry.path());
  }
  Score sum;
  std::printf("%-34s precision recall     F1\n", "case");
  for (const fs::path& folder : folders) {
    const Score score =
        score_of(WordCounter::words_of(text_in(folder / "source.html", Part::Main)),
                 WordCounter::words_of(text_in(folder / "expected.html", Part::All)));
    std::printf("%-34s     %.3f  %.3f  %.3f\n", folder.filename().c_str(), score.precision,
                score.recall, score.f1);
    sum.precision += score.precision;
    sum.recall += score.recall;
    sum.f1 += score.f1;
  }
  ASSERT_GE(folders.size(), 15U);
  const auto cases = static_cast<double>(folders.size());
  std::printf("%-34s     %.3f  %.3f  %.3f\n", "average", sum.precision / cases, sum.recall / cases,
              sum.f1 / cases);
  EXPECT_GE(sum.f1 / cases, kF1Min);
}

// Those of a list "a || b", or behind each "key=" of "key=a; key=b".
std::vector<std::string> phrases_in(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(" || "), text.size());
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 4, text.size()));
  }
  return all;
}

std::vector<std::string> facts_in(std::string_view text, std::string_view key) {
  std::vector<std::string> all;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string_view::npos;) {
    at += key.size();
    all.emplace_back(text.substr(at, text.find("; ", at) - at));
  }
  return all;
}

TEST(WebPageCorpusTest, MainTextsHaveWhatIsOfTheArticleAndNotWhatStandsAroundIt) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const auto rows = support::load_corpus_index(corpus);
  CHECK_OK(rows);
  int wanted = 0;
  int found = 0;
  int unwanted = 0;
  int taken = 0;
  for (const support::CorpusRow& row : *rows) {
    const std::string& path = row.at("path");
    const bool is_article = path.starts_with("html/trafilatura/") ||
                            path.starts_with("html/article-extraction-benchmark/");
    if (!is_article || row.at("role") != "input") continue;
    const std::string text = without_blanks(text_in(corpus / path, Part::Main));
    const auto has = [&text](const std::string& phrase) {
      return text.find(without_blanks(phrase)) != std::string::npos;
    };
    for (const std::string& phrase : phrases_in(row.at("expected_text"))) {
      ++wanted;
      found += has(phrase) ? 1 : 0;
      if (!has(phrase)) std::printf("missing: %s: %s\n", path.c_str(), phrase.c_str());
    }
    for (const auto& phrase : facts_in(row.at("expected_other"), "boilerplate_not_in_article=")) {
      ++unwanted;
      taken += has(phrase) ? 1 : 0;
      if (has(phrase)) std::printf("too much: %s: %s\n", path.c_str(), phrase.c_str());
    }
  }
  std::printf("%d of %d phrases, and %d of %d too many\n", found, wanted, taken, unwanted);
  EXPECT_GE(wanted, 100);
  EXPECT_GE(found * 100, wanted * 98);
  EXPECT_LE(taken * 100, unwanted * 15);
}

TEST(WebPageCorpusTest, LeavingScriptsOutChangesNothingElse) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  int pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus / "html")) {
    if (!entry.is_regular_file()) continue;
    const std::string html = decode_web_page(load(entry.path()), "", kAll);
    const std::string stripped = without_scripts(html).html;
    const auto words = [](const std::string& page) {
      const auto tree = HtmlTree::parse(page);
      const PageOutline outline = outline_of(*tree);
      return text_of(outline, std::vector<bool>(outline.elements.size(), true), kAll).text;
    };
    EXPECT_EQ(words(stripped), words(html)) << entry.path();
    ++pages;
  }
  EXPECT_GT(pages, 60);
}

class WebPageBoxCorpusTest : public CorpusTest {};

TEST_F(WebPageBoxCorpusTest, EveryWebPageEndsByItsOwnWordAndSaysWhatItsSourceExpects) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, model::StepId::Html);
  start("Page");
  int expected = 0;
  int found = 0;
  for (const CorpusFile& file : files) {
    if (file.type.starts_with("multipart/")) continue;
    const Converted converted = CorpusTest::run(file);
    ASSERT_FALSE(converted.end.failure) << file.path << ": " << converted.end.failure->message;
    EXPECT_NE(converted.body.find("name=\"links\""), std::string::npos) << file.path;
    const bool has_phrases =
        !file.row.at("expected_text").empty() && file.row.at("text_check") == "seen";
    if (!has_phrases) continue;
    ++expected;
    const bool there = has_expected_text(file, joined_parts(converted.body, ".txt"));
    found += there ? 1 : 0;
    if (!there) std::printf("not found: %s\n", file.path.c_str());
  }
  std::printf("%zu pages; %d of %d texts\n", files.size(), found, expected);
  EXPECT_GT(files.size(), 60U);
  EXPECT_GE(found * 100, expected * 95);
}

json::value links_in(const fs::path& path) {
  StepTask task;
  task.filename = path.filename();
  const StepRun run = run_task(page_step(), task, load(path));
  EXPECT_FALSE(run.end) << path;
  EXPECT_TRUE(run.has("links")) << path;
  EXPECT_FALSE(run.has("0.json")) << path << " is taken for a page";
  return json::parse(run.part("links"));
}

std::vector<support::CorpusRow> rows_of(const fs::path& corpus, std::string_view folder) {
  const auto rows = support::load_corpus_index(corpus);
  CHECK_OK(rows);
  std::vector<support::CorpusRow> wanted;
  for (const support::CorpusRow& row : *rows) {
    if (row.at("path").starts_with(folder) && row.at("role") == "input") wanted.push_back(row);
  }
  return wanted;
}

std::size_t times(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

TEST(WebListCorpusTest, SitemapsLeadToAllTheirAddresses) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  int sitemaps = 0;
  for (const support::CorpusRow& row : rows_of(corpus, "web/")) {
    const auto counts = facts_in(row.at("computed"), "loc_elements=");
    if (counts.empty() || counts[0] == "0") continue;
    ++sitemaps;
    const fs::path path = corpus / row.at("path");
    const json::value links = links_in(path);
    EXPECT_EQ(links.at("kind").as_string(), "sitemap") << path;
    // Pictures count there, and lead to no page.
    const std::size_t pictures = times(load(path), "<image:loc>");
    EXPECT_EQ(links.at("links").as_array().size() + pictures, std::stoul(counts[0])) << path;
  }
  EXPECT_GE(sitemaps, 9);
}

// Addresses that another reader finds in a feed.
std::set<std::string> addresses_in(const json::value& feed) {
  std::set<std::string> all;
  const auto take = [&all](const json::object& object, const char* key) {
    if (const json::value* value = object.if_contains(key)) all.emplace(value->as_string());
  };
  take(feed.as_object(), "link");
  if (const json::value* links = feed.as_object().if_contains("links")) {
    for (const json::value& link : links->as_array()) all.emplace(link.as_string());
  }
  for (const json::value& item : feed.at("items").as_array()) {
    take(item.as_object(), "link");
    const json::value* files = item.as_object().if_contains("enclosures");
    if (files == nullptr) continue;
    for (const json::value& file : files->as_array()) take(file.as_object(), "url");
  }
  return all;
}

TEST(WebListCorpusTest, FeedsLeadWhereOtherReadersSayTheyDo) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  std::size_t addresses = 0;
  for (const support::CorpusRow& row : rows_of(corpus, "web/gofeed/")) {
    const json::value links = links_in(corpus / row.at("path"));
    EXPECT_EQ(links.at("kind").as_string(), "feed") << row.at("path");
    std::set<std::string> ours;
    for (const json::value& link : links.at("links").as_array()) {
      ours.emplace(link.at("href").as_string());
    }
    std::string_view expected = row.at("expected_other");
    expected.remove_prefix(std::min(expected.find('{'), expected.size()));
    expected = expected.substr(0, expected.find("; feed_json="));
    // The index cuts what is long.
    boost::system::error_code is_cut;
    const json::value feed = json::parse(expected, is_cut);
    if (is_cut) continue;
    for (const std::string& address : addresses_in(feed)) {
      EXPECT_TRUE(ours.contains(address)) << row.at("path") << ": " << address;
      ++addresses;
    }
  }
  EXPECT_GE(addresses, 4U);
}

TEST(WebListCorpusTest, FeedsOfOthersAreFeeds) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  for (const support::CorpusRow& row : rows_of(corpus, "web/feedparser/")) {
    EXPECT_EQ(links_in(corpus / row.at("path")).at("kind").as_string(), "feed") << row.at("path");
  }
  for (const char* name :
       {"web/stormcrawler/stormcrawler.rss", "web/crawler-commons/xmlRss_pubDate.xml"}) {
    const json::value links = links_in(corpus / name);
    EXPECT_GE(links.at("links").as_array().size(), times(load(corpus / name), "<item")) << name;
  }
}

}  // namespace
}  // namespace quern::worker

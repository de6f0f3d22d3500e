// The vectors of others: the URL standard's own tests, and those of crawler-commons.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "io/file.h"
#include "support/corpus.h"
#include "web/idna.h"
#include "web/url.h"
#include "web/url_escape.h"
#include "web/url_host.h"

namespace quern::web {
namespace {

namespace json = boost::json;

constexpr std::size_t kVectorBytesMax = 16 * 1024 * 1024;

// What was right, and each that was not.
struct Score {
  int right = 0;
  int all = 0;

  void count(bool is_right, const std::string& miss) {
    ++all;
    if (is_right) {
      ++right;
    } else {
      fmt::print("miss: {}\n", miss);
    }
  }
  double rate(std::string_view name) const {
    const double rate = all == 0 ? 0 : static_cast<double>(right) / all;
    fmt::print("{}: {} of {} ({:.2f} %)\n", name, right, all, 100 * rate);
    return rate;
  }
};

// Half of a surrogate pair is no character; scripts hand it over as U+FFFD.
std::string without_halves(std::string text) {
  const auto half_at = [&text](std::size_t at, std::string_view third) {
    return text.compare(at, 3, "\\ud") == 0 && third.find(text[at + 3]) != std::string_view::npos;
  };
  for (std::size_t at = 0; at + 6 <= text.size(); ++at) {
    if (text.compare(at, 2, "\\\\") == 0) {
      ++at;
    } else if (half_at(at, "89ab") && at + 12 <= text.size() && half_at(at + 6, "cdef")) {
      at += 11;
    } else if (half_at(at, "89abcdef")) {
      text.replace(at, 6, "\\ufffd");
    }
  }
  return text;
}

json::value load(const std::filesystem::path& corpus, const std::string& name) {
  const auto text = io::read_file(corpus / "web" / "vectors" / name, kVectorBytesMax);
  return json::parse(without_halves(text.value()));
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

bool is_as_expected(const json::object& row, const Url& url) {
  const auto optional = [](const std::optional<std::string>& part, char mark) {
    return part && !part->empty() ? mark + *part : std::string();
  };
  if (row.contains("origin") && text_of(row, "origin") != url.origin()) return false;
  return text_of(row, "href") == url.href() && text_of(row, "protocol") == url.scheme() + ":" &&
         text_of(row, "username") == url.username() && text_of(row, "password") == url.password() &&
         text_of(row, "hostname") == url.host() && text_of(row, "host") == site_of(url) &&
         text_of(row, "pathname") == url.path() &&
         text_of(row, "search") == optional(url.query(), '?') &&
         text_of(row, "hash") == optional(url.fragment(), '#');
}

TEST(UrlCorpusTest, AddressesAreReadAsTheStandardSays) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const json::value rows = load(corpus, "whatwg_urltestdata.json");
  Score score;
  for (const json::value& value : rows.as_array()) {
    if (!value.is_object()) continue;
    const json::object& row = value.as_object();
    const std::string input = text_of(row, "input");
    const std::string base_text = text_of(row, "base");
    const bool has_base = row.contains("base") && row.at("base").is_string();
    Result<Url> url = Error{Errc::Invalid, "the base is none"};
    if (!has_base) {
      url = Url::parse(input);
    } else if (const auto base = Url::parse(base_text)) {
      url = Url::parse(input, *base);
    }
    const bool fails = row.contains("failure") && row.at("failure").as_bool();
    const bool is_right = fails ? !url.ok() : url.ok() && is_as_expected(row, *url);
    score.count(is_right, fmt::format("<{}> at <{}> is {}, not {}", input, base_text,
                                      url ? url->href() : "none", text_of(row, "href")));
  }
  EXPECT_GE(score.rate("whatwg_urltestdata"), 0.99);
}

void check_names(const json::value& rows, std::string_view name) {
  Score score;
  for (const json::value& value : rows.as_array()) {
    if (!value.is_object()) continue;
    const json::object& row = value.as_object();
    const std::string input = text_of(row, "input");
    if (input.empty()) continue;  // an address has no place for it
    const auto url = Url::parse("https://" + input + "/x");
    const bool fails = row.at("output").is_null();
    const bool is_right = fails ? !url.ok() : url.ok() && url->host() == text_of(row, "output");
    score.count(is_right, fmt::format("<{}> is {}, not {}", input, url ? url->host() : "none",
                                      fails ? "none" : text_of(row, "output")));
  }
  EXPECT_GE(score.rate(name), 0.99);
}

TEST(UrlCorpusTest, NamesAreReadAsTheStandardSays) {
  QUERN_CORPUS_OR_SKIP(corpus);
  check_names(load(corpus, "whatwg_toascii.json"), "whatwg_toascii");
}

TEST(UrlCorpusTest, NamesAreReadAsUnicodeSays) {
  QUERN_CORPUS_OR_SKIP(corpus);
  check_names(load(corpus, "idna_test_v2.json"), "idna_test_v2");
}

// Addresses are read as UTF-8 here, whatever the page's charset: the other columns do not apply.
TEST(UrlCorpusTest, CharactersAreEscapedAsUtf8) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const json::value rows = load(corpus, "percent_encoding.json");
  Score score;
  for (const json::value& value : rows.as_array()) {
    if (!value.is_object()) continue;
    const json::object& row = value.as_object();
    const auto url = Url::parse("https://h/?" + text_of(row, "input"));
    const std::string expected = text_of(row.at("output").as_object(), "utf-8");
    score.count(url.ok() && url->query() == expected, text_of(row, "input"));
  }
  EXPECT_GE(score.rate("percent_encoding"), 0.99);
}

// Cells with quotes doubled inside, and blanks around.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != ' ' || !cells.back().empty()) {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<std::vector<std::string>> load_table(const std::filesystem::path& corpus,
                                                 const std::string& name) {
  const std::string text =
      io::read_file(corpus / "web" / "vectors" / name, kVectorBytesMax).value();
  std::vector<std::vector<std::string>> rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) rows.push_back(cells_of(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return rows;
}

TEST(UrlCorpusTest, LinksAreResolvedAsCrawlersExpect) {
  QUERN_CORPUS_OR_SKIP(corpus);
  Score score;
  for (const auto& row : load_table(corpus, "half_url-resolve.csv")) {
    ASSERT_EQ(row.size(), 3U);
    const auto base = Url::parse(row[1]);
    const auto url = base ? Url::parse(row[0], *base) : Url::parse(row[0]);
    score.count(url.ok() && url->href() == row[2],
                fmt::format("<{}> at <{}> is {}, not {}", row[0], row[1],
                            url ? url->href() : "none", row[2]));
  }
  EXPECT_EQ(score.rate("url-resolve"), 1.0);
}

// crawler-commons goes further than an identity may, and these rows differ on purpose:
// - slashes that follow each other are one there; servers may tell them apart;
// - parameters are sorted there, and "b=" is "b"; both are the page's own business here;
// - "http:////" and "ftp:/" are no address for the standard.
TEST(UrlCorpusTest, AddressesHaveTheCanonicalFormOfOtherCrawlers) {
  QUERN_CORPUS_OR_SKIP(corpus);
  Score score;
  for (const auto& row : load_table(corpus, "half_weirdToNormalizedUrls.csv")) {
    if (row.size() != 2) continue;
    const auto url = Url::parse(row[0]);
    const std::string href = url ? canonical_url(*url).href() : "none";
    score.count(href == row[1], fmt::format("<{}> is {}, not {}", row[0], href, row[1]));
  }
  EXPECT_GE(score.rate("weirdToNormalizedUrls"), 0.83);
}

}  // namespace
}  // namespace quern::web

#include "fileset/biblio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "fileset/head_scanner.h"
#include "web/url.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using std::literals::operator""sv;

// A field, and the tags that say it, the better first. A name with "@" before it is not that of
// `name`: "id@DOI", "property@…", "itemprop@…"; with "#" behind it, the tag's scheme is asked for.
struct Pattern {
  std::string_view field;
  std::string_view tags;  // separated by blanks
};
constexpr std::array kTexts = {
    Pattern{"title",
            "citation_title eprints.title prism.title bepress_citation_title og:title "
            "dcterms.title dc.title"},
    Pattern{"subtitle", "prism.subtitle"},
    Pattern{"doi",
            "citation_doi doi id@doi prism.doi bepress_citation_doi dc.identifier.doi "
            "dc.identifier#doi"},
    Pattern{"pmid", "citation_pmid"},
    Pattern{"abstract",
            "citation_abstract bepress_citation_abstract eprints.abstract "
            "dcterms.abstract prism.teaser dc.description og:description"},
    Pattern{"container_name",
            "citation_journal_title bepress_citation_journal_title citation_conference_title "
            "bepress_citation_conference_title prism.publicationname eprints.publication "
            "dc.relation.ispartof dc.source property@og:site_name"},
    Pattern{"container_abbrev", "citation_journal_abbrev"},
    Pattern{"release_date",
            "citation_publication_date bepress_citation_publication_date prism.publicationdate "
            "citation_date bepress_citation_date citation_online_date "
            "bepress_citation_online_date itemprop@datepublished article:published "
            "eprints.datestamp eprints.date dc.date.created dc.issued dcterms.date dc.date"},
    Pattern{"release_year", "itemprop@citation_year itemprop@prism:copyrightyear"},
    Pattern{"first_page",
            "citation_firstpage bepress_citation_firstpage prism.startingpage dc.citation.spage"},
    Pattern{"last_page",
            "citation_lastpage bepress_citation_lastpage prism.endingpage dc.citation.epage"},
    Pattern{"issue",
            "citation_issue bepress_citation_issue prism.issueidentifier dc.citation.issue"},
    Pattern{"volume", "citation_volume bepress_citation_volume prism.volume dc.citation.volume"},
    Pattern{"number",
            "citation_technical_report_number bepress_citation_technical_report_number "
            "citation_number bepress_citation_number prism.number"},
    Pattern{"container_issn",
            "citation_issn bepress_citation_issn prism.issn prism.eissn "
            "eprints.issn dc.source.issn"},
    Pattern{"publisher",
            "citation_publisher bepress_citation_publisher eprints.publisher "
            "citation_technical_report_institution dcterms.publisher dc.publisher"},
    Pattern{"release_type",
            "citation_article_type bepress_citation_article_type "
            "prism.contenttype eprints.type dc.type"},
    Pattern{"lang",
            "citation_language bepress_citation_language dcterms.language dc.language og:locale"},
    Pattern{"pdf_fulltext_url", "citation_pdf_url bepress_citation_pdf_url eprints.document_url"},
    Pattern{"html_fulltext_url", "citation_fulltext_html_url"},
    Pattern{"xml_fulltext_url", "citation_xml_url fulltext_xml"},
};
constexpr Pattern kAuthors{"contrib_names",
                           "citation_author bepress_citation_author eprints.creators_name "
                           "dcterms.creator article:author dc.creator dc.contributor"};
constexpr Pattern kReferences{"raw_references", "citation_reference"};
constexpr Pattern kIdentifiers{"identifiers", "eprints.id_number dcterms.identifier dc.identifier"};

bool is(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && web::to_lower(text) == lower;
}

bool fits(const MetaTag& tag, std::string_view wanted) {
  const std::size_t at = wanted.find('@');
  if (at != std::string_view::npos) {
    const std::string_view kind = wanted.substr(0, at);
    const std::string_view name = wanted.substr(at + 1);
    if (kind == "id") return is(tag.id, name);
    return is(kind == "property" ? tag.property : tag.itemprop, name);
  }
  const std::size_t hash = wanted.find('#');
  if (hash == std::string_view::npos) return is(tag.name, wanted);
  return is(tag.name, wanted.substr(0, hash)) && is(tag.scheme, wanted.substr(hash + 1));
}

// Calls for each name of a pattern until it says that it has had enough.
template <class Function>
void for_each_name(std::string_view names, Function enough) {
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    if (enough(names.substr(0, space))) return;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
}

// The first tag of a name counts, as long as it says something.
std::string first_text(const std::vector<MetaTag>& tags, std::string_view names) {
  std::string text;
  for_each_name(names, [&](std::string_view name) {
    const auto found =
        std::ranges::find_if(tags, [name](const MetaTag& tag) { return fits(tag, name); });
    if (found == tags.end() || found->content.empty()) return false;
    text = found->content;
    return true;
  });
  return text;
}

std::vector<std::string> all_texts(const std::vector<MetaTag>& tags, std::string_view names) {
  std::vector<std::string> texts;
  for_each_name(names, [&](std::string_view name) {
    for (const MetaTag& tag : tags) {
      if (fits(tag, name) && !tag.content.empty()) texts.push_back(tag.content);
    }
    return !texts.empty();
  });
  return texts;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string plain_doi(std::string_view text) {
  text = trimmed(text);
  if (web::to_lower(text.substr(0, 4)) == "doi:") text = trimmed(text.substr(4));
  return std::string(text);
}

std::string doi_among(const std::vector<std::string>& identifiers) {
  for (const std::string& identifier : identifiers) {
    const std::string doi = plain_doi(identifier);
    if (doi.starts_with("10.") && doi.find('/') != std::string::npos) return doi;
  }
  return {};
}

// -- dates --

constexpr std::array kMonths = {"jan"sv, "feb"sv, "mar"sv, "apr"sv, "may"sv, "jun"sv,
                                "jul"sv, "aug"sv, "sep"sv, "oct"sv, "nov"sv, "dec"sv};
constexpr std::array kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

int month_of(std::string_view word) {
  const std::string lower = web::to_lower(word);
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (lower.size() >= 3 && lower.starts_with(kMonths[i])) return static_cast<int>(i) + 1;
  }
  return 0;
}

// A run of digits, or of letters.
struct Word {
  std::string text;
  int number = -1;
};
std::vector<Word> words_of(std::string_view text) {
  constexpr std::size_t kWordsMax = 8;
  constexpr std::size_t kDigitsMax = 8;
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size() && words.size() < kWordsMax;) {
    const auto kind = [](char c) { return web::is_digit(c) ? 1 : web::is_alpha(c) ? 2 : 0; };
    const int first = kind(text[at]);
    std::size_t end = at + 1;
    while (end < text.size() && kind(text[end]) == first) ++end;
    if (first != 0) {
      Word& word = words.emplace_back();
      word.text = text.substr(at, end - at);
      if (first == 1 && word.text.size() <= kDigitsMax) word.number = std::stoi(word.text);
    }
    at = end;
  }
  return words;
}

std::string date_text(int year, int month, int day) {
  if (year < 1000 || year > 9999 || month < 1 || month > 12) return {};
  if (day < 1 || day > kDays[static_cast<std::size_t>(month - 1)]) return {};
  return fmt::format("{:04}-{:02}-{:02}", year, month, day);
}

}  // namespace

std::string parsed_date(std::string_view text) {
  const std::vector<Word> words = words_of(trimmed(text).substr(0, 64));
  const auto number = [&words](std::size_t i) { return i < words.size() ? words[i].number : -1; };
  const bool first_is_year = !words.empty() && words[0].text.size() == 4 && number(0) >= 0;
  if (words.size() == 1 && words[0].text.size() == 8 && number(0) >= 0) {
    return date_text(number(0) / 10'000, number(0) / 100 % 100, number(0) % 100);
  }
  if (words.size() < 3) return {};
  // "2020-09-10", "2020 Sep 10".
  if (first_is_year) {
    const int month = number(1) >= 0 ? number(1) : month_of(words[1].text);
    return date_text(number(0), month, number(2));
  }
  // "September 10, 2020", "10 September 2020", "10th of September 2020".
  int month = 0;
  int day = -1;
  int year = -1;
  for (const Word& word : words) {
    if (word.number < 0) {
      if (month == 0) month = month_of(word.text);
    } else if (word.text.size() == 4 && year < 0) {
      year = word.number;
    } else if (day < 0) {
      day = word.number;
    } else if (month == 0 && year < 0) {
      month = day;  // "9/10/2020": the month first, as most pages that write so mean it
      day = word.number;
    }
  }
  return date_text(year, month, day);
}

std::vector<MetaTag> scan_head(std::string_view html) {
  HeadScanner scanner(html.substr(0, kHeadScanBytesMax));
  std::vector<MetaTag> tags;
  HeadTag tag;
  while (tags.size() < kMetaTagsMax && scanner.next(tag)) {
    if (tag.name != "meta" || tag.end) continue;
    MetaTag& meta = tags.emplace_back();
    meta.name = tag.find("name");
    meta.id = tag.find("id");
    meta.property = tag.find("property");
    meta.itemprop = tag.find("itemprop");
    meta.scheme = tag.find("scheme");
    meta.content = tag.find("content");
  }
  return tags;
}

json::object biblio_of_head(std::string_view html, std::string_view page_url) {
  const std::vector<MetaTag> tags = scan_head(html);
  json::object biblio;
  for (const Pattern& pattern : kTexts) {
    std::string text = first_text(tags, pattern.tags);
    if (pattern.field == "release_date") text = parsed_date(text);
    if (pattern.field == "doi") text = plain_doi(text);
    if (pattern.field == "release_type") {
      const std::string type = web::to_lower(trimmed(text));
      const bool article = type == "research article" || type == "text.serial.journal";
      text = article ? "article-journal" : "";
    }
    if (pattern.field.ends_with("_url") && !text.empty()) {
      const Result<web::Url> base = web::Url::parse(page_url);
      const Result<web::Url> url = base.ok() ? web::Url::parse(text, *base) : web::Url::parse(text);
      text = url.ok() ? url->href() : "";
    }
    if (!text.empty()) biblio[pattern.field] = text;
  }
  if (const json::value* year = biblio.if_contains("release_year")) {
    const std::vector<Word> words = words_of(year->get_string());
    const bool is_year = !words.empty() && words[0].text.size() == 4 && words[0].number > 0;
    if (is_year) {
      biblio["release_year"] = words[0].number;
    } else {
      biblio.erase("release_year");
    }
  }
  for (const Pattern& list : {kAuthors, kReferences}) {
    const std::vector<std::string> texts = all_texts(tags, list.tags);
    if (!texts.empty()) biblio[list.field] = json::array(texts.begin(), texts.end());
  }
  if (!biblio.contains("doi")) {
    const std::string doi = doi_among(all_texts(tags, kIdentifiers.tags));
    if (!doi.empty()) biblio["doi"] = doi;
  }
  return biblio;
}

json::object html_biblio(std::string_view html, std::string_view page_url) {
  json::object biblio = biblio_of_head(html, page_url);
  return biblio.contains("title") ? biblio : json::object();
}

}  // namespace quern::fileset

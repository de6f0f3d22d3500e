#include "search/collect.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <map>
#include <set>

#include "base/log.h"
#include "search/pack_format.h"

namespace quern::search {
namespace {

namespace json = boost::json;
using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;
using tree::FileId;

// Generations over which a converted file has the name of what it was made of.
constexpr int kConversionsMax = 8;
constexpr std::int32_t kYearMax = 9999;

constexpr Sql kDocuments{
    "SELECT f.id, f.job, f.parent, f.filename, f.content_type, f.detected_type, f.metadata,"
    " f.page, t.text, t.blob, t.page_ends, t.main_bytes, t.headings FROM file AS f"
    " JOIN file_text AS t ON t.file = f.id"
    " JOIN job AS j ON j.id = f.job WHERE f.id = $1 AND f.class = 1 AND NOT j.deleting",
    "SELECT f.id, f.job, f.parent, f.filename, f.content_type, f.detected_type, f.metadata,"
    " f.page, t.text, t.blob, t.page_ends, t.main_bytes, t.headings FROM file AS f"
    " JOIN file_text AS t ON t.file = f.id"
    " JOIN job AS j ON j.id = f.job WHERE f.id = ANY ($1) AND f.class = 1 AND NOT j.deleting"};
constexpr Sql kParents{
    "SELECT id, parent, filename, content_type, detected_type FROM file WHERE id = $1",
    "SELECT id, parent, filename, content_type, detected_type FROM file WHERE id = ANY ($1)"};

struct Collected {
  PackDocument document;
  std::optional<FileId> parent;
  std::optional<blob::BlobId> text;
  std::optional<std::int64_t> main_bytes;  // of a web page's text: what is its own
  std::string headings;                    // of a web page, a JSON list
  std::string subject;
};

// What stands around a page's own text is found, but hardly ranked: each of its words that the page
// does not have itself counts once, however often the site repeats it.
constexpr std::size_t kWordsAroundMax = 2000;
constexpr std::size_t kWordsOfHeadingsMax = 2000;

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

template <class Each>
void for_each_word(std::string_view text, Each each) {
  constexpr std::string_view kBlanks = " \t\n\r\f";
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    each(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string ranked_text(std::string text, std::int64_t main_bytes) {
  const auto main = static_cast<std::size_t>(main_bytes);
  if (main >= text.size()) return text;
  const std::string_view all = text;
  std::set<std::string> seen;
  for_each_word(all.substr(0, main), [&seen](std::string_view word) { seen.insert(lower(word)); });
  std::string around;
  std::size_t words = 0;
  for_each_word(all.substr(main), [&](std::string_view word) {
    if (words == kWordsAroundMax || !seen.insert(lower(word)).second) return;
    around += around.empty() ? "\n\n" : " ";
    around += word;
    ++words;
  });
  text.resize(main);
  return text + around;
}

// A word of a heading weighs as two of the text: it stands behind the text once more, unseen.
// Backwards by the alphabet, so that hardly a phrase that somebody looks for is found there.
std::string with_headings(std::string text, std::string_view headings) {
  boost::system::error_code failed;
  const json::value list = json::parse(headings, failed);
  if (failed || !list.is_array()) return text;
  std::set<std::string, std::greater<>> words;
  for (const json::value& heading : list.get_array()) {
    if (!heading.is_string()) continue;
    for_each_word(heading.get_string(), [&words](std::string_view word) {
      if (words.size() < kWordsOfHeadingsMax) words.insert(lower(word));
    });
  }
  if (!words.empty()) text += kTextEnd;
  for (const std::string& word : words) text.append(1, ' ').append(word);
  return text;
}

bool is_mail(std::string_view type) {
  return type == "message/rfc822" || type == "application/vnd.ms-outlook" ||
         type == "text/calendar";
}

// Without parameters, which some senders add: a charset makes no other type of it.
std::string type_of(const Row& row, std::size_t content, std::size_t detected) {
  std::string type = row.get<std::string>(row.is_null(detected) ? content : detected);
  type.resize(std::min(type.find_first_of("; "), type.size()));
  return type;
}

Collected document_of(const Row& row) {
  Collected one;
  PackDocument& document = one.document;
  document.file = row.get<std::int64_t>(0);
  document.job = row.get<std::int64_t>(1);
  one.parent = row.get<std::optional<FileId>>(2);
  document.filename = row.get<std::string>(3);
  document.type = type_of(row, 4, 5);
  About about = read_about(row.get<std::string>(6));
  document.title = std::move(about.title);
  one.subject = std::move(about.subject);
  document.author = std::move(about.author);
  document.from = std::move(about.from);
  document.url = std::move(about.url);
  document.day = about.day;
  document.page = row.get<std::int64_t>(7);
  if (!row.is_null(8)) document.text = row.get<std::string>(8);
  one.text = row.get<std::optional<blob::BlobId>>(9);
  if (!row.is_null(10)) document.page_ends = tree::parse_page_ends(row.get<std::string>(10));
  one.main_bytes = row.get<std::optional<std::int64_t>>(11);
  one.headings = row.get<std::optional<std::string>>(12).value_or("");
  return one;
}

// The type of what was added: conversions keep the name, so we go up as long as that is the same.
Result<> find_types(Tx& tx, std::vector<Collected>& documents) {
  for (int level = 0; level < kConversionsMax; ++level) {
    std::map<FileId, std::vector<Collected*>> by_parent;
    for (Collected& one : documents) {
      if (one.parent) by_parent[*one.parent].push_back(&one);
    }
    if (by_parent.empty()) return {};
    Bulk ids;
    for (const auto& [id, children] : by_parent) ids.add(id);
    TRY_ASSIGN(const Rows rows, tx.bulk(kParents, ids));
    for (const Row row : rows) {
      for (Collected* child : by_parent[row.get<FileId>(0)]) {
        child->parent = row.get<std::optional<FileId>>(1);
        if (row.get<std::string>(2) == child->document.filename) {
          child->document.type = type_of(row, 3, 4);
        } else {
          child->parent.reset();
        }
      }
    }
  }
  return {};
}

Result<std::vector<Collected>> load_rows(Tx& tx, const std::vector<FileId>& files) {
  Bulk ids;
  for (const FileId id : files) ids.add(id);
  TRY_ASSIGN(const Rows rows, tx.bulk(kDocuments, ids));
  std::vector<Collected> documents;
  for (const Row row : rows) documents.push_back(document_of(row));
  TRY(find_types(tx, documents));
  // Attachments inherit the subject of their mail; it is not their title.
  for (Collected& one : documents) {
    if (one.document.title.empty() && is_mail(one.document.type)) {
      one.document.title = std::move(one.subject);
    }
  }
  return documents;
}

Result<std::string> read_text(store::Readers& readers, const blob::BlobStore& blobs,
                              blob::BlobId id) {
  TRY_ASSIGN(const blob::Blob row,
             readers.run([id](Tx& tx) { return blob::load_blob(tx, id, blob::Data::With); }));
  TRY_ASSIGN(blob::BlobReader reader, blobs.open_blob(row));
  return blob::read_whole(std::move(reader), row);
}

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

template <std::size_t kCount>
std::string first_of(const json::object& object, const std::array<std::string_view, kCount>& keys) {
  for (const std::string_view key : keys) {
    std::string text = text_in(object, key);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::int32_t parse_day(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t letters) {
    int value = -1;
    if (text.size() < at + letters) return -1;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + letters, value);
    return error == std::errc{} && end == begin + letters ? value : -1;
  };
  const int year = number(0, 4);
  const int month = number(5, 2);
  const int day = number(8, 2);
  if (year < 0 || year > kYearMax || text.size() < 10 || text[4] != '-' || text[7] != '-') {
    return kNoDay;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (month < 0 || day < 0 || !date.ok()) return kNoDay;
  return static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
}

About read_about(const std::string& metadata) {
  static constexpr std::array<std::string_view, 2> kTitles = {"Title", "title"};
  static constexpr std::array<std::string_view, 4> kAuthors = {"Author", "author", "Artist",
                                                               "Composer"};
  static constexpr std::array<std::string_view, 2> kFroms = {"From", "from"};
  static constexpr std::array<std::string_view, 5> kDates = {"Date", "date", "Creation Date",
                                                             "Modification Date", "Created"};
  About about;
  boost::system::error_code failed;
  const json::value value = json::parse(metadata, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  if (object == nullptr) return about;
  about.title = first_of(*object, kTitles);
  about.subject = text_in(*object, "Subject");
  about.author = first_of(*object, kAuthors);
  about.from = first_of(*object, kFroms);
  about.url = text_in(*object, "url");
  for (const std::string_view key : kDates) {
    about.day = parse_day(text_in(*object, key));
    if (about.day != kNoDay) break;
  }
  return about;
}

Result<std::vector<PackDocument>> collect(store::Readers& readers, const blob::BlobStore& blobs,
                                          const std::vector<FileId>& files) {
  CHECK(files.size() <= kCollectedAtOnce);
  TRY_ASSIGN(std::vector<Collected> rows,
             readers.run([&files](Tx& tx) { return load_rows(tx, files); }));
  std::vector<PackDocument> documents;
  for (Collected& one : rows) {
    if (one.text) {
      Result<std::string> text = read_text(readers, blobs, *one.text);
      // One damaged text must not keep a whole collection out of search; quern check names it.
      const bool lost = !text.ok() && (text.error().kind() == Errc::Corrupt ||
                                       text.error().kind() == Errc::Missing);
      if (lost) {
        log_warn("search.text_lost",
                 {{"document", one.document.file}, {"error", text.error().message()}});
      } else {
        TRY_ASSIGN(one.document.text, std::move(text));
      }
    }
    if (one.main_bytes) {
      one.document.text = ranked_text(std::move(one.document.text), *one.main_bytes);
    }
    if (!one.headings.empty()) {
      one.document.text = with_headings(std::move(one.document.text), one.headings);
    }
    documents.push_back(std::move(one.document));
  }
  return documents;
}

}  // namespace quern::search

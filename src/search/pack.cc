#include "search/pack.h"

#include <algorithm>
#include <numeric>

#include "search/codec.h"
#include "search/pack_format.h"
#include "search/pack_search.h"
#include "search/pack_state.h"
#include "search/snippet.h"

namespace quern::search {
namespace {

constexpr char kApplication[] = "PRAGMA application_id";
constexpr char kMeta[] = "SELECT format, documents, length FROM meta";

Error damaged(std::string_view what) {
  return {Errc::Corrupt, "pack: " + std::string(what) + " is damaged"};
}

// Pages count from 1. A hit behind the last end is on the last page.
std::int64_t page_at(const std::vector<std::uint32_t>& ends, std::size_t at) {
  if (ends.empty()) return 0;
  const auto page = std::ranges::upper_bound(ends, at);
  return std::min(page - ends.begin() + 1, std::ssize(ends));
}

}  // namespace

Result<> Pack::State::load(Connection& connection) {
  TRY_ASSIGN(const std::int64_t application, connection.file().number(kApplication));
  if (application != kPackApplication) return Error{Errc::Corrupt, "this is not a pack"};
  std::int64_t documents = 0;
  {
    TRY_ASSIGN(Statement meta, connection.file().prepare(kMeta));
    TRY_ASSIGN(const bool there, meta.step());
    if (!there || meta.number(0) != kPackFormat) {
      return Error{Errc::Corrupt, "this is not a pack of this version"};
    }
    documents = meta.number(1);
    length = meta.number(2);
  }
  if (documents < 0 || documents > kPackDocumentsMax || length < 0) return damaged("its sum");
  TRY_ASSIGN(columns, Columns::load(connection.file(), documents));
  path_order.assign(columns.documents(), 0);
  for (std::uint32_t row = 1; row <= columns.documents(); ++row) {
    std::uint32_t& place = path_order[columns.path[row - 1]];
    if (place != 0) return damaged("the order of paths");
    place = row;
  }
  return {};
}

Pack::Pack(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pack::~Pack() = default;

Result<std::shared_ptr<Pack>> Pack::open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>(path);
  {
    TRY_ASSIGN(const PooledConnection connection, state->connection());
    TRY(state->load(*connection));
  }
  return std::shared_ptr<Pack>(new Pack(std::move(state)));
}

std::int64_t Pack::documents() const {
  return static_cast<std::int64_t>(state_->columns.documents());
}

Result<Frequencies> Pack::frequencies(std::span<const std::string> tokens) const {
  TRY_ASSIGN(const PooledConnection connection, state_->connection());
  Frequencies found{.documents = documents(), .length = state_->length};
  for (const std::string& token : tokens) {
    TRY_ASSIGN(const std::int64_t having, documents_with(*connection, token));
    found.by_token[token] = having;
  }
  return found;
}

Result<Answer> Pack::search(const Question& question) const {
  CHECK(question.query != nullptr && question.frequencies != nullptr);
  return search_pack(*state_, question);
}

Result<Hit> Pack::show(std::uint32_t row, Highlighter& highlighter) const {
  if (row == 0 || row > state_->columns.documents()) {
    return Error{Errc::Missing, "the pack has no row " + std::to_string(row)};
  }
  thread_local std::string buffer;
  TRY_ASSIGN(const PooledConnection connection, state_->connection());
  TRY_ASSIGN(const DocumentRow document, connection->document(row));
  TRY_ASSIGN(const auto whole, unpack_text(document.text, document.text_bytes, buffer));
  const std::string_view text = whole.substr(0, whole.find(kTextEnd));
  const Columns& columns = state_->columns;
  Snippet snippet = highlighter.snippet(text);
  Hit hit{.file = columns.file[row - 1],
          .title = std::string(document.title),
          .filename = std::string(document.filename),
          .url = std::string(document.url),
          .type = columns.types[columns.type[row - 1]],
          .day = columns.day[row - 1],
          .page = document.page,
          .snippet = std::move(snippet.html)};
  if (hit.page == 0 && snippet.hit) {
    TRY_ASSIGN(const auto ends, unpack_ends(document.page_ends));
    hit.page = page_at(ends, *snippet.hit);
  }
  // One long text must not be paid for by every thread for ever.
  if (buffer.capacity() > kTextBufferKept) buffer = std::string();
  return hit;
}

Result<std::vector<Suggestion>> Pack::suggest(const std::string& beginning,
                                              std::size_t limit) const {
  if (beginning.empty()) return std::vector<Suggestion>();
  TRY_ASSIGN(const PooledConnection connection, state_->connection());
  TRY_ASSIGN(Beginning found, connection->words_of(beginning));
  if (found.words.size() > limit) found.words.resize(limit);
  return std::move(found.words);
}

Result<std::vector<std::uint32_t>> Pack::rows_of_files(std::span<const std::int64_t> files) const {
  std::vector<std::int64_t> wanted(files.begin(), files.end());
  std::ranges::sort(wanted);
  std::vector<std::uint32_t> rows;
  if (wanted.empty()) return rows;
  const auto& column = state_->columns.file;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] < wanted.front() || column[i] > wanted.back()) continue;
    if (std::ranges::binary_search(wanted, column[i])) {
      rows.push_back(static_cast<std::uint32_t>(i + 1));
    }
  }
  return rows;
}

std::int64_t Pack::file_of(std::uint32_t row) const {
  const auto& files = state_->columns.file;
  return row == 0 || row > files.size() ? 0 : files[row - 1];
}

Result<std::vector<std::uint32_t>> Pack::rows_of_job(std::int64_t job) const {
  const Columns& columns = state_->columns;
  std::vector<std::uint32_t> rows;
  const auto at = std::ranges::find(columns.jobs, job);
  if (at == columns.jobs.end()) return rows;
  const auto place = static_cast<std::uint32_t>(at - columns.jobs.begin());
  for (std::size_t i = 0; i < columns.job.size(); ++i) {
    if (columns.job[i] == place) rows.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return rows;
}

}  // namespace quern::search

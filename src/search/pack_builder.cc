#include "search/pack_builder.h"

#include "io/file.h"
#include "search/codec.h"
#include "search/pack_finish.h"
#include "search/pack_state.h"
#include "search/sqlite_file.h"

namespace quern::search {
namespace {

constexpr char kStageSchema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4096;"
    "CREATE TABLE doc(file INTEGER PRIMARY KEY, job INTEGER, day INTEGER, tie INTEGER,"
    " page INTEGER, title TEXT, filename TEXT, author TEXT, sender TEXT, url TEXT, type TEXT,"
    " path TEXT, text_bytes INTEGER, page_ends BLOB, text BLOB);"
    "CREATE TABLE path(row INTEGER PRIMARY KEY, path TEXT);"
    "BEGIN;";
constexpr char kStage[] =
    "INSERT INTO doc(file, job, day, tie, page, title, filename, author, sender, url, type, path,"
    " text_bytes, page_ends, text)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

// Of what names a document for people: it is the same wherever and whenever it is indexed.
std::uint32_t tie_of(const PackDocument& document) {
  std::string name = document.filename + '\0' + document.url + '\0';
  name += std::to_string(document.page);
  return static_cast<std::uint32_t>(stable_hash(name, 0));
}

Result<> remove_file(const std::filesystem::path& path) {
  return io::remove_durably(path, io::IfMissing::Fine);
}

}  // namespace

struct PackBuilder::State {
  std::filesystem::path path;
  std::filesystem::path stage_path;
  std::optional<SqliteFile> stage;
  Statement insert;
  std::int64_t documents = 0;
  std::int64_t text_bytes = 0;
  bool finished = false;
  const std::atomic<bool>* stopping = nullptr;

  Result<> open_stage();
  // `document` without its text.
  Result<> put(const PackDocument& document, std::string_view packed, std::int64_t bytes,
               std::string_view page_ends);
};

Result<> PackBuilder::State::open_stage() {
  TRY(remove_file(path));
  TRY(remove_file(stage_path));
  TRY(io::make_private_file(stage_path));
  TRY_ASSIGN(SqliteFile file, SqliteFile::open(stage_path, SqliteFile::Mode::Create));
  stage = std::move(file);
  stage->interrupt_when(stopping);
  TRY(stage->run(kStageSchema));
  TRY_ASSIGN(insert, stage->prepare(kStage));
  return {};
}

Result<> PackBuilder::State::put(const PackDocument& document, std::string_view packed,
                                 std::int64_t bytes, std::string_view page_ends) {
  CHECK(!finished);
  if (documents >= kPackDocumentsMax) {
    return over_limit("documents of a pack", documents + 1, kPackDocumentsMax,
                      "search.pack_documents_max");
  }
  const std::string path = document_path(document.url, document.filename);
  insert.bind(1, document.file).bind(2, document.job).bind(3, document.day);
  insert.bind(4, tie_of(document)).bind(5, document.page).bind_text(6, document.title);
  insert.bind_text(7, document.filename).bind_text(8, document.author);
  insert.bind_text(9, document.from).bind_text(10, document.url);
  insert.bind_text(11, std::string_view(document.type).substr(0, kTypeBytesMax));
  insert.bind_text(12, path).bind(13, bytes).bind_blob(14, page_ends).bind_blob(15, packed);
  TRY(insert.run());
  ++documents;
  text_bytes += bytes;
  return {};
}

PackBuilder::PackBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackBuilder::PackBuilder(PackBuilder&&) noexcept = default;

PackBuilder::~PackBuilder() {
  if (!state_) return;
  state_->insert = {};
  state_->stage.reset();
  // What cannot be removed is replaced by the next one.
  (void)remove_file(state_->stage_path);
  if (!state_->finished) (void)remove_file(state_->path);
}

Result<PackBuilder> PackBuilder::create(const std::filesystem::path& path,
                                        const std::atomic<bool>* stopping) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->stopping = stopping;
  state->stage_path = path.string() + ".stage";
  TRY(state->open_stage().with_context("while making a pack"));
  return PackBuilder(std::move(state));
}

Result<> PackBuilder::add(const PackDocument& document) {
  if (document.text.size() > kTextBytesMax) {
    return over_limit("text of a document", static_cast<std::int64_t>(document.text.size()),
                      kTextBytesMax, "search.text_bytes_max");
  }
  const Packed packed = pack_text(document.text);
  return state_->put(document, packed.bytes, static_cast<std::int64_t>(packed.text_bytes),
                     pack_ends(document.page_ends));
}

Result<> PackBuilder::add_all(const Pack& pack, const Mask* mask) {
  TRY_ASSIGN(const PooledConnection connection, pack.state_->connection());
  const Columns& columns = pack.state_->columns;
  for (std::uint32_t row = 1; row <= columns.documents(); ++row) {
    if (mask != nullptr && mask->has(row)) continue;
    TRY_ASSIGN(const DocumentRow document, connection->document(row));
    const std::size_t at = row - 1;
    TRY(state_->put({.file = columns.file[at],
                     .job = columns.jobs[columns.job[at]],
                     .title = std::string(document.title),
                     .filename = std::string(document.filename),
                     .author = std::string(document.author),
                     .from = std::string(document.sender),
                     .url = std::string(document.url),
                     .type = columns.types[columns.type[at]],
                     .day = columns.day[at],
                     .page = document.page},
                    document.text, document.text_bytes, document.page_ends));
  }
  return {};
}

std::int64_t PackBuilder::documents() const {
  return state_->documents;
}

Result<PackInfo> PackBuilder::finish() {
  CHECK(!state_->finished);
  state_->insert = {};
  TRY(state_->stage->run("COMMIT"));
  TRY_ASSIGN(PackInfo info, finish_pack(*state_->stage, state_->path, state_->stopping));
  info.text_bytes = state_->text_bytes;
  state_->finished = true;
  return info;
}

}  // namespace quern::search

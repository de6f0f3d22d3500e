#include "search/fts.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>

#include "search/sqlite_file.h"
#include "search/words.h"

namespace quern::search {
namespace {

constexpr char kApi[] = "SELECT fts5(?1)";

fts5_api* api_of(sqlite3* database) {
  fts5_api* api = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, kApi, -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

void weigh(const Fts5ExtensionApi* api, Fts5Context* context, sqlite3_context* result, int,
           sqlite3_value**) {
  auto& hits = *static_cast<RowHits*>(api->xUserData(context));
  std::ranges::fill(hits.by_field, 0);
  hits.spots.clear();
  if (api->xPhraseCount(context) < 1) return sqlite3_result_int(result, 0);
  Fts5PhraseIter at{};
  int column = -1;
  int offset = 0;
  const int code = api->xPhraseFirst(context, 0, &at, &column, &offset);
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  for (; column >= 0; api->xPhraseNext(context, &at, &column, &offset)) {
    // A damaged file may name any column.
    if (column >= kFields) return sqlite3_result_error_code(result, SQLITE_CORRUPT);
    if (hits.by_field[column] < kWeightMax) ++hits.by_field[column];
    if (!hits.wants_spots) continue;
    hits.spots.push_back((static_cast<Spot>(column) << kSpotBits) |
                         static_cast<std::uint32_t>(offset));
  }
  sqlite3_result_int(result, static_cast<int>(weight_of(hits)));
}

// The tokenizer that counts stands before the one that it asks.
struct Counting {
  fts5_tokenizer inner{};
  void* inner_context = nullptr;
  WordCount* count = nullptr;
};

struct CountingTokenizer {
  const Counting* counting = nullptr;
  Fts5Tokenizer* inner = nullptr;
};

using Emit = int (*)(void*, int, const char*, int, int, int);

struct Passing {
  WordCount* count;
  void* context;
  Emit emit;
};

// long: the parameters are those of SQLite.
int pass(void* context, int flags, const char* token, int size, int begin, int end) {
  const auto& passing = *static_cast<Passing*>(context);
  if ((flags & FTS5_TOKEN_COLOCATED) == 0) {
    ++passing.count->tokens;
    passing.count->on_word({token, static_cast<std::size_t>(size)});
  }
  return passing.emit(passing.context, flags, token, size, begin, end);
}

int create_counting(void* context, const char** arguments, int count, Fts5Tokenizer** made) {
  const auto* counting = static_cast<Counting*>(context);
  auto tokenizer = std::make_unique<CountingTokenizer>(CountingTokenizer{counting, nullptr});
  const int code =
      counting->inner.xCreate(counting->inner_context, arguments, count, &tokenizer->inner);
  if (code != SQLITE_OK) return code;
  *made = reinterpret_cast<Fts5Tokenizer*>(tokenizer.release());
  return SQLITE_OK;
}

void delete_counting(Fts5Tokenizer* tokenizer) {
  const std::unique_ptr<CountingTokenizer> mine(reinterpret_cast<CountingTokenizer*>(tokenizer));
  mine->counting->inner.xDelete(mine->inner);
}

// long: the parameters are those of SQLite.
int tokenize_counting(Fts5Tokenizer* tokenizer, void* context, int flags, const char* text,
                      int size, Emit emit) {
  const auto& mine = *reinterpret_cast<CountingTokenizer*>(tokenizer);
  const Counting& counting = *mine.counting;
  if ((flags & FTS5_TOKENIZE_DOCUMENT) == 0) {
    return counting.inner.xTokenize(mine.inner, context, flags, text, size, emit);
  }
  Passing passing{counting.count, context, emit};
  return counting.inner.xTokenize(mine.inner, &passing, flags, text, size, pass);
}

}  // namespace

std::uint32_t weight_of(const RowHits& hits) {
  std::uint32_t weight = 0;
  for (int field = 0; field < kFields; ++field) {
    weight += hits.by_field[field] * static_cast<std::uint32_t>(kFieldWeights[field]);
  }
  return std::min(weight, kWeightMax);
}

Result<> register_fts(sqlite3* database, RowHits* hits) {
  fts5_api* api = api_of(database);
  if (api == nullptr || !register_tokenizer(database)) {
    return Error{Errc::Internal, "this SQLite has no FTS5"};
  }
  if (api->xCreateFunction(api, "quern_weight", hits, weigh, nullptr) == SQLITE_OK) return {};
  return sqlite_error(database, "registering a function");
}

Result<> count_words(sqlite3* database, WordCount* count) {
  fts5_api* api = api_of(database);
  auto counting = std::make_unique<Counting>();
  counting->count = count;
  fts5_tokenizer outer = {create_counting, delete_counting, tokenize_counting};
  const auto destroy = [](void* context) { delete static_cast<Counting*>(context); };
  if (api == nullptr ||
      api->xFindTokenizer(api, "quern", &counting->inner_context, &counting->inner) != SQLITE_OK) {
    return sqlite_error(database, "finding the tokenizer");
  }
  const int code = api->xCreateTokenizer(api, "quern", counting.get(), &outer, destroy);
  if (code != SQLITE_OK) return sqlite_error(database, "registering a tokenizer");
  counting.release();  // NOLINT: SQLite destroys it with the connection
  return {};
}

}  // namespace quern::search

#include <sqlite3.h>

#include <algorithm>
#include <new>

#include "search/words.h"

namespace quern::search {
namespace {

using Emit = int (*)(void*, int, const char*, int, int, int);

int create(void*, const char**, int, Fts5Tokenizer** made) {
  auto* cutter = new (std::nothrow) WordCutter();
  *made = reinterpret_cast<Fts5Tokenizer*>(cutter);
  return cutter == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

void destroy(Fts5Tokenizer* tokenizer) {
  delete reinterpret_cast<WordCutter*>(tokenizer);
}

// The text of a MATCH: tokens already, with blanks between them.
int emit_final(std::string_view text, void* context, Emit emit) {
  for (std::size_t begin = text.find_first_not_of(' '); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const int code = emit(context, 0, text.data() + begin, static_cast<int>(end - begin),
                          static_cast<int>(begin), static_cast<int>(end));
    if (code != SQLITE_OK) return code;
    begin = text.find_first_not_of(' ', end);
  }
  return SQLITE_OK;
}

int emit_words(WordCutter& cutter, std::string_view text, void* context, Emit emit) {
  cutter.begin(text);
  for (Token token; cutter.next(token);) {
    const int flags = token.kind == Token::Kind::Stem ? FTS5_TOKEN_COLOCATED : 0;
    const int code = emit(context, flags, token.text.data(), static_cast<int>(token.text.size()),
                          static_cast<int>(token.begin), static_cast<int>(token.end));
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

// long: the parameters are those of SQLite.
int tokenize(Fts5Tokenizer* tokenizer, void* context, int flags, const char* text, int size,
             Emit emit) {
  const std::string_view bytes(text,
                               text == nullptr || size < 0 ? 0 : static_cast<std::size_t>(size));
  if ((flags & FTS5_TOKENIZE_QUERY) != 0) return emit_final(bytes, context, emit);
  return emit_words(*reinterpret_cast<WordCutter*>(tokenizer), bytes, context, emit);
}

fts5_api* api_of(sqlite3* database) {
  fts5_api* api = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

}  // namespace

bool register_tokenizer(sqlite3* database) {
  fts5_api* api = api_of(database);
  if (api == nullptr || api->iVersion < 2) return false;
  fts5_tokenizer tokenizer = {create, destroy, tokenize};
  return api->xCreateTokenizer(api, "quern", nullptr, &tokenizer, nullptr) == SQLITE_OK;
}

}  // namespace quern::search

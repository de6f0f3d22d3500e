#include "access/token.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>

#include "base/utf8.h"
#include "blob/digest.h"
#include "tree/job.h"

namespace quern::access {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kSecretRandomBytes = 20;
constexpr std::size_t kDigestDigits = 64;

constexpr Sql kInsert{
    "INSERT INTO token (sha256, role, collection, note, created_us) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (sha256) DO NOTHING"};
constexpr Sql kByDigest{
    "SELECT id, sha256, role, collection, note, created_us, revoked_us FROM token"
    " WHERE sha256 = $1"};
constexpr Sql kById{
    "SELECT id, sha256, role, collection, note, created_us, revoked_us FROM token WHERE id = $1"};
constexpr Sql kList{
    "SELECT id, sha256, role, collection, note, created_us, revoked_us FROM token"
    " WHERE id > $1 ORDER BY id LIMIT $2"};
constexpr Sql kRevoke{"UPDATE token SET revoked_us = $2 WHERE id = $1 AND revoked_us IS NULL"};

Token token_of(const Row& row) {
  Token token;
  token.id = row.get<TokenId>(0);
  token.sha256 = row.get<std::string>(1);
  token.role = static_cast<Role>(row.get<std::int64_t>(2));
  token.collection = row.get<std::optional<std::string>>(3);
  token.note = row.get<std::string>(4);
  token.created_us = row.get<std::int64_t>(5);
  token.revoked_us = row.get<std::optional<std::int64_t>>(6);
  return token;
}

bool is_digest(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kDigestDigits && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string make_secret() {
  char bytes[kSecretRandomBytes];
  CHECK(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  return std::string(kSecretPrefix) + blob::hex_of({bytes, sizeof bytes});
}

std::string digest_of(std::string_view secret) {
  return blob::hex_of(blob::sha256_of(secret));
}

Result<> validate(const NewToken& token) {
  if (!is_digest(token.sha256)) {
    return Error{Errc::Invalid, "'sha256' must be 64 hexadecimal digits (0-9, a-f)"};
  }
  if (token.collection) TRY(tree::validate_collection_name(*token.collection));
  if (token.collection && token.role != Role::Reader && token.role != Role::Editor) {
    return Error{Errc::Invalid, "only a reader or an editor can be limited to a collection"};
  }
  if (token.note.size() > kNoteBytesMax) {
    return over_limit("note", static_cast<std::int64_t>(token.note.size()), kNoteBytesMax,
                      "access.note_bytes_max");
  }
  if (!is_valid_utf8(token.note) || token.note.find('\0') != std::string::npos) {
    return Error{Errc::Invalid, "a note must be UTF-8 without NUL"};
  }
  return {};
}

Result<Token> create(Tx& tx, const NewToken& token) {
  TRY(validate(token));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kInsert, token.sha256, static_cast<std::int64_t>(token.role), token.collection,
              token.note, now_us));
  TRY_ASSIGN(const Rows rows, tx.query(kByDigest, token.sha256));
  if (rows.empty()) return Error{Errc::Internal, "the token that was made is not there"};
  Token stored = token_of(rows[0]);
  const bool same = static_cast<const NewToken&>(stored) == token && !stored.revoked_us;
  if (same) return stored;
  return Error{Errc::Conflict,
               fmt::format("this secret belongs to token {} already", stored.id.value)};
}

Result<Token> revoke(Tx& tx, TokenId id) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kRevoke, id, now_us));
  TRY_ASSIGN(const Rows rows, tx.query(kById, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no token {}", id.value)};
  return token_of(rows[0]);
}

Result<std::optional<Token>> find_good(Tx& tx, const std::string& sha256) {
  TRY_ASSIGN(const Rows rows, tx.query(kByDigest, sha256));
  if (rows.empty()) return std::optional<Token>();
  Token token = token_of(rows[0]);
  if (token.revoked_us) return std::optional<Token>();
  return std::optional<Token>(std::move(token));
}

Result<std::vector<Token>> list_tokens(Tx& tx, TokenId after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, after, std::min(limit, kTokensListedMax)));
  std::vector<Token> tokens;
  for (const Row row : rows) tokens.push_back(token_of(row));
  return tokens;
}

}  // namespace quern::access

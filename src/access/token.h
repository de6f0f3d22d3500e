// Tokens: secrets that stand for a role, and perhaps for one collection only.
//
// Guarantee: the store knows a secret's SHA-256 and never the secret, so whoever reads the database
// cannot use it. A token that was revoked stays revoked. Making one again with the same digest and
// the same rights is the same token, so that a request may be repeated.
//
// create() and revoke() run on the writer, the others in a read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/role.h"
#include "base/id.h"
#include "base/result.h"
#include "store/tx.h"

namespace quern::access {

using TokenId = Id<struct TokenTag>;

inline constexpr std::string_view kSecretPrefix = "quern_";
inline constexpr std::size_t kSecretBytesMax = 256;
inline constexpr std::size_t kNoteBytesMax = 200;
inline constexpr std::size_t kTokensListedMax = 200;

struct NewToken {
  std::string sha256;  // of the secret, in hex
  Role role = Role::Reader;
  std::optional<std::string> collection;
  std::string note;

  friend bool operator==(const NewToken&, const NewToken&) = default;
};

struct Token : NewToken {
  TokenId id;
  std::int64_t created_us = 0;
  std::optional<std::int64_t> revoked_us;
};

// "quern_" and 160 random bits.
std::string make_secret();
// As the store knows it.
std::string digest_of(std::string_view secret);

// Invalid where the digest is none, the collection has no name's form or the role none, or the note
// is too long or no text.
Result<> validate(const NewToken& token);
// Conflict where the digest belongs to another token, or to one that was revoked.
Result<Token> create(store::Tx& tx, const NewToken& token);
// Missing; one that is revoked already stays as it is.
Result<Token> revoke(store::Tx& tx, TokenId id);
// None where it is unknown or revoked.
Result<std::optional<Token>> find_good(store::Tx& tx, const std::string& sha256);
// By id, those after the given one.
Result<std::vector<Token>> list_tokens(store::Tx& tx, TokenId after, std::size_t limit);

}  // namespace quern::access

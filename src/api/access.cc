#include "api/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"

namespace quern::api {
namespace {

using access::Role;
using access::Roles;

struct TypeRoles {
  std::string_view type;
  Roles roles;
};
// What is not here is for admins.
constexpr TypeRoles kPosters[] = {
    {"index+crawl", access::kEditors}, {"index", access::kEditors},
    {"crawl", access::kEditors},       {"pack_incremental", access::kEditors},
    {"pack_full", access::kEditors},   {"register", access::kWorkers},
};
constexpr std::string_view kSearcherQueue = "SEARCHER-";

bool reads(net::Method method) {
  return method == net::Method::Get || method == net::Method::Head ||
         method == net::Method::Options;
}

// What stands behind the scheme's name, where it is that one.
std::optional<std::string_view> behind(std::string_view text, std::string_view scheme) {
  if (text.size() <= scheme.size() || text[scheme.size()] != ' ') return std::nullopt;
  if (!net::equals_ignoring_case(text.substr(0, scheme.size()), scheme)) return std::nullopt;
  return net::trimmed(text.substr(scheme.size()));
}

}  // namespace

Roles roles_for(Needs needs, net::Method method) {
  switch (needs) {
    case Needs::ByMethod:
      return reads(method) ? access::kReaders : access::kEditors;
    case Needs::Nobody:
      return {};
    case Needs::Worker:
      return access::kWorkers;
    case Needs::ReaderOrWorker:
      return access::kReaders.with(Role::Worker);
    case Needs::Poster:
      return access::kEditors.with(Role::Worker);
    case Needs::TokenAdmin:
      return access::kAdmins;
  }
  return access::kAdmins;
}

Result<> expect_role(const Caller& caller, Roles roles) {
  if (roles.has(caller.role)) return {};
  return Error{Errc::Denied, fmt::format("this needs the role {}; this token's role is {}",
                                         access::to_string(roles), access::to_string(caller.role))};
}

Result<> expect_allowed(const Caller& caller, Needs needs, net::Method method) {
  if (needs == Needs::Nobody) return {};
  if (needs == Needs::TokenAdmin && caller.by == Caller::By::Place) {
    return Error{Errc::Denied,
                 "by TCP this needs a token of the role admin; 'quern token' on the machine that "
                 "has the data needs none"};
  }
  return expect_role(caller, roles_for(needs, method));
}

Result<> expect_poster(const Caller& caller, std::string_view type) {
  const auto known = std::find_if(std::begin(kPosters), std::end(kPosters),
                                  [type](const TypeRoles& one) { return one.type == type; });
  const Roles roles = known == std::end(kPosters) ? access::kAdmins : known->roles;
  if (roles.has(caller.role)) return {};
  return Error{Errc::Denied,
               fmt::format("a message of type {} needs the role {}; this token's "
                           "role is {}",
                           type, access::to_string(roles), access::to_string(caller.role))};
}

Result<> expect_peeker(const Caller& caller, std::string_view queue) {
  const bool of_searcher = queue.starts_with(kSearcherQueue);
  return expect_role(caller, of_searcher ? access::kReaders.with(Role::Worker) : access::kReaders);
}

std::optional<std::string> secret_of(std::string_view authorization) {
  std::string secret;
  if (const auto bearer = behind(authorization, "Bearer")) {
    secret = *bearer;
  } else if (const auto basic = behind(authorization, "Basic")) {
    const std::optional<std::string> decoded = base64_decoded(*basic);
    const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
    if (colon != std::string::npos) secret = decoded->substr(colon + 1);
  }
  if (secret.empty() || secret.size() > access::kSecretBytesMax) return std::nullopt;
  return secret;
}

std::optional<std::string> cookie_secret(const net::Headers& headers) {
  for (const std::string_view line : headers.find_all("Cookie")) {
    std::size_t at = 0;
    while (at < line.size()) {
      const std::size_t end = std::min(line.find(';', at), line.size());
      const std::string_view pair = net::trimmed(line.substr(at, end - at));
      at = end + 1;
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != kTokenCookie) continue;
      const std::string_view secret = pair.substr(equals + 1);
      if (!secret.empty() && secret.size() <= access::kSecretBytesMax) return std::string(secret);
    }
  }
  return std::nullopt;
}

std::optional<Caller> Access::by_place(net::PeerKind peer) const {
  if (peer == net::PeerKind::Unix) return Caller{};
  const bool near = peer == net::PeerKind::TcpLoopback && rule_ != HostRule::AskEverybody;
  if (!near && rule_ != HostRule::AnyHost) return std::nullopt;
  return Caller{Caller::By::Place, Role::Admin, std::nullopt};
}

net::Task<Result<Access::Identity>> Access::identify(net::PeerKind peer,
                                                     const net::Headers& headers) {
  const std::vector<std::string_view> shown = headers.find_all("Authorization");
  if (shown.empty()) co_return co_await by_cookie(peer, headers);
  // Of two, nobody could say which one counts.
  const std::optional<std::string> secret =
      shown.size() == 1 ? secret_of(shown.front()) : std::nullopt;
  if (!secret) co_return Identity{std::nullopt, true};
  CO_TRY_ASSIGN(std::optional<Caller> caller, co_await find(access::digest_of(*secret)));
  const bool refused = !caller.has_value();
  co_return Identity{std::move(caller), refused};
}

net::Task<Result<Access::Identity>> Access::by_cookie(net::PeerKind peer,
                                                      const net::Headers& headers) {
  const std::optional<std::string> secret = cookie_secret(headers);
  if (!secret) co_return Identity{by_place(peer)};
  CO_TRY_ASSIGN(std::optional<Caller> caller, co_await find(access::digest_of(*secret)));
  if (!caller) co_return Identity{by_place(peer)};
  co_return Identity{std::move(caller), false};
}

net::Task<Result<std::optional<Caller>>> Access::find_secret(std::string secret) {
  if (secret.empty() || secret.size() > access::kSecretBytesMax) co_return std::optional<Caller>();
  co_return co_await find(access::digest_of(secret));
}

net::Task<Result<std::optional<Caller>>> Access::find(std::string digest) {
  const auto known = kept_.find(digest);
  if (known != kept_.end() && now_() < known->second.until) co_return known->second.caller;
  const std::uint64_t forgotten = forgotten_;
  CO_TRY_ASSIGN(const std::optional<access::Token> token, co_await lookup_(digest));
  if (!token) {
    kept_.erase(digest);
    co_return std::optional<Caller>();
  }
  const Caller caller{Caller::By::Token, token->role, token->collection};
  if (forgotten == forgotten_) keep(digest, caller);
  co_return caller;
}

void Access::keep(const std::string& digest, const Caller& caller) {
  const net::Instant now = now_();
  if (kept_.size() >= kTokensKeptMax) {
    std::erase_if(kept_, [now](const auto& one) { return one.second.until <= now; });
  }
  if (kept_.size() >= kTokensKeptMax) kept_.clear();
  kept_[digest] = {caller, now + std::chrono::milliseconds(kTokenMs)};
}

net::Response unauthorized(const Access::Identity& identity) {
  const std::string_view why =
      identity.refused
          ? "this token is unknown or was revoked, or is neither Bearer nor a Basic password"
          : "a token is needed here: Authorization: Bearer TOKEN ('quern token create' makes one)";
  return net::problem(401, why).with("WWW-Authenticate", "Bearer");
}

}  // namespace quern::api

// Access: who asks, and what they may. The router asks it before any handler runs.
//
//   by                                 without a secret                with one
//   Unix socket, the node's own        everything                      its role
//   loopback                           everything but tokens           its role
//                                      (--ask-everybody: 401)
//   another machine                    401 (--insecure: as loopback)   its role
//
// A secret comes in Authorization, or in the cookie that /api/v1/session has set.
//
// Guarantee: a secret that is unknown or was revoked is refused, wherever it comes from, before
// anything is opened or enqueued; an old cookie, which browsers send unasked, counts for nothing
// instead. A token that was revoked on another server is refused kTokenMs
// later at the latest; on this one at once. How: the digest is looked up in the store, and what was
// found is kept for kTokenMs. Refusals are not kept: a token is good as soon as it is made.
//
// On the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/token.h"
#include "net/endpoint.h"
#include "net/event.h"
#include "net/http.h"
#include "net/task.h"

namespace quern::api {

inline constexpr std::int64_t kTokenMs = 2000;
inline constexpr std::size_t kTokensKeptMax = 1024;
inline constexpr std::string_view kTokenCookie = "quern_token";

struct Caller {
  enum class By { Socket, Place, Token };  // Place: where it comes from is enough

  By by = By::Socket;
  access::Role role = access::Role::Admin;
  std::optional<std::string> collection;  // nothing else is shown or changed
};

// Who may use a route.
enum class Needs {
  ByMethod,        // readers where it reads, editors where it changes
  Nobody,          // open to all: /healthz, and addresses that are secrets themselves
  Worker,          // takes tasks
  ReaderOrWorker,  // what searchers read too
  Poster,          // of messages: the handler looks at the type (expect_poster)
  TokenAdmin,      // by TCP only with an admin's token, also on loopback
};
// Who those are. Empty for Nobody.
access::Roles roles_for(Needs needs, net::Method method);
// Denied, with a sentence that says which role is needed.
Result<> expect_role(const Caller& caller, access::Roles roles);
Result<> expect_allowed(const Caller& caller, Needs needs, net::Method method);
// Whether the caller may post a message of this type, or look at those of that queue.
Result<> expect_poster(const Caller& caller, std::string_view type);
Result<> expect_peeker(const Caller& caller, std::string_view queue);

// The secret in `Bearer SECRET` or `Basic base64(anybody:SECRET)`; none where it is neither.
std::optional<std::string> secret_of(std::string_view authorization);

// The secret in a Cookie header; none where there is none.
std::optional<std::string> cookie_secret(const net::Headers& headers);

// Whose requests are answered. Other machines can come only where the server listens for them.
enum class HostRule {
  LoopbackOnly,  // the server listens on loopback: a Host must name this machine
  Tokens,        // it listens elsewhere: other machines need a token
  AskEverybody,  // also this machine by TCP: a proxy on it brings other people
  AnyHost,       // --insecure
};

class Access {
 public:
  using Lookup = std::function<net::Task<Result<std::optional<access::Token>>>(std::string digest)>;
  using Now = std::function<net::Instant()>;

  Access(
      HostRule rule, Lookup lookup, Now now = [] { return net::in_ms(0); })
      : rule_(rule), lookup_(std::move(lookup)), now_(std::move(now)) {}

  struct Identity {
    std::optional<Caller> caller;  // none: nobody we know
    bool refused = false;          // it showed a secret that is not good
  };
  net::Task<Result<Identity>> identify(net::PeerKind peer, const net::Headers& headers);
  // Whom a secret stands for; none where it is unknown or was revoked.
  net::Task<Result<std::optional<Caller>>> find_secret(std::string secret);
  HostRule rule() const { return rule_; }
  // A token was revoked here.
  void forget() {
    kept_.clear();
    ++forgotten_;
  }
  std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    Caller caller;
    net::Instant until;
  };
  net::Task<Result<Identity>> by_cookie(net::PeerKind peer, const net::Headers& headers);
  net::Task<Result<std::optional<Caller>>> find(std::string digest);
  std::optional<Caller> by_place(net::PeerKind peer) const;
  void keep(const std::string& digest, const Caller& caller);

  HostRule rule_;
  Lookup lookup_;
  Now now_;
  std::map<std::string, Kept> kept_;  // by digest
  std::uint64_t forgotten_ = 0;       // how often: what was asked before that is not kept
};

// 401, with the header that says how to do better.
net::Response unauthorized(const Access::Identity& identity);

}  // namespace quern::api

#include "api/access.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/loop.h"

namespace quern::api {
namespace {

using access::Role;
using net::Method;
using net::PeerKind;
using testing::HasSubstr;

std::string basic(const std::string& user_and_password) {
  return "Basic " + base64_encoded(user_and_password);
}

TEST(SecretTest, StandsBehindBearerOrIsTheBasicPassword) {
  EXPECT_EQ(secret_of("Bearer quern_1"), "quern_1");
  EXPECT_EQ(secret_of("bearer   quern_1 "), "quern_1");
  EXPECT_EQ(secret_of(basic("worker:quern_1")), "quern_1");
  EXPECT_EQ(secret_of(basic(":quern_1")), "quern_1");
  EXPECT_EQ(secret_of(basic("a:b:c")), "b:c") << "a user has no colon, a password may";
  EXPECT_EQ(secret_of("BASIC " + base64_encoded("a:b")), "b");
}

TEST(SecretTest, WhatIsNeitherHasNone) {
  const std::string wrong[] = {"",
                               "Bearer",
                               "Bearer ",
                               "Bearerquern_1",
                               "Digest quern_1",
                               "quern_1",
                               "Basic",
                               "Basic ????",
                               basic("no colon"),
                               basic("user:"),
                               "Bearer " + std::string(access::kSecretBytesMax + 1, 'x')};
  for (const std::string& text : wrong) EXPECT_EQ(secret_of(text), std::nullopt) << text;
  const std::string longest(access::kSecretBytesMax, 'x');
  EXPECT_EQ(secret_of("Bearer " + longest), longest);
}

TEST(SecretTest, StandsInTheCookieOfThatName) {
  const auto of = [](const char* line) { return cookie_secret({{"Cookie", line}}); };
  EXPECT_EQ(of("quern_token=quern_1"), "quern_1");
  EXPECT_EQ(of("a=b; quern_token=quern_1; c=d"), "quern_1");
  EXPECT_EQ(of("a=b;quern_token=quern_1"), "quern_1");
  EXPECT_EQ(of("quern_token="), std::nullopt);
  EXPECT_EQ(of("xquern_token=quern_1"), std::nullopt);
  EXPECT_EQ(of("quern_token"), std::nullopt);
  EXPECT_EQ(of(""), std::nullopt);
  EXPECT_EQ(cookie_secret({}), std::nullopt);
  const std::string longer(access::kSecretBytesMax + 1, 'x');
  EXPECT_EQ(of(("quern_token=" + longer).c_str()), std::nullopt);
  EXPECT_EQ(cookie_secret({{"Cookie", "a=b"}, {"Cookie", "quern_token=quern_1"}}), "quern_1");
}

Caller with_role(Role role) {
  return {Caller::By::Token, role, std::nullopt};
}

TEST(NeedsTest, AreATableOfRoles) {
  struct Case {
    Needs needs;
    Method method;
    bool reader, editor, worker, admin;
  };
  const Case cases[] = {
      {Needs::ByMethod, Method::Get, true, true, false, true},
      {Needs::ByMethod, Method::Head, true, true, false, true},
      {Needs::ByMethod, Method::Options, true, true, false, true},
      {Needs::ByMethod, Method::Post, false, true, false, true},
      {Needs::ByMethod, Method::Put, false, true, false, true},
      {Needs::ByMethod, Method::Patch, false, true, false, true},
      {Needs::ByMethod, Method::Delete, false, true, false, true},
      {Needs::ByMethod, Method::Other, false, true, false, true},
      {Needs::Nobody, Method::Post, true, true, true, true},
      {Needs::Worker, Method::Post, false, false, true, true},
      {Needs::ReaderOrWorker, Method::Get, true, true, true, true},
      {Needs::Poster, Method::Post, false, true, true, true},
      {Needs::TokenAdmin, Method::Get, false, false, false, true},
  };
  for (const Case& one : cases) {
    const auto may = [&](Role role) {
      return expect_allowed(with_role(role), one.needs, one.method).ok();
    };
    const std::string which =
        fmt::format("{} {}", static_cast<int>(one.needs), net::to_string(one.method));
    EXPECT_EQ(may(Role::Reader), one.reader) << which;
    EXPECT_EQ(may(Role::Editor), one.editor) << which;
    EXPECT_EQ(may(Role::Worker), one.worker) << which;
    EXPECT_EQ(may(Role::Admin), one.admin) << which;
  }
}

TEST(NeedsTest, ARefusalSaysWhichRoleIsNeeded) {
  const Result<> refused = expect_allowed(with_role(Role::Reader), Needs::ByMethod, Method::Delete);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), Errc::Denied);
  EXPECT_THAT(refused.error().message(), HasSubstr("editor or admin"));
  EXPECT_THAT(refused.error().message(), HasSubstr("role is reader"));
}

TEST(NeedsTest, TokensAreForSocketsAndForAdminsThatHaveOne) {
  const Caller place{Caller::By::Place, Role::Admin, std::nullopt};
  EXPECT_FALSE(expect_allowed(place, Needs::TokenAdmin, Method::Get).ok());
  EXPECT_TRUE(expect_allowed(place, Needs::ByMethod, Method::Delete).ok());
  EXPECT_TRUE(expect_allowed(Caller{}, Needs::TokenAdmin, Method::Post).ok());
}

TEST(NeedsTest, MessagesAreForThoseWhosePartTheyAre) {
  for (const char* type : {"index+crawl", "index", "crawl", "pack_incremental", "pack_full"}) {
    EXPECT_TRUE(expect_poster(with_role(Role::Editor), type).ok()) << type;
    EXPECT_TRUE(expect_poster(with_role(Role::Admin), type).ok()) << type;
    EXPECT_FALSE(expect_poster(with_role(Role::Worker), type).ok()) << type;
    EXPECT_FALSE(expect_poster(with_role(Role::Reader), type).ok()) << type;
  }
  for (const char* type : {"start_timer", "reset_timer", "update", "load", "drop", "new one"}) {
    EXPECT_FALSE(expect_poster(with_role(Role::Editor), type).ok()) << type;
    EXPECT_FALSE(expect_poster(with_role(Role::Worker), type).ok()) << type;
    EXPECT_TRUE(expect_poster(with_role(Role::Admin), type).ok()) << type;
  }
  EXPECT_TRUE(expect_poster(with_role(Role::Worker), "register").ok());
  EXPECT_FALSE(expect_poster(with_role(Role::Editor), "register").ok());
  EXPECT_TRUE(expect_peeker(with_role(Role::Worker), "SEARCHER-1").ok());
  EXPECT_FALSE(expect_peeker(with_role(Role::Worker), "ORCH").ok());
  EXPECT_TRUE(expect_peeker(with_role(Role::Reader), "ORCH").ok());
}

// A store of tokens that counts how often it is asked, and a clock that stands.
class AccessTest : public testing::Test {
 protected:
  Access make(HostRule rule) {
    return Access(
        rule, [this](std::string digest) { return look_up(this, std::move(digest)); },
        [this] { return now_; });
  }
  static net::Task<Result<std::optional<access::Token>>> look_up(AccessTest* self,
                                                                 std::string digest) {
    ++self->asked_;
    if (self->away_) co_return Error{Errc::Unavailable, "away"};
    const auto found = self->tokens_.find(digest);
    if (found == self->tokens_.end()) co_return std::optional<access::Token>();
    access::Token token;
    token.role = found->second;
    co_return std::optional<access::Token>(token);
  }
  void add(const std::string& secret, Role role) { tokens_[access::digest_of(secret)] = role; }
  void revoke(const std::string& secret) { tokens_.erase(access::digest_of(secret)); }
  Access::Identity ask(Access& access, PeerKind peer, net::Headers headers = {}) {
    Result<Access::Identity> identity = loop_.run_until(access.identify(peer, headers));
    CHECK_OK(identity);
    return *std::move(identity);
  }
  bool is_good(Access& access, const std::string& secret) {
    const net::Headers headers{{"Authorization", "Bearer " + secret}};
    return ask(access, PeerKind::TcpOther, headers).caller.has_value();
  }

  net::Loop loop_;
  std::map<std::string, Role> tokens_;
  int asked_ = 0;
  bool away_ = false;
  net::Instant now_ = net::in_ms(0);
};

TEST_F(AccessTest, OtherMachinesNeedATokenAndNeighboursNone) {
  for (const HostRule rule : {HostRule::LoopbackOnly, HostRule::Tokens}) {
    Access access = make(rule);
    EXPECT_FALSE(ask(access, PeerKind::TcpOther).caller);
    EXPECT_FALSE(ask(access, PeerKind::TcpOther).refused);
    EXPECT_EQ(ask(access, PeerKind::TcpLoopback).caller->by, Caller::By::Place);
    EXPECT_EQ(ask(access, PeerKind::Unix).caller->by, Caller::By::Socket);
  }
  Access insecure = make(HostRule::AnyHost);
  EXPECT_EQ(ask(insecure, PeerKind::TcpOther).caller->by, Caller::By::Place);
  Access behind_a_proxy = make(HostRule::AskEverybody);
  EXPECT_FALSE(ask(behind_a_proxy, PeerKind::TcpLoopback).caller);
  EXPECT_FALSE(ask(behind_a_proxy, PeerKind::TcpOther).caller);
  EXPECT_EQ(ask(behind_a_proxy, PeerKind::Unix).caller->by, Caller::By::Socket);
  EXPECT_EQ(asked_, 0);
}

TEST_F(AccessTest, AWrongSecretIsRefusedWhereverItComesFrom) {
  Access access = make(HostRule::AnyHost);
  add("quern_good", Role::Editor);
  for (const PeerKind peer : {PeerKind::Unix, PeerKind::TcpLoopback, PeerKind::TcpOther}) {
    for (const char* shown : {"Bearer quern_bad", "Bearer", "Digest x", "Basic x", ""}) {
      const Access::Identity identity = ask(access, peer, {{"Authorization", shown}});
      EXPECT_FALSE(identity.caller) << shown;
      EXPECT_TRUE(identity.refused) << shown;
    }
    const auto good = ask(access, peer, {{"Authorization", basic("anybody:quern_good")}});
    ASSERT_TRUE(good.caller);
    EXPECT_EQ(good.caller->role, Role::Editor) << "less than its place would give";
    const net::Headers two{{"Authorization", "Bearer quern_good"},
                           {"Authorization", "Bearer quern_good"}};
    EXPECT_TRUE(ask(access, peer, two).refused);
  }
}

TEST_F(AccessTest, WhatWasFoundIsKeptForAWhileOnly) {
  Access access = make(HostRule::Tokens);
  add("quern_good", Role::Reader);
  EXPECT_TRUE(is_good(access, "quern_good"));
  EXPECT_TRUE(is_good(access, "quern_good"));
  EXPECT_EQ(asked_, 1);
  revoke("quern_good");
  now_ += std::chrono::milliseconds(kTokenMs - 1);
  EXPECT_TRUE(is_good(access, "quern_good")) << "revoked on another server a moment ago";
  now_ += std::chrono::milliseconds(1);
  EXPECT_FALSE(is_good(access, "quern_good"));
  EXPECT_EQ(access.kept(), 0U);
}

TEST_F(AccessTest, WhatIsRevokedHereEndsAtOnce) {
  Access access = make(HostRule::Tokens);
  add("quern_good", Role::Reader);
  EXPECT_TRUE(is_good(access, "quern_good"));
  revoke("quern_good");
  access.forget();
  EXPECT_FALSE(is_good(access, "quern_good"));
  add("quern_good", Role::Reader);
  EXPECT_TRUE(is_good(access, "quern_good")) << "a refusal is not kept";
}

TEST_F(AccessTest, KeepsNoMoreThanItMay) {
  Access access = make(HostRule::Tokens);
  for (std::size_t i = 0; i < kTokensKeptMax + 10; ++i) {
    const std::string secret = fmt::format("quern_{}", i);
    add(secret, Role::Reader);
    EXPECT_TRUE(is_good(access, secret));
    EXPECT_LE(access.kept(), kTokensKeptMax);
  }
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(is_good(access, fmt::format("guess_{}", i)));
  EXPECT_LE(access.kept(), kTokensKeptMax);
}

TEST_F(AccessTest, AStoreThatIsAwayIsNoReasonToLetAnybodyIn) {
  Access access = make(HostRule::Tokens);
  away_ = true;
  const net::Headers headers{{"Authorization", "Bearer quern_good"}};
  const auto identity = loop_.run_until(access.identify(PeerKind::TcpLoopback, headers));
  ASSERT_FALSE(identity.ok());
  EXPECT_EQ(identity.error().kind(), Errc::Unavailable);
}

}  // namespace
}  // namespace quern::api

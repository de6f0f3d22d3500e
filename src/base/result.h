// Result<T>: a value or the reason why there is none.
//
// Every expected failure (missing, busy, conflict, bad input, disk, peer) is returned as one;
// nothing of ours throws. The kind says what the caller does about it; the message is for a person.
// Propagate with TRY / TRY_ASSIGN, in coroutines with CO_TRY / CO_TRY_ASSIGN. They are plain
// statements on purpose: g++ 12.2 dies on a statement expression that contains co_await.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace quern {

enum class Errc {
  Invalid,      // the input is wrong: tell whoever gave it
  Denied,       // not allowed: tell whoever asked
  Missing,      // what was named is not there
  Conflict,     // something else stands in its place: look, then decide
  Stale,        // our lease, token or version has passed on: stop this work, touch nothing
  TooLarge,     // a limit with a name was hit: give up on this input
  Busy,         // full for the moment: ask again soon
  Unavailable,  // a peer, the store or a device does not answer: try later, with backoff
  Timeout,      // it took longer than it may
  Full,         // no space left: nothing was written; make room
  Canceled,     // told to stop
  Corrupt,      // what was stored is not what was written: stop and call a person
  Internal,     // ours to mend
};

std::string_view to_string(Errc kind);
// The HTTP status a client sees for this kind.
int http_status(Errc kind);
// Whether the same request can succeed later without anybody changing it.
bool is_retryable(Errc kind);

class [[nodiscard]] Error {
 public:
  Error(Errc kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  Errc kind() const { return kind_; }
  const std::string& message() const { return message_; }

  // "while opening the store: disk is full"; innermost last.
  Error with_context(std::string_view context) &&;

 private:
  Errc kind_;
  std::string message_;
};

// An input over a named limit: "request body: 70000 bytes, the limit is 65536
// (net.body_bytes_max)".
Error over_limit(std::string_view what, std::int64_t got, std::int64_t limit,
                 std::string_view limit_name);

struct Unit {};

template <class T = void>
class [[nodiscard]] Result {
  using Stored = std::conditional_t<std::is_void_v<T>, Unit, T>;

 public:
  using Value = T;

  Result()
    requires std::is_void_v<T>
      : state_(Unit{}) {}
  template <class U>
    requires(!std::is_void_v<T> && std::is_convertible_v<U &&, Stored> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: implicit on purpose
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value. It is our bug to ask for it where there is none.
  Stored& value() & {
    CHECK_OK(*this);
    return *std::get_if<0>(&state_);
  }
  const Stored& value() const& {
    CHECK_OK(*this);
    return *std::get_if<0>(&state_);
  }
  // By value: `for (x : *f())` would otherwise walk over what is gone.
  Stored value() && {
    CHECK_OK(*this);
    return std::move(*std::get_if<0>(&state_));
  }
  Stored& operator*() & { return value(); }
  const Stored& operator*() const& { return value(); }
  Stored operator*() && { return std::move(*this).value(); }
  Stored* operator->() { return &value(); }
  const Stored* operator->() const { return &value(); }
  Stored value_or(Stored fallback) && {
    return ok() ? std::move(*this).value() : std::move(fallback);
  }

  const Error& error() const& {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

  // Adds to the error, if there is one, what we were doing.
  Result with_context(std::string_view context) && {
    if (ok()) return std::move(*this);
    return std::move(*this).error().with_context(context);
  }

 private:
  std::variant<Stored, Error> state_;
};

}  // namespace quern

#define QUERN_JOIN_(a, b) a##b
#define QUERN_JOIN(a, b) QUERN_JOIN_(a, b)
#define QUERN_TRY_(name, ret, ...)               \
  do {                                           \
    auto name = (__VA_ARGS__);                   \
    if (!name.ok()) ret std::move(name).error(); \
  } while (false)
#define QUERN_TRY_ASSIGN_(name, ret, decl, ...) \
  auto name = (__VA_ARGS__);                    \
  if (!name.ok()) ret std::move(name).error();  \
  decl = *std::move(name)

// Returns the error of the expression, if it has one.
#define TRY(...) QUERN_TRY_(QUERN_JOIN(try_result_, __COUNTER__), return, __VA_ARGS__)
// TRY_ASSIGN(const int n, count()); declares n, or returns the error.
#define TRY_ASSIGN(decl, ...) \
  QUERN_TRY_ASSIGN_(QUERN_JOIN(try_result_, __COUNTER__), return, decl, __VA_ARGS__)
#define CO_TRY(...) QUERN_TRY_(QUERN_JOIN(try_result_, __COUNTER__), co_return, __VA_ARGS__)
#define CO_TRY_ASSIGN(decl, ...) \
  QUERN_TRY_ASSIGN_(QUERN_JOIN(try_result_, __COUNTER__), co_return, decl, __VA_ARGS__)

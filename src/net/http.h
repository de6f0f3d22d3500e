// The plain types of HTTP: methods, headers, heads, answers. No sockets here.
//
// Guarantee: what is built of these types is well-formed on the wire. Header values lose control
// characters as they enter, so that a file name or a message of ours cannot smuggle a header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::net {

inline constexpr std::size_t kHeadersMax = 128;

enum class Method { Get, Head, Post, Put, Patch, Delete, Options, Other };

Method method_of(std::string_view text);
std::string_view to_string(Method method);
// RFC 9110: doing it twice is like doing it once.
bool is_idempotent(Method method);

struct Header {
  std::string name;
  std::string value;
};

// Headers in their order; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> headers);

  // The first value of this name, or nullptr.
  const std::string* find(std::string_view name) const;
  std::vector<std::string_view> find_all(std::string_view name) const;
  // Whether some value of this name has the token in its comma-separated list.
  bool has_token(std::string_view name, std::string_view token) const;

  // The name is ours, and a token of RFC 9110; more than kHeadersMax headers are a bug.
  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);

  std::size_t size() const { return headers_.size(); }
  auto begin() const { return headers_.begin(); }
  auto end() const { return headers_.end(); }

 private:
  std::vector<Header> headers_;
};

struct RequestHead {
  Method method = Method::Get;
  std::string method_text = "GET";  // as sent; says what Other is
  std::string target = "/";         // as sent: see net/target.h
  int version_minor = 1;            // HTTP/1.x
  Headers headers;
};

struct ResponseHead {
  int status = 200;
  Headers headers;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;

  // For handlers: `co_await exchange.respond(text_response(200, "hello"))`. Prefer these functions
  // to a braced Response inside a co_await expression: g++ 12 miscompiles some of those.
  Response with(std::string_view name, std::string_view value) &&;
};

Response empty_response(int status);
Response text_response(int status, std::string text);
Response json_response(int status, std::string json);
// application/problem+json (RFC 9457).
Response problem(int status, std::string_view detail);
Response problem(const Error& error);

// "Not Found"; "" for a status nobody registered.
std::string_view reason_phrase(int status);
bool is_token(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);

}  // namespace quern::net

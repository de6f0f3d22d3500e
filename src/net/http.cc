#include "net/http.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace quern::net {
namespace {

struct MethodName {
  Method method;
  std::string_view text;
};
constexpr MethodName kMethods[] = {
    {Method::Get, "GET"},         {Method::Head, "HEAD"},   {Method::Post, "POST"},
    {Method::Put, "PUT"},         {Method::Patch, "PATCH"}, {Method::Delete, "DELETE"},
    {Method::Options, "OPTIONS"},
};

struct Reason {
  int status;
  std::string_view phrase;
};
constexpr Reason kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {460, "Checksum Mismatch"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool is_token_char(char c) {
  if ((c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string without_controls(std::string_view value) {
  std::string clean(value);
  for (char& c : clean) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = ' ';
  }
  return clean;
}

}  // namespace

Method method_of(std::string_view text) {
  for (const MethodName& known : kMethods) {
    if (known.text == text) return known.method;
  }
  return Method::Other;
}

std::string_view to_string(Method method) {
  for (const MethodName& known : kMethods) {
    if (known.method == method) return known.text;
  }
  return "OTHER";
}

bool is_idempotent(Method method) {
  return method == Method::Get || method == Method::Head || method == Method::Put ||
         method == Method::Delete || method == Method::Options;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Headers::Headers(std::initializer_list<Header> headers) {
  for (const Header& header : headers) add(header.name, header.value);
}

const std::string* Headers::find(std::string_view name) const {
  for (const Header& header : headers_) {
    if (equals_ignoring_case(header.name, name)) return &header.value;
  }
  return nullptr;
}

std::vector<std::string_view> Headers::find_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Header& header : headers_) {
    if (equals_ignoring_case(header.name, name)) values.push_back(header.value);
  }
  return values;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (const Header& header : headers_) {
    if (!equals_ignoring_case(header.name, name)) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      if (equals_ignoring_case(trimmed(rest.substr(0, comma)), token)) return true;
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
  }
  return false;
}

void Headers::add(std::string_view name, std::string_view value) {
  CHECK(is_token(name));
  CHECK(headers_.size() < kHeadersMax);
  headers_.push_back({std::string(name), without_controls(value)});
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  std::erase_if(headers_, [name](const Header& h) { return equals_ignoring_case(h.name, name); });
}

Response Response::with(std::string_view name, std::string_view value) && {
  headers.set(name, value);
  return std::move(*this);
}

Response empty_response(int status) {
  Response response;
  response.status = status;
  return response;
}

Response text_response(int status, std::string text) {
  Response response = empty_response(status);
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(text);
  return response;
}

Response json_response(int status, std::string json) {
  Response response = empty_response(status);
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(json);
  return response;
}

Response problem(int status, std::string_view detail) {
  Response response = empty_response(status);
  response.headers.add("Content-Type", "application/problem+json");
  response.body = fmt::format(R"({{"type":"about:blank","title":"{}","status":{},"detail":"{}"}})",
                              reason_phrase(status), status, json_escaped(detail));
  return response;
}

Response problem(const Error& error) {
  Response response = problem(http_status(error.kind()), error.message());
  // Clients look at kinds, never at wording.
  response.body.insert(1, fmt::format(R"("kind":"{}",)", to_string(error.kind())));
  if (response.status == 503) response.headers.add("Retry-After", "1");
  return response;
}

std::string_view reason_phrase(int status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.phrase;
  }
  return "";
}

}  // namespace quern::net

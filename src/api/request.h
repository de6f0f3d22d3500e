// What resources read of a request beside its body: the query's parameters, and the version that a
// change is made for. And what every answer with a version says.
//
// Errors are Invalid, with the name of what is wrong.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "net/target.h"

namespace quern::api {

inline constexpr std::size_t kPageDefault = 200;

// The parameters, each asked for by name. finish() says what was wrong, and refuses what nobody
// asked for: a misspelt gate must not become gate 0.
class Parameters {
 public:
  explicit Parameters(const net::Target& target) : target_(target) {}

  // Empty where it is not given.
  std::string text(std::string_view name);
  // A whole number in that range; nothing where it is not given.
  std::optional<std::int64_t> number(std::string_view name, std::int64_t min = 0,
                                     std::int64_t max = std::numeric_limits<std::int64_t>::max());
  // How long a page may be: limit, at most max.
  std::size_t limit(std::size_t max);
  // For parameters that are read by other means.
  void refuse(Error why);
  Result<> finish() const;

 private:
  const std::string* find(std::string_view name);

  const net::Target& target_;
  std::vector<std::string> asked_;
  std::optional<Error> wrong_;
};

// The version of If-Match, with or without quotes. Weak tags, lists and '*' are refused.
Result<std::optional<std::int64_t>> if_match(const net::Headers& headers);

// What must be true of the thing that a PUT names.
struct Condition {
  std::optional<std::int64_t> version;  // 0: it must not exist
};
// Of If-Match, or If-None-Match: * (which is version 0).
Result<Condition> put_condition(const net::Headers& headers);

// {"items":…} with "next" where the page is full.
net::Response page_response(boost::json::array items, std::optional<boost::json::value> next);
// With the version as its ETag.
net::Response versioned(int status, const boost::json::object& body, std::int64_t version);

// The body as an object; an empty one is {}.
Result<boost::json::object> parse_object(std::string_view body);

}  // namespace quern::api

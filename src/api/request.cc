#include "api/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

namespace quern::api {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const std::string* Parameters::find(std::string_view name) {
  asked_.emplace_back(name);
  return target_.find(name);
}

void Parameters::refuse(Error why) {
  if (!wrong_) wrong_ = std::move(why);
}

std::string Parameters::text(std::string_view name) {
  const std::string* given = find(name);
  return given == nullptr ? "" : *given;
}

std::optional<std::int64_t> Parameters::number(std::string_view name, std::int64_t min,
                                               std::int64_t max) {
  const std::string* given = find(name);
  if (given == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = whole_number(*given);
  if (value && *value >= min && *value <= max) return value;
  refuse({Errc::Invalid, fmt::format("parameter {}='{}' is no whole number from {} to {}", name,
                                     *given, min, max)});
  return std::nullopt;
}

std::size_t Parameters::limit(std::size_t max) {
  const auto given = number("limit", 1, static_cast<std::int64_t>(max));
  return given ? static_cast<std::size_t>(*given) : std::min(kPageDefault, max);
}

Result<> Parameters::finish() const {
  if (wrong_) return *wrong_;
  for (const auto& [name, value] : target_.parameters) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    return Error{Errc::Invalid,
                 fmt::format("parameter '{}' is unknown; there are {}", name,
                             asked_.empty() ? "none" : fmt::format("{}", fmt::join(asked_, ", ")))};
  }
  return {};
}

Result<std::optional<std::int64_t>> if_match(const net::Headers& headers) {
  const std::vector<std::string_view> given = headers.find_all("If-Match");
  if (given.empty()) return std::optional<std::int64_t>();
  std::string_view text = net::trimmed(given[0]);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  const std::optional<std::int64_t> version = whole_number(text);
  if (given.size() == 1 && version && *version >= 0) return version;
  return Error{
      Errc::Invalid,
      fmt::format("If-Match: {} is no version; it is one number, such as \"3\"", given[0])};
}

Result<Condition> put_condition(const net::Headers& headers) {
  TRY_ASSIGN(const std::optional<std::int64_t> version, if_match(headers));
  const std::string* none = headers.find("If-None-Match");
  if (none == nullptr) return Condition{version};
  if (version || net::trimmed(*none) != "*") {
    return Error{Errc::Invalid, "If-None-Match takes only '*', and no If-Match beside it"};
  }
  return Condition{0};
}

net::Response page_response(json::array items, std::optional<json::value> next) {
  json::object page{{"items", std::move(items)}};
  if (next) page["next"] = *std::move(next);
  return net::json_response(200, json::serialize(page));
}

net::Response versioned(int status, const json::object& body, std::int64_t version) {
  return net::json_response(status, json::serialize(body))
      .with("ETag", fmt::format("\"{}\"", version));
}

Result<json::object> parse_object(std::string_view body) {
  boost::system::error_code failed;
  json::value value = json::parse(body.empty() ? std::string_view("{}") : body, failed);
  if (failed || !value.is_object()) return Error{Errc::Invalid, "the body must be a JSON object"};
  return std::move(value.get_object());
}

}  // namespace quern::api

// What the resources of jobs and files share.
#pragma once

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <charconv>
#include <string>

#include "api/service.h"
#include "tree/job.h"

namespace quern::api {

inline constexpr char kDefaultCollection[] = "default";

template <class Id>
Result<Id> parse_id(std::string_view what, std::string_view text) {
  Id id;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id.value);
  if (failed != std::errc{} || end != text.data() + text.size() || id.value <= 0) {
    return Error{Errc::Invalid, fmt::format("'{}' is no number of a {}", text, what)};
  }
  return id;
}

std::string random_key();
boost::json::object to_json(const Parts& parts, const tree::Job& job);
net::Task<Result<tree::Job>> open_job(std::shared_ptr<const Parts> parts, tree::NewJob order);

}  // namespace quern::api

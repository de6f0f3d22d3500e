// What commands have in common: a door, a request through it, and the JSON of the answer.
#pragma once

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <exception>
#include <utility>

#include "app/command.h"
#include "net/client.h"

namespace quern::app {

// The JSON of a 2xx answer (null where it has no body); otherwise what the problem document says.
Result<boost::json::value> parse_answer(const net::Response& answer);
net::Task<Result<boost::json::value>> call(Door& door, net::Request request);

// Runs a command's body with a door, and closes the door whatever came of it.
template <class Body, class... Args>
net::Task<Result<int>> with_door(Command command, Body body, Args... args) {
  Door door(command.loop, command.config);
  Result<int> code = kExitDone;
  try {
    code = co_await body(command, door, std::move(args)...);
  } catch (const std::exception& odd) {
    // Boost.JSON throws where an answer has another shape than ours have.
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

// Every item of a list behind `after`, whatever its pages. Ends with an error of `each`.
using Each = std::function<Result<>(const boost::json::object&)>;
net::Task<Result<int>> walk_pages(Door& door, std::string address, Each each,
                                  std::string after = "");

}  // namespace quern::app

// quern token create, list, revoke
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "app/command.h"

namespace quern::app {

struct TokenOrder {
  std::string role;
  std::string collection;  // empty: all
  std::string note;
};
// The secret alone goes to standard output, so that it can go to a file.
net::Task<Result<int>> create_token(Command command, TokenOrder order);
net::Task<Result<int>> list_tokens(Command command);
net::Task<Result<int>> revoke_token(Command command, std::string id);

void add_token_commands(CLI::App& app, Run& run);

}  // namespace quern::app

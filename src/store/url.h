// DatabaseUrl: `sqlite:PATH` or `postgres://…` (also `postgresql://…`).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sql.h"

namespace quern::store {

struct DatabaseUrl {
  StoreKind kind;
  std::string location;  // the path, or the whole URL as libpq takes it

  static Result<DatabaseUrl> parse(std::string_view text);
  // For logs and people: without the password.
  std::string redacted() const;
};

}  // namespace quern::store

#include "base/result.h"

#include <fmt/format.h>

namespace quern {
namespace {

struct KindFacts {
  Errc kind;
  std::string_view name;
  int http_status;
  bool retryable;
};

// One table, so that no kind is mapped in one place and forgotten in another.
constexpr KindFacts kKinds[] = {
    {Errc::Invalid, "invalid", 400, false},   {Errc::Denied, "denied", 403, false},
    {Errc::Missing, "missing", 404, false},   {Errc::Conflict, "conflict", 409, false},
    {Errc::Stale, "stale", 412, false},       {Errc::TooLarge, "too_large", 413, false},
    {Errc::Busy, "busy", 503, true},          {Errc::Unavailable, "unavailable", 503, true},
    {Errc::Timeout, "timeout", 504, true},    {Errc::Full, "full", 507, true},
    {Errc::Canceled, "canceled", 499, false}, {Errc::Corrupt, "corrupt", 500, false},
    {Errc::Internal, "internal", 500, false},
};

constexpr const KindFacts& facts(Errc kind) {
  return kKinds[static_cast<int>(kind)];
}

constexpr bool in_order() {
  for (int i = 0; i < static_cast<int>(std::size(kKinds)); ++i) {
    if (static_cast<int>(kKinds[i].kind) != i) return false;
  }
  return std::size(kKinds) == static_cast<std::size_t>(Errc::Internal) + 1;
}
static_assert(in_order(), "the table follows the enum");

}  // namespace

std::string_view to_string(Errc kind) {
  return facts(kind).name;
}
int http_status(Errc kind) {
  return facts(kind).http_status;
}
bool is_retryable(Errc kind) {
  return facts(kind).retryable;
}

Error Error::with_context(std::string_view context) && {
  return Error{kind_, fmt::format("{}: {}", context, message_)};
}

Error over_limit(std::string_view what, std::int64_t got, std::int64_t limit,
                 std::string_view limit_name) {
  return Error{Errc::TooLarge,
               fmt::format("{}: {}, the limit is {} ({})", what, got, limit, limit_name)};
}

}  // namespace quern

// Id<Tag>: a database key that cannot be mistaken for a key of another table.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>

namespace quern {

template <class Tag>
struct Id {
  std::int64_t value = 0;

  friend auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace quern

template <class Tag>
struct std::hash<quern::Id<Tag>> {
  std::size_t operator()(const quern::Id<Tag>& id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};

template <class Tag>
struct fmt::formatter<quern::Id<Tag>> : fmt::formatter<std::int64_t> {
  auto format(const quern::Id<Tag>& id, format_context& context) const {
    return fmt::formatter<std::int64_t>::format(id.value, context);
  }
};

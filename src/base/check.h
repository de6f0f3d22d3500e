// CHECK(condition): our own invariants, on in release too. A failed one says where, and aborts:
// recovery after a kill is the tested path, going on with a broken state is not.
#pragma once

#include <string_view>

namespace quern {

[[noreturn]] void check_failed(std::string_view condition, std::string_view detail,
                               const char* file, int line);

}  // namespace quern

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::quern::check_failed(#condition, {}, __FILE__, __LINE__); \
  } while (false)

// For a Result that must hold a value: prints its error. The expression is evaluated once.
#define CHECK_OK(...)                                                                             \
  do {                                                                                            \
    const auto& check_ok_result = (__VA_ARGS__);                                                  \
    if (!check_ok_result.ok()) [[unlikely]]                                                       \
      ::quern::check_failed(#__VA_ARGS__, check_ok_result.error().message(), __FILE__, __LINE__); \
  } while (false)

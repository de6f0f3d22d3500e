#include "worker/win_ansi.h"

#include <algorithm>
#include <array>

namespace quern::worker {
namespace {

struct Pair {
  char32_t code_point;
  unsigned char byte;
};
// Where it differs from Latin-1, in the order of code points.
constexpr std::array kPairs = {
    Pair{0x0152, 0x8C}, Pair{0x0153, 0x9C}, Pair{0x0160, 0x8A}, Pair{0x0161, 0x9A},
    Pair{0x0178, 0x9F}, Pair{0x017D, 0x8E}, Pair{0x017E, 0x9E}, Pair{0x0192, 0x83},
    Pair{0x02C6, 0x88}, Pair{0x02DC, 0x98}, Pair{0x2013, 0x96}, Pair{0x2014, 0x97},
    Pair{0x2018, 0x91}, Pair{0x2019, 0x92}, Pair{0x201A, 0x82}, Pair{0x201C, 0x93},
    Pair{0x201D, 0x94}, Pair{0x201E, 0x84}, Pair{0x2020, 0x86}, Pair{0x2021, 0x87},
    Pair{0x2022, 0x95}, Pair{0x2026, 0x85}, Pair{0x2030, 0x89}, Pair{0x2039, 0x8B},
    Pair{0x203A, 0x9B}, Pair{0x20AC, 0x80}, Pair{0x2122, 0x99}};

}  // namespace

std::optional<unsigned char> win_ansi_of(char32_t c) {
  if ((c >= 0x20 && c < 0x7F) || (c >= 0xA0 && c <= 0xFF)) return static_cast<unsigned char>(c);
  const auto found =
      std::lower_bound(kPairs.begin(), kPairs.end(), c,
                       [](const Pair& pair, char32_t wanted) { return pair.code_point < wanted; });
  if (found == kPairs.end() || found->code_point != c) return std::nullopt;
  return found->byte;
}

char32_t next_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t c = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i)
    c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  text.remove_prefix(length);
  return c;
}

std::string to_win_ansi(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    bytes += static_cast<char>(win_ansi_of(next_code_point(text)).value_or('?'));
  }
  return bytes;
}

}  // namespace quern::worker

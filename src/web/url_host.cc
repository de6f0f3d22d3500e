#include "web/url_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "web/idna.h"
#include "web/url_escape.h"

namespace quern::web {
namespace {

using Pieces = std::array<std::uint16_t, 8>;

constexpr std::uint64_t kIpv4Beyond = 1ULL << 32;
constexpr std::string_view kForbiddenInHosts("\0\t\n\r #/:<>?@[\\]^|", 17);

Error bad_host() {
  return {Errc::Invalid, "the host of the address is none"};
}

bool is_forbidden_in_domains(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F || c == '%' || kForbiddenInHosts.find(c) != std::string::npos;
}

std::vector<std::string_view> split_at_dots(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = text.find('.', begin);
    parts.push_back(text.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

// Decimal, "0x" hexadecimal or "0" octal; what is too large stays at kIpv4Beyond.
std::optional<std::uint64_t> ipv4_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned radix = 10;
  if (text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    radix = 16;
    text.remove_prefix(2);
  } else if (text.size() >= 2 && text[0] == '0') {
    radix = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= radix) return std::nullopt;
    value = std::min(value * radix + static_cast<unsigned>(digit), kIpv4Beyond);
  }
  return value;
}

bool ends_in_number(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::size_t dot = host.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
  if (last.empty()) return false;
  return std::all_of(last.begin(), last.end(), is_digit) || ipv4_number(last).has_value();
}

Result<std::string> parse_ipv4(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  const auto parts = split_at_dots(text);
  if (parts.size() > 4) return bad_host();
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = ipv4_number(parts[i]);
    if (!number) return bad_host();
    const bool is_last = i + 1 == parts.size();
    const std::uint64_t room = is_last ? kIpv4Beyond >> (8 * i) : 256;
    if (*number >= room) return bad_host();
    address += is_last ? *number : *number << (8 * (3 - i));
  }
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                     address & 255);
}

// "192.0.2.1" at the end of an IPv6 address: exactly four decimal numbers.
bool take_ipv4_tail(std::string_view text, std::uint16_t* pieces) {
  const auto parts = split_at_dots(text);
  if (parts.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string_view part = parts[i];
    if (part.empty() || part.size() > 3 || (part.size() > 1 && part[0] == '0')) return false;
    if (!std::all_of(part.begin(), part.end(), is_digit)) return false;
    unsigned value = 0;
    for (const char c : part) value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > 255) return false;
    pieces[i / 2] = static_cast<std::uint16_t>(pieces[i / 2] * 256 + value);
  }
  return true;
}

// The pieces on one side of "::"; how many, or -1.
int take_pieces(std::string_view text, std::uint16_t* pieces, int room) {
  if (text.empty()) return 0;
  for (int count = 0;;) {
    if (count == room) return -1;
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (colon == std::string_view::npos && part.find('.') != std::string_view::npos) {
      return room - count >= 2 && take_ipv4_tail(part, pieces + count) ? count + 2 : -1;
    }
    if (part.empty() || part.size() > 4) return -1;
    unsigned value = 0;
    for (const char c : part) {
      if (hex_value(c) < 0) return -1;
      value = value * 16 + static_cast<unsigned>(hex_value(c));
    }
    pieces[count++] = static_cast<std::uint16_t>(value);
    if (colon == std::string_view::npos) return count;
    text.remove_prefix(colon + 1);
    if (text.empty()) return -1;
  }
}

std::optional<Pieces> parse_ipv6(std::string_view text) {
  Pieces pieces{};
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (take_pieces(text, pieces.data(), 8) != 8) return std::nullopt;
    return pieces;
  }
  const std::string_view before = text.substr(0, gap);
  if (before.find('.') != std::string_view::npos) return std::nullopt;
  const int first = take_pieces(before, pieces.data(), 7);
  if (first < 0) return std::nullopt;
  Pieces tail{};
  const int last = take_pieces(text.substr(gap + 2), tail.data(), 7 - first);
  if (last < 0) return std::nullopt;
  std::copy(tail.begin(), tail.begin() + last, pieces.end() - last);
  return pieces;
}

// The longest run of at least two zeros becomes "::", the first of equals.
std::string ipv6_text(const Pieces& pieces) {
  int run_begin = -1;
  int run_size = 1;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && pieces[end] == 0) ++end;
    if (end - i > run_size) {
      run_begin = i;
      run_size = end - i;
    }
    i = end + 1;
  }
  std::string out = "[";
  for (int i = 0; i < 8; ++i) {
    if (i == run_begin) {
      out += i == 0 ? "::" : ":";
      i += run_size - 1;
      continue;
    }
    out += fmt::format("{:x}", pieces[i]);
    if (i < 7) out += ':';
  }
  return out + "]";
}

Result<std::string> parse_opaque(std::string_view text) {
  if (text.find_first_of(kForbiddenInHosts) != std::string_view::npos) return bad_host();
  std::string out;
  append_escaped(out, text, EscapeSet::Control);
  return out;
}

}  // namespace

Result<std::string> parse_host(std::string_view text, HostKind kind) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']') || text.size() < 2) return bad_host();
    const auto pieces = parse_ipv6(text.substr(1, text.size() - 2));
    if (!pieces) return bad_host();
    return ipv6_text(*pieces);
  }
  if (kind == HostKind::Opaque) return parse_opaque(text);
  const std::string domain = valid_utf8(undo_escapes(text));
  TRY_ASSIGN(std::string host, domain_to_ascii(domain));
  if (host.empty() || std::any_of(host.begin(), host.end(), is_forbidden_in_domains)) {
    return bad_host();
  }
  if (ends_in_number(host)) return parse_ipv4(host);
  return host;
}

bool is_address(std::string_view host) {
  return host.starts_with('[') || (!host.empty() && ends_in_number(host));
}

}  // namespace quern::web

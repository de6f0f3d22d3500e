#include "web/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "web/url_host.h"

namespace quern::web {
namespace {

constexpr std::size_t kAllowedHostsMax = 1000;

struct Range4 {
  std::uint32_t base;
  int bits;
};
constexpr std::uint32_t ip4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
// The special-purpose registry of IANA, and the one metadata service that has a public address.
constexpr std::array<Range4, 17> kNotPublic4 = {{
    {ip4(0, 0, 0, 0), 8},           // this network
    {ip4(10, 0, 0, 0), 8},          // private
    {ip4(100, 64, 0, 0), 10},       // carriers
    {ip4(127, 0, 0, 0), 8},         // loopback
    {ip4(168, 63, 129, 16), 32},    // metadata (Azure)
    {ip4(169, 254, 0, 0), 16},      // link-local, metadata
    {ip4(172, 16, 0, 0), 12},       // private
    {ip4(192, 0, 0, 0), 24},        // protocol assignments
    {ip4(192, 0, 2, 0), 24},        // documentation
    {ip4(192, 88, 99, 0), 24},      // 6to4 relays, no longer
    {ip4(192, 168, 0, 0), 16},      // private
    {ip4(198, 18, 0, 0), 15},       // benchmarks
    {ip4(198, 51, 100, 0), 24},     // documentation
    {ip4(203, 0, 113, 0), 24},      // documentation
    {ip4(224, 0, 0, 0), 4},         // multicast
    {ip4(240, 0, 0, 0), 4},         // reserved
    {ip4(255, 255, 255, 255), 32},  // broadcast
}};

using Bytes16 = std::array<std::uint8_t, 16>;

bool is_public4(std::uint32_t address) {
  return std::none_of(kNotPublic4.begin(), kNotPublic4.end(), [address](const Range4& range) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - range.bits);
    return (address & mask) == range.base;
  });
}

std::uint32_t inner4(const Bytes16& bytes, std::size_t at) {
  return ip4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

bool starts_with(const Bytes16& bytes, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool is_public6(const Bytes16& bytes) {
  if (starts_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) {
    const bool is_mapped = bytes[10] == 0xFF && bytes[11] == 0xFF;
    const bool is_compatible = bytes[10] == 0 && bytes[11] == 0;
    return (is_mapped || is_compatible) && is_public4(inner4(bytes, 12));
  }
  if (starts_with(bytes, {0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return is_public4(inner4(bytes, 12));  // NAT64
  }
  if ((bytes[0] & 0xE0) != 0x20) return false;  // nothing but 2000::/3 is given out
  if (starts_with(bytes, {0x20, 0x02})) return is_public4(inner4(bytes, 2));  // 6to4
  if (starts_with(bytes, {0x20, 0x01, 0, 0})) {                               // Teredo
    return is_public4(inner4(bytes, 4)) && is_public4(~inner4(bytes, 12));
  }
  if (starts_with(bytes, {0x20, 0x01}) && (bytes[2] & 0xFE) == 0) return false;  // 2001::/23
  if (starts_with(bytes, {0x20, 0x01, 0x0D, 0xB8})) return false;                // documentation
  return !(starts_with(bytes, {0x3F, 0xFF}) && (bytes[2] & 0xF0) == 0);          // 3fff::/20
}

Error bad_entry(std::string_view entry) {
  return {Errc::Invalid,
          fmt::format("allowed hosts: \"{}\" is no host, and no host with a port", entry)};
}

// An IPv6 address may stand without brackets where no port follows.
Result<std::string> parse_entry(std::string_view entry) {
  if (entry == "*") return std::string(entry);
  std::string text(entry);
  if (!text.starts_with('[') && std::count(text.begin(), text.end(), ':') > 1) {
    text = "[" + text + "]";
  }
  std::string port;
  const std::size_t colon = text.rfind(':');
  const std::size_t bracket = text.rfind(']');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    port = text.substr(colon + 1);
    text.resize(colon);
    const bool is_number = !port.empty() && port.size() <= 5 &&
                           port.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || std::stoi(port) < 1 || std::stoi(port) > 65535) return bad_entry(entry);
    port = fmt::format(":{}", std::stoi(port));
  }
  const auto host = parse_host(text, HostKind::Special);
  if (!host) return bad_entry(entry);
  return *host + port;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

bool is_public(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    return is_public4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof in);
    Bytes16 bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return is_public6(bytes);
  }
  return false;
}

std::string address_text(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof in);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
  }
  return text;
}

Result<AllowedHosts> AllowedHosts::parse(std::string_view comma_separated) {
  AllowedHosts hosts;
  while (!comma_separated.empty()) {
    const std::size_t comma = std::min(comma_separated.find(','), comma_separated.size());
    const std::string_view entry = trimmed(comma_separated.substr(0, comma));
    comma_separated.remove_prefix(std::min(comma + 1, comma_separated.size()));
    if (entry.empty()) continue;
    if (hosts.entries_.size() == kAllowedHostsMax) {
      return over_limit("allowed hosts", static_cast<std::int64_t>(kAllowedHostsMax) + 1,
                        kAllowedHostsMax, "web.allowed_hosts_max");
    }
    TRY_ASSIGN(std::string parsed, parse_entry(entry));
    hosts.entries_.push_back(std::move(parsed));
  }
  return hosts;
}

bool AllowedHosts::allows(std::string_view host, int port) const {
  if (entries_.empty()) return false;
  const auto parsed = parse_host(host, HostKind::Special);
  if (!parsed) return false;
  const std::string with_port = fmt::format("{}:{}", *parsed, port);
  return std::any_of(entries_.begin(), entries_.end(), [&](const std::string& entry) {
    return entry == "*" || entry == *parsed || entry == with_port;
  });
}

}  // namespace quern::web

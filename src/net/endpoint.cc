#include "net/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "net/head_parser.h"

namespace quern::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

Error not_an_endpoint(std::string_view text) {
  return Error{Errc::Invalid, fmt::format("'{}' is neither HOST:PORT nor unix:PATH", text)};
}

bool is_host_name(std::string_view host) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), allowed);
}

bool is_ipv6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    if (path.empty() || path.size() > kSocketPathBytesMax || path.ends_with('/') ||
        path.find('\0') != std::string_view::npos) {
      return not_an_endpoint(text);
    }
    return unix_path(std::string(path));
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return not_an_endpoint(text);
  const auto port = parse_decimal(text.substr(colon + 1));
  if (!port || *port > 65535) return not_an_endpoint(text);

  Endpoint endpoint;
  endpoint.port = static_cast<std::uint16_t>(*port);
  endpoint.host = text.substr(0, colon);
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    if (!is_ipv6(endpoint.host)) return not_an_endpoint(text);
  } else if (!is_host_name(endpoint.host)) {
    return not_an_endpoint(text);
  }
  return endpoint;
}

Endpoint Endpoint::unix_path(std::string path) {
  Endpoint endpoint;
  endpoint.kind = Kind::Unix;
  endpoint.path = std::move(path);
  return endpoint;
}

std::string Endpoint::to_string() const {
  if (kind == Kind::Unix) return std::string(kUnixPrefix) + path;
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string Endpoint::authority() const {
  return kind == Kind::Unix ? "localhost" : to_string();
}

bool Endpoint::is_local() const {
  if (kind == Kind::Unix || host == "localhost" || host == "::1") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace quern::net

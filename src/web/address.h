// Addresses: where outbound requests may go. Private, loopback, link-local, mapped, documentation,
// multicast and metadata ranges are refused unless their host is allowed by name.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::web {

// Whether it is an address of the public Internet. IPv4 in IPv6 (mapped, compatible, 6to4, NAT64,
// Teredo) is judged by the IPv4 address inside.
bool is_public(const sockaddr& address);
// "192.0.2.1", "2001:db8::1".
std::string address_text(const sockaddr& address);

// Hosts whose addresses are not asked about: "intranet.example", "127.0.0.1", "host:8080" (that
// port only), "*" (all). Invalid where an entry is none.
class AllowedHosts {
 public:
  static Result<AllowedHosts> parse(std::string_view comma_separated);
  bool allows(std::string_view host, int port) const;
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace quern::web

// Hosts of addresses, as the URL standard reads and writes them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::web {

enum class HostKind { Special, Opaque };  // of http and the like; of any other scheme

// The host as it is serialized. Invalid where it is none.
Result<std::string> parse_host(std::string_view text, HostKind kind);
// Whether a serialized host is an IPv4 or IPv6 address.
bool is_address(std::string_view host);

}  // namespace quern::web

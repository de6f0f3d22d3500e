// Endpoint: where a server listens or a client connects: TCP host and port, or a Unix socket's
// path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::net {

// PATH_MAX of Linux, less the NUL.
inline constexpr std::size_t kSocketPathBytesMax = 4095;

// Where a connection comes from.
enum class PeerKind { TcpLoopback, TcpOther, Unix };

struct Endpoint {
  enum class Kind { Tcp, Unix };
  Kind kind = Kind::Tcp;
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  std::string path;

  // "127.0.0.1:8080", "[::1]:0", "example.org:80", "unix:/path". Invalid otherwise.
  static Result<Endpoint> parse(std::string_view text);
  static Endpoint unix_path(std::string path);

  // parse() reads it back.
  std::string to_string() const;
  // For the Host header of a client.
  std::string authority() const;
  // Whether only processes of this machine can reach it: Unix, 127/8, ::1, "localhost".
  bool is_local() const;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace quern::net

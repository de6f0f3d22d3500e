// PostgreSQL's wire protocol, version 3, as far as tests look into it: messages and statement
// texts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quern::support {

inline constexpr std::size_t kPgMessageBytesMax = 256 * 1024 * 1024;

enum class PgStart : std::uint32_t {
  Session = 196608,  // protocol 3.0
  Cancel = 80877102,
  Tls = 80877103,
  Gss = 80877104,
};

struct PgMessage {
  char type = 0;      // 0: one of the untyped messages at the beginning
  std::string bytes;  // all of it, as it came

  // Of an untyped message.
  PgStart start() const;
  // What follows type and length.
  std::string_view body() const;
};

// Cuts a stream of bytes into messages.
class PgSplitter {
 public:
  enum class Side { Client, Server };  // a client's first message has no type
  explicit PgSplitter(Side side) : is_typed_(side == Side::Server) {}

  void append(std::string_view bytes) { pending_ += bytes; }
  // The next whole message, if it has come.
  std::optional<PgMessage> next();

 private:
  bool is_typed_;
  std::string pending_;
};

// The texts of a session's prepared statements.
class PgStatements {
 public:
  // The text that this message of the client runs: of a simple query, or of the statement that a
  // Bind names. Nothing for any other message.
  std::optional<std::string> text_run_by(const PgMessage& message);

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

// Whether the server answers this message with one ReadyForQuery of its own.
bool ends_with_ready(const PgMessage& message);

}  // namespace quern::support

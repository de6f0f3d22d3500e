// Error kinds: why a file could not become more, for programs. The sentence beside it is for
// people.
//
// The texts are stored and seen from outside (worker protocol, API, `quern errors`): they never
// change.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace quern::model {

enum class ErrorKind {
  Unhandled,    // no step takes files of this type
  Canceled,     // the job was canceled before its turn
  Encrypted,    // it opens with a password only
  Corrupt,      // damaged or cut short
  Unsupported,  // a known type that this installation cannot read
  TooLarge,     // a limit on bytes
  TooDeep,      // a limit on generations
  TooMany,      // a limit on members or files
  Ratio,        // a member expands beyond reason
  Timeout,      // it took longer than it may
  OutOfMemory,  // it needed more than it may
  Crash,        // the converter died of it
  Protocol,     // the worker broke the rules of the protocol
  Fetch,        // it could not be fetched
  Internal,     // ours to mend
};

inline constexpr std::array kErrorKinds = {
    ErrorKind::Unhandled,   ErrorKind::Canceled, ErrorKind::Encrypted,   ErrorKind::Corrupt,
    ErrorKind::Unsupported, ErrorKind::TooLarge, ErrorKind::TooDeep,     ErrorKind::TooMany,
    ErrorKind::Ratio,       ErrorKind::Timeout,  ErrorKind::OutOfMemory, ErrorKind::Crash,
    ErrorKind::Protocol,    ErrorKind::Fetch,    ErrorKind::Internal};

// "out_of_memory".
std::string_view to_string(ErrorKind kind);
std::optional<ErrorKind> parse_error_kind(std::string_view text);

// What a worker may say of a file. Unhandled and Canceled are the server's alone; whatever else it
// says, and what we do not know, is Internal.
ErrorKind worker_error_kind(std::string_view text);

}  // namespace quern::model

#include "model/error_kind.h"

#include <algorithm>

namespace quern::model {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unhandled:
      return "unhandled";
    case ErrorKind::Canceled:
      return "canceled";
    case ErrorKind::Encrypted:
      return "encrypted";
    case ErrorKind::Corrupt:
      return "corrupt";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::TooLarge:
      return "too_large";
    case ErrorKind::TooDeep:
      return "too_deep";
    case ErrorKind::TooMany:
      return "too_many";
    case ErrorKind::Ratio:
      return "ratio";
    case ErrorKind::Timeout:
      return "timeout";
    case ErrorKind::OutOfMemory:
      return "out_of_memory";
    case ErrorKind::Crash:
      return "crash";
    case ErrorKind::Protocol:
      return "protocol";
    case ErrorKind::Fetch:
      return "fetch";
    case ErrorKind::Internal:
      return "internal";
  }
  return "internal";
}

std::optional<ErrorKind> parse_error_kind(std::string_view text) {
  const auto* found =
      std::ranges::find_if(kErrorKinds, [text](ErrorKind kind) { return to_string(kind) == text; });
  if (found == kErrorKinds.end()) return std::nullopt;
  return *found;
}

ErrorKind worker_error_kind(std::string_view text) {
  const ErrorKind kind = parse_error_kind(text).value_or(ErrorKind::Internal);
  const bool is_ours = kind == ErrorKind::Unhandled || kind == ErrorKind::Canceled;
  return is_ours ? ErrorKind::Internal : kind;
}

}  // namespace quern::model

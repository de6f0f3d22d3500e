#include "io/system_error.h"

#include <fmt/format.h>
#include <string.h>

#include <cerrno>

namespace quern::io {

Errc kind_of_errno(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return Errc::Full;
    case ENOENT:
      return Errc::Missing;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::Denied;
    case EEXIST:
    case ENOTEMPTY:
      return Errc::Conflict;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return Errc::Busy;
    // The device failed to answer. Whether the bytes on it are still what was written is not known,
    // so this is not Corrupt; what reads them again later may find them well.
    case EIO:
      return Errc::Unavailable;
    case ETIMEDOUT:
      return Errc::Timeout;
    case EFBIG:
      return Errc::TooLarge;
    // The name cannot be that of such a file: whoever gave it must give another.
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return Errc::Invalid;
    default:
      return Errc::Internal;
  }
}

Error system_error(int error_number, std::string_view doing) {
  const char* description = ::strerrordesc_np(error_number);
  if (description == nullptr) description = "unknown error";
  return Error{kind_of_errno(error_number), fmt::format("{}: {}", doing, description)};
}

}  // namespace quern::io

// errno as an Error: the one table that says what a failed system call means to a caller.
#pragma once

#include <string_view>

#include "base/result.h"

namespace quern::io {

Errc kind_of_errno(int error_number);

// system_error(errno, "open /data/a") reads "open /data/a: No space left on device".
Error system_error(int error_number, std::string_view doing);

}  // namespace quern::io

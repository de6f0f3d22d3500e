#include "worker/mupdf_call.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace quern::worker {

Failure mupdf_failure(fz_context* ctx, int code, const std::string& what) {
  const std::string message = valid_utf8(::fz_caught_message(ctx));
  if (code == FZ_ERROR_MEMORY) {
    return {model::ErrorKind::OutOfMemory, fmt::format("{} needs more memory than it may", what)};
  }
  return {model::ErrorKind::Corrupt, fmt::format("{} cannot be read: {}", what, message)};
}

}  // namespace quern::worker

// Calls of MuPDF, whose errors are jumps.
#pragma once

#include <mupdf/fitz.h>

#include <string>

#include "worker/limits.h"

namespace quern::worker {

// Runs the action and says how it ended: FZ_ERROR_NONE, or the kind of error. Nothing that has a
// destructor may be made in it: a jump leaves it out.
//
// Never inlined, so that what the action changes lies in memory and not in a register.
template <typename Action>
[[gnu::noinline]] int mupdf_call(fz_context* ctx, const Action& action) {
  int code = FZ_ERROR_NONE;
  fz_var(code);
  fz_try(ctx) {
    action();
  }
  fz_catch(ctx) {
    code = ::fz_caught(ctx) == FZ_ERROR_NONE ? FZ_ERROR_GENERIC : ::fz_caught(ctx);
  }
  return code;
}

// After a call that failed: not enough memory, or damaged, in MuPDF's words.
Failure mupdf_failure(fz_context* ctx, int code, const std::string& what);

}  // namespace quern::worker

// The one MuPDF context of this process, which has one thread.
#pragma once

struct fz_context;

namespace quern::worker {

fz_context* mupdf_context();

}  // namespace quern::worker

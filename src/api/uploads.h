// /api/v1/uploads: files that come in pieces and may go on after either side died (tus 1.0).
//
// docs/http-api.md tells what clients see; tree/upload.h and api/upload_folder.h what is promised.
#pragma once

#include <memory>

#include "api/service.h"

namespace quern::api {

// For the start of a node that works: uploads that had all their bytes are finished, those that
// nobody goes on with and files that nobody needs go. It only begins that, on the pool: a large
// file takes its time. On the loop's thread, before the first request is served.
Result<> recover_uploads(std::shared_ptr<const Parts> parts);

}  // namespace quern::api

// The bytes of files of datasets.
#pragma once

#include <memory>

#include "api/router.h"

namespace quern::api {

struct Parts;

void add_fileset_bytes_route(Router& router, std::shared_ptr<const Parts> parts);

}  // namespace quern::api

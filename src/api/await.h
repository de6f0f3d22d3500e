// The awaits of queue/await.h, under the names that handlers use.
#pragma once

#include "queue/await.h"

namespace quern::api {

using queue::offload;
using queue::read;
using queue::write;

}  // namespace quern::api

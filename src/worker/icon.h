// Icons (.ico, .cur): the largest of the pictures in one, as a PNG or a BMP.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/limits.h"

namespace quern::worker {

bool is_icon(std::string_view bytes);
std::optional<Failure> from_icon(std::string_view bytes, std::string& picture);

}  // namespace quern::worker

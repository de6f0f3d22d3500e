// Base64 as RFC 4648 has it, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

std::string base64_encoded(std::string_view bytes);
// Nothing where it is none.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace quern::worker

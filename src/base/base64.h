// Base64 (RFC 4648, the alphabet with '+' and '/', padded): bytes to text and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern {

std::string base64_encoded(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
// nullopt where it is not exactly what base64_encoded() writes for some bytes.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace quern

// S/MIME: what a signed message holds. Signatures are not judged: the sender's certificate is
// nobody's here.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "worker/limits.h"

namespace quern::worker {

// The MIME entity that was signed, or why there is none (Encrypted, Corrupt).
std::variant<std::string, Failure> signed_content(std::string_view cms);

}  // namespace quern::worker

// IDNA: a domain name in the letters of the DNS, as the URL standard asks (UTS #46, not
// transitional, lenient).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::web {

// Of a name that is not ASCII: ICU's time grows with the square of a label.
inline constexpr std::size_t kDomainBytesMax = 16 * 1024;

// "xn--bcher-kva.example" of "Bücher.example". Invalid where a character may not stand in a name.
// What is ASCII already is only put in lower case: names that break the rules are in use.
Result<std::string> domain_to_ascii(std::string_view utf8);

}  // namespace quern::web

#include "web/idna.h"

#include <unicode/uidna.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "web/url_escape.h"

namespace quern::web {
namespace {

// What the standard does not ask for when it is lenient: lengths and hyphens.
constexpr std::uint32_t kForgiven = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                                    UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                                    UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;

const UIDNA* open_idna() {
  UErrorCode error = U_ZERO_ERROR;
  const UIDNA* idna = uidna_openUTS46(
      UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII, &error);
  CHECK(U_SUCCESS(error));
  return idna;
}

// What Unicode 15.1 and 16 changed in the mapping: the library may know an older one. Characters
// that were refused have a small letter now, or are passed over. 0: passed over.
UChar32 newer_mapping(UChar32 c) {
  if ((c >= 0x10A0 && c <= 0x10C5) || c == 0x10C7 || c == 0x10CD) return c + 0x1C60;
  if ((c >= 0x206A && c <= 0x206F) || (c >= 0x1D173 && c <= 0x1D17A)) return 0;
  switch (c) {
    case 0x04C0:
      return 0x04CF;
    case 0x1E9E:
      return 0x00DF;
    case 0x2132:
      return 0x214E;
    case 0x2183:
      return 0x2184;
    case 0x2F868:
      return 0x36FC;
    case 0x2F874:
      return 0x5F53;
    case 0x2F91F:
      return 0x243AB;
    case 0x2F95F:
      return 0x7AEE;
    case 0x2F9BF:
      return 0x45D7;
    case 0x115F:
    case 0x1160:
    case 0x17B4:
    case 0x17B5:
    case 0x180E:
    case 0x3164:
    case 0xFFA0:
      return 0;
    default:
      return c;
  }
}

std::string with_newer_mapping(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  const auto size = static_cast<std::int32_t>(utf8.size());
  for (std::int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(utf8.data(), at, size, c);
    const bool was_nothing = c == 0;
    c = newer_mapping(c);
    if (c == 0 && !was_nothing) continue;
    std::uint8_t bytes[U8_MAX_LENGTH];
    std::int32_t length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  }
  return out;
}

}  // namespace

Result<std::string> domain_to_ascii(std::string_view utf8) {
  const bool is_ascii = std::all_of(utf8.begin(), utf8.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return to_lower(utf8);
  if (utf8.size() > kDomainBytesMax) return Error{Errc::Invalid, "the domain name is too long"};

  static const UIDNA* const idna = open_idna();  // for ever; safe from any thread
  const std::string name = with_newer_mapping(utf8);
  std::string out(name.size() * 4 + 64, '\0');
  for (int attempt = 0; attempt < 2; ++attempt) {
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    UErrorCode error = U_ZERO_ERROR;
    const std::int32_t size =
        uidna_nameToASCII_UTF8(idna, name.data(), static_cast<std::int32_t>(name.size()),
                               out.data(), static_cast<std::int32_t>(out.size()), &info, &error);
    if (error == U_BUFFER_OVERFLOW_ERROR) {
      out.resize(static_cast<std::size_t>(size));
      continue;
    }
    if (U_FAILURE(error) || (info.errors & ~kForgiven) != 0) break;
    out.resize(static_cast<std::size_t>(size));
    return out;
  }
  return Error{Errc::Invalid, "the domain name has characters that may not stand there"};
}

}  // namespace quern::web

// Digests as web archives write them: "sha1:" and base 32. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "blob/digest.h"

namespace quern::web {

// RFC 4648, in upper case, padded with "=".
std::string base32_encoded(std::string_view bytes);
// "sha1:…" of the 20 bytes.
std::string sha1_label(std::string_view raw);

// What somebody wrote: "sha1:…", "sha256:…" or "sha-256:…", in base 32, hex or either base 64.
struct NamedDigest {
  blob::Digest::Kind kind = blob::Digest::Kind::Sha1;
  std::string value;

  bool equals(std::string_view raw) const;
};
// Nothing where the algorithm is not one of ours.
std::optional<NamedDigest> parse_digest(std::string_view text);

}  // namespace quern::web

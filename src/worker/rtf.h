// RTF as mails have it: compressed (MS-OXRTFCP), and often HTML in disguise (MS-OXRTFEX). Pure but
// for the charset tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

// Nothing where it is none.
std::optional<std::string> decompressed_rtf(std::string_view bytes);

struct RtfBody {
  enum class Kind { Text, Html } kind = Kind::Text;
  std::string text;  // UTF-8
};
// The HTML where it is HTML in disguise, else the words.
RtfBody read_rtf(std::string_view rtf);

}  // namespace quern::worker

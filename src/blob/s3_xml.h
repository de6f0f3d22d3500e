// The XML of S3's answers, as far as we read it: the texts of elements by name. Pure.
//
// Answers come from a server that we chose and are bounded; what does not look as expected yields
// nothing rather than an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::blob {

// What stands between <name> and </name>, each time, as it stands there.
std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
// The text of the first one, unescaped; empty where there is none.
std::string xml_text(std::string_view xml, std::string_view name);
std::string xml_escaped(std::string_view text);

}  // namespace quern::blob

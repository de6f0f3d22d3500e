// What an XML document says: its characters without the marks around them.
#pragma once

#include <string>
#include <string_view>

namespace quern {

// Whether it begins as XML does.
bool begins_as_xml(std::string_view text);

// Tags and instructions become blanks, references what they stand for; comments and CDATA stay.
// Nothing is fetched, and no entity of the document's own is expanded. Pure; valid UTF-8 stays so.
std::string xml_text(std::string_view xml);

}  // namespace quern

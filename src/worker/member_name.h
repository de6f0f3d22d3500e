// Names of archive members: made UTF-8, relative and plain. Pure but for the charset tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

// The charset of names that are no UTF-8, guessed from all of them together: a short name alone
// says little. Always one that to_utf8() knows.
std::string charset_of_names(const std::vector<std::string>& names);

// As UTF-8: unchanged where it is valid, else from that charset.
std::string decoded_name(std::string_view raw, const std::string& charset);

// "../../etc//passwd" and "/etc/./passwd" become "etc/passwd": no name leads out of its folder.
// Empty where nothing is left.
std::string plain_name(std::string_view name);

// What is inside "a/b.txt.gz": "b.txt". Of a name without a known suffix, the name itself.
std::string name_inside(std::string_view filename);

}  // namespace quern::worker

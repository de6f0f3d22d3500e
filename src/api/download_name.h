// The name under which a browser saves what it downloads: Content-Disposition of RFC 6266. Pure.
//
// Guarantee: whatever a file is called, the header is one header, and the name is one component of
// a path that looks like what it is: no control characters, no slashes, no marks that turn the
// direction of writing around, at most kDownloadNameBytesMax bytes.
#pragma once

#include <string>
#include <string_view>

namespace quern::api {

inline constexpr std::size_t kDownloadNameBytesMax = 200;

// The last component of a file's name, made harmless, with `ending` unless it ends so already.
std::string download_name(std::string_view filename, std::string_view ending = "");
// attachment; filename="ascii"; filename*=UTF-8''all
std::string attachment(std::string_view download_name);

}  // namespace quern::api

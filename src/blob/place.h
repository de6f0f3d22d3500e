// Places: the names under which large blobs lie, ID-NAME/NNN/NNNNNN. Pure.
//
// The session's id and random name make them unique for ever, also where two databases share a
// bucket by mistake, or one was restored from an older copy. A folder holds a thousand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::blob {

std::string session_name(std::int64_t id, std::string_view name);
// The number grows from 0.
std::string place_name(std::string_view session, std::int64_t number);
bool is_session(std::string_view text);
bool is_place(std::string_view text);

}  // namespace quern::blob

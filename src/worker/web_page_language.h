// In which language a text is, where its letters or its small words leave no doubt.
#pragma once

#include <string>
#include <string_view>

namespace quern::worker {

// As much of a text as is looked at.
inline constexpr std::size_t kLanguageBytesMax = 32 * 1024;

// "de"; "" where it is too short, or could be several.
std::string language_of(std::string_view text);

}  // namespace quern::worker

// What sound looks like: by its type, its name, its first bytes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quern::research {

inline constexpr std::size_t kSoundHeadBytes = 4096;  // of a file: enough for sound_type_of()

// How likely something offered is sound, by the type that was said and the address: 3 sound, 2 a
// film (which has sound), 1 nobody knows, 0 something else.
int sound_rank(std::string_view type, std::string_view url);
// Whether a file of that name may be sound or a film.
bool has_sound_suffix(std::string_view name);

// "audio/mpeg" of these first bytes; "" where they are none that we know.
std::string sound_type_of(std::string_view head);
// What something is called that is no sound, for people: "a web page", "a picture", …; "" where
// nobody knows what it is.
std::string_view not_sound(std::string_view head);

}  // namespace quern::research

// The document that a sound is to its reader: its shape, what it is, its tags and chapters. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker/sound_file.h"

namespace quern::worker {

using SoundFields = std::vector<std::pair<std::string, std::string>>;
// "Duration", "Codec", ... and the tags: for the metadata and for the text.
SoundFields sound_fields(const SoundInfo& info);
std::string sound_text(const SoundInfo& info);
// With the shape on its first page.
std::string sound_pdf(const SoundInfo& info, const std::string& text, std::size_t pages_max);
// The shape alone, for the thumbnail.
std::string shape_pdf(const SoundInfo& info);
// "1:02:03".
std::string clock_text(double seconds);

}  // namespace quern::worker

// Thumbnails: the first page of a PDF as a small JPEG, by MuPDF.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

inline constexpr int kThumbnailPixels = 320;  // on the long side

// Loads MuPDF, its fonts and its glyphs, so that forks have them.
void warm_thumbnails(std::string_view sample_pdf);

// Nothing where the page cannot be drawn.
std::optional<std::string> thumbnail_of(std::string_view pdf);

}  // namespace quern::worker

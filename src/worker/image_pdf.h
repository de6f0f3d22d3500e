// Pictures as pages of a PDF: one for each picture that the file holds. JPEGs go in as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/laid_out_pdf.h"

namespace quern::worker {

// Bytes of a drawing (SVG) once it is unpacked.
inline constexpr std::size_t kDrawingBytesMax = 64 << 20;

// `type` as detected: only of drawings it is believed.
std::optional<Failure> image_pdf(std::string_view bytes, std::string_view type, int pages_max,
                                 LaidOut& laid_out);

}  // namespace quern::worker

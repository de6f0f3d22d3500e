// Pictures in formats that MuPDF does not read (WebP, HEIF, AVIF, JPEG XL, icons) become some that
// it does; the others stay as they are.
//
// Their size is looked at before any memory is taken for it. No library here starts a thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/limits.h"

namespace quern::worker {

// Width times height of a picture that is read at all.
inline constexpr std::uint64_t kPixelsMax = 200'000'000;
// JPEG's own limit is a little higher.
inline constexpr std::uint64_t kSideMax = 65'000;

struct Picture {
  std::string_view bytes;  // of the input, or of `converted`
  std::string converted;
};

// The failure says `too_large`, `corrupt` or `unsupported`.
std::optional<Failure> to_known_picture(std::string_view bytes, Picture& picture);

// Nothing where the picture may be read.
std::optional<Failure> judge_size(std::uint64_t width, std::uint64_t height);

}  // namespace quern::worker

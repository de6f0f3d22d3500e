// Thumbnails: a page as a small JPEG, by MuPDF. In colour where the page has any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <mupdf/fitz.h>

namespace quern::worker {

// On the long side: of plain text, and of pages that were laid out by somebody.
inline constexpr int kThumbnailPixels = 320;
inline constexpr int kPageThumbnailPixels = 700;

// Loads MuPDF, its fonts and its glyphs, so that forks have them.
void warm_thumbnails(std::string_view sample_pdf);

// Of the first page. Nothing where the page cannot be drawn.
std::optional<std::string> thumbnail_of(std::string_view pdf, int pixels = kThumbnailPixels);
// Drawing ends early where the cookie says so.
std::optional<std::string> thumbnail_of_page(fz_page* page, int pixels, fz_cookie* cookie);

// Rows of pixels, without gaps between a pixel's bytes: 1 for gray, 3 for red, green and blue.
struct PixelRows {
  const unsigned char* samples;
  int width;
  int height;
  std::ptrdiff_t stride;
  int components;
};
inline constexpr int kThumbnailQuality = 75;
std::string jpeg_of(const PixelRows& pixels, int quality = kThumbnailQuality);

}  // namespace quern::worker

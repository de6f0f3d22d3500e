#include "worker/thumbnail.h"

#include <mupdf/fitz.h>

// Before jpeglib.h, which wants FILE.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"

namespace quern::worker {
namespace {

constexpr int kColours = 3;

// What a call of MuPDF makes on its way.
struct Drawing {
  fz_pixmap* pixmap = nullptr;
  fz_device* device = nullptr;
};

fz_irect box_of(fz_rect bounds, float scale, int pixels) {
  const float width = std::clamp((bounds.x1 - bounds.x0) * scale, 1.0F, float(pixels));
  const float height = std::clamp((bounds.y1 - bounds.y0) * scale, 1.0F, float(pixels));
  return {0, 0, static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height))};
}

int draw(fz_context* ctx, fz_page* page, int pixels, fz_cookie* cookie, Drawing& drawing) {
  const int code = mupdf_call(ctx, [&] {
    const fz_rect bounds = ::fz_bound_page(ctx, page);
    const float longer = fz_max(bounds.x1 - bounds.x0, bounds.y1 - bounds.y0);
    const float scale = longer > 0 ? float(pixels) / longer : 1;
    const fz_irect box = box_of(bounds, scale, pixels);
    drawing.pixmap = ::fz_new_pixmap_with_bbox(ctx, ::fz_device_rgb(ctx), box, nullptr, 0);
    ::fz_clear_pixmap_with_value(ctx, drawing.pixmap, 0xFF);
    const fz_matrix move = ::fz_translate(-bounds.x0, -bounds.y0);
    drawing.device =
        ::fz_new_draw_device(ctx, ::fz_concat(move, ::fz_scale(scale, scale)), drawing.pixmap);
    ::fz_run_page(ctx, page, drawing.device, fz_identity, cookie);
    ::fz_close_device(ctx, drawing.device);
  });
  ::fz_drop_device(ctx, drawing.device);
  return code;
}

bool is_gray(const PixelRows& pixels) {
  for (int y = 0; y < pixels.height; ++y) {
    const unsigned char* at = pixels.samples + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, at += kColours) {
      if (at[0] != at[1] || at[1] != at[2]) return false;
    }
  }
  return true;
}

std::string gray_jpeg_of(const PixelRows& pixels, int quality) {
  std::vector<unsigned char> gray;
  gray.reserve(static_cast<std::size_t>(pixels.width) * static_cast<std::size_t>(pixels.height));
  for (int y = 0; y < pixels.height; ++y) {
    const unsigned char* at = pixels.samples + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, at += kColours) gray.push_back(*at);
  }
  return jpeg_of({gray.data(), pixels.width, pixels.height, pixels.width, 1}, quality);
}

}  // namespace

// libjpeg's default is to end the process, which a box may do.
std::string jpeg_of(const PixelRows& pixels, int quality) {
  if (pixels.components == kColours && is_gray(pixels)) return gray_jpeg_of(pixels, quality);
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = ::jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_width = static_cast<JDIMENSION>(pixels.width);
  jpeg.image_height = static_cast<JDIMENSION>(pixels.height);
  jpeg.input_components = pixels.components;
  jpeg.in_color_space = pixels.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  ::jpeg_set_defaults(&jpeg);
  ::jpeg_set_quality(&jpeg, quality, TRUE);
  ::jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.samples + jpeg.next_scanline * pixels.stride);
    ::jpeg_write_scanlines(&jpeg, &row, 1);
  }
  ::jpeg_finish_compress(&jpeg);
  ::jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(out), size);
  std::free(out);
  return bytes;
}

void warm_thumbnails(std::string_view sample_pdf) {
  static_cast<void>(thumbnail_of(sample_pdf));
}

std::optional<std::string> thumbnail_of(std::string_view pdf, int pixels) {
  fz_context* const ctx = mupdf_context();
  fz_stream* stream = nullptr;
  fz_document* document = nullptr;
  fz_page* page = nullptr;
  const int code = mupdf_call(ctx, [&] {
    stream = ::fz_open_memory(ctx, reinterpret_cast<const unsigned char*>(pdf.data()), pdf.size());
    document = ::fz_open_document_with_stream(ctx, "application/pdf", stream);
    page = ::fz_load_page(ctx, document, 0);
  });
  std::optional<std::string> jpeg;
  if (code == FZ_ERROR_NONE) jpeg = thumbnail_of_page(page, pixels, nullptr);
  ::fz_drop_page(ctx, page);
  ::fz_drop_document(ctx, document);
  ::fz_drop_stream(ctx, stream);
  return jpeg;
}

std::optional<std::string> thumbnail_of_page(fz_page* page, int pixels, fz_cookie* cookie) {
  fz_context* const ctx = mupdf_context();
  Drawing drawing;
  const int code = draw(ctx, page, pixels, cookie, drawing);
  if (code != FZ_ERROR_NONE) {
    ::fz_drop_pixmap(ctx, drawing.pixmap);
    return std::nullopt;
  }
  fz_pixmap* const pixmap = drawing.pixmap;
  std::string jpeg =
      jpeg_of({::fz_pixmap_samples(ctx, pixmap), ::fz_pixmap_width(ctx, pixmap),
               ::fz_pixmap_height(ctx, pixmap), ::fz_pixmap_stride(ctx, pixmap), kColours});
  ::fz_drop_pixmap(ctx, pixmap);
  return jpeg;
}

}  // namespace quern::worker

#include "worker/thumbnail.h"

#include <mupdf/fitz.h>

// Before jpeglib.h, which wants FILE.
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "worker/mupdf_context.h"

namespace quern::worker {
namespace {

constexpr int kQuality = 75;

// MuPDF's errors are jumps: nothing with a destructor may stand in here.
fz_pixmap* draw(fz_context* ctx, const unsigned char* bytes, std::size_t size) {
  fz_stream* stream = nullptr;
  fz_document* document = nullptr;
  fz_page* page = nullptr;
  fz_pixmap* pixmap = nullptr;
  fz_var(stream);
  fz_var(document);
  fz_var(page);
  fz_var(pixmap);
  fz_try(ctx) {
    stream = ::fz_open_memory(ctx, bytes, size);
    document = ::fz_open_document_with_stream(ctx, "application/pdf", stream);
    page = ::fz_load_page(ctx, document, 0);
    const fz_rect bounds = ::fz_bound_page(ctx, page);
    const float longer = fz_max(bounds.x1 - bounds.x0, bounds.y1 - bounds.y0);
    const float scale = longer > 0 ? kThumbnailPixels / longer : 1;
    pixmap = ::fz_new_pixmap_from_page(ctx, page, ::fz_scale(scale, scale), fz_device_gray(ctx), 0);
  }
  fz_always(ctx) {
    ::fz_drop_page(ctx, page);
    ::fz_drop_document(ctx, document);
    ::fz_drop_stream(ctx, stream);
  }
  fz_catch(ctx) {
    ::fz_drop_pixmap(ctx, pixmap);
    return nullptr;
  }
  return pixmap;
}

// libjpeg's default is to end the process, which a box may do.
std::string jpeg_of(const unsigned char* samples, int width, int height, std::ptrdiff_t stride) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = ::jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = 1;
  jpeg.in_color_space = JCS_GRAYSCALE;
  ::jpeg_set_defaults(&jpeg);
  ::jpeg_set_quality(&jpeg, kQuality, TRUE);
  ::jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(samples + jpeg.next_scanline * stride);
    ::jpeg_write_scanlines(&jpeg, &row, 1);
  }
  ::jpeg_finish_compress(&jpeg);
  ::jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(out), size);
  std::free(out);
  return bytes;
}

}  // namespace

void warm_thumbnails(std::string_view sample_pdf) {
  static_cast<void>(thumbnail_of(sample_pdf));
}

std::optional<std::string> thumbnail_of(std::string_view pdf) {
  fz_context* ctx = mupdf_context();
  fz_pixmap* pixmap = draw(ctx, reinterpret_cast<const unsigned char*>(pdf.data()), pdf.size());
  if (pixmap == nullptr) return std::nullopt;
  std::string jpeg = jpeg_of(::fz_pixmap_samples(ctx, pixmap), ::fz_pixmap_width(ctx, pixmap),
                             ::fz_pixmap_height(ctx, pixmap), ::fz_pixmap_stride(ctx, pixmap));
  ::fz_drop_pixmap(ctx, pixmap);
  return jpeg;
}

}  // namespace quern::worker

#include "worker/laid_out_pdf.h"

#include <fmt/format.h>
#include <mupdf/pdf.h>

#include <algorithm>

#include "worker/cpu_alarm.h"
#include "worker/glyph_use.h"
#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

// A PDF under way, and what a call of MuPDF makes for a page of it.
struct Writing {
  pdf_document* pdf = nullptr;
  fz_page* page = nullptr;
  fz_device* device = nullptr;
  pdf_obj* resources = nullptr;
  fz_buffer* contents = nullptr;
  pdf_obj* added = nullptr;
  fz_cookie cookie{};
  GlyphUse* use = nullptr;
};

void drop_page(fz_context* ctx, Writing& writing) {
  ::fz_drop_page(ctx, writing.page);
  ::fz_drop_device(ctx, writing.device);
  ::pdf_drop_obj(ctx, writing.resources);
  ::fz_drop_buffer(ctx, writing.contents);
  ::pdf_drop_obj(ctx, writing.added);
  writing.page = nullptr;
  writing.device = nullptr;
  writing.resources = nullptr;
  writing.contents = nullptr;
  writing.added = nullptr;
}

int write_page(fz_context* ctx, fz_document* document, int number, Writing& writing) {
  const CpuAlarm alarm(kPageDrawMs, &writing.cookie.abort);
  const int code = mupdf_call(ctx, [&] {
    writing.page = ::fz_load_page(ctx, document, number);
    const fz_rect box = ::fz_bound_page(ctx, writing.page);
    writing.device = ::pdf_page_write(ctx, writing.pdf, box, &writing.resources, &writing.contents);
    ::fz_run_page(ctx, writing.page, writing.device, fz_identity, &writing.cookie);
    ::fz_close_device(ctx, writing.device);
    ::fz_drop_device(ctx, writing.device);
    writing.device = nullptr;
    writing.use->add(ctx, writing.page, &writing.cookie);
    writing.added = ::pdf_add_page(ctx, writing.pdf, box, 0, writing.resources, writing.contents);
    ::pdf_insert_page(ctx, writing.pdf, -1, writing.added);
  });
  drop_page(ctx, writing);
  return code;
}

int save(fz_context* ctx, pdf_document* pdf, std::string& bytes) {
  fz_buffer* buffer = nullptr;
  fz_output* output = nullptr;
  const int code = mupdf_call(ctx, [&] {
    pdf_write_options options = pdf_default_write_options;
    options.do_garbage = 1;
    options.do_compress = 1;
    options.do_compress_fonts = 1;
    options.do_compress_images = 1;
    buffer = ::fz_new_buffer(ctx, 1 << 16);
    output = ::fz_new_output_with_buffer(ctx, buffer);
    ::pdf_write_document(ctx, pdf, output, &options);
    ::fz_close_output(ctx, output);
  });
  if (code == FZ_ERROR_NONE) {
    bytes.assign(reinterpret_cast<const char*>(buffer->data), buffer->len);
  }
  ::fz_drop_output(ctx, output);
  ::fz_drop_buffer(ctx, buffer);
  return code;
}

}  // namespace

std::optional<Failure> laid_out_pdf(const PdfDocument& document, int pages_max, LaidOut& laid_out) {
  fz_context* const ctx = mupdf_context();
  GlyphUse use;
  Writing writing;
  writing.use = &use;
  int code = mupdf_call(ctx, [&] { writing.pdf = ::pdf_create_document(ctx); });
  laid_out.pages = std::min(document.pages(), pages_max);
  laid_out.was_cut = document.pages() > pages_max;
  for (int i = 0; i < laid_out.pages && code == FZ_ERROR_NONE && writing.cookie.abort == 0; ++i) {
    code = write_page(ctx, document.get(), i, writing);
  }
  if (code == FZ_ERROR_NONE) use.shrink_fonts(ctx, writing.pdf);
  if (code == FZ_ERROR_NONE) code = save(ctx, writing.pdf, laid_out.pdf);
  ::pdf_drop_document(ctx, writing.pdf);
  if (writing.cookie.abort != 0) return Failure{ErrorKind::Timeout, "a page takes too long"};
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "its layout");
  return std::nullopt;
}

}  // namespace quern::worker

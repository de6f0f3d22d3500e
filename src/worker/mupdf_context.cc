#include "worker/mupdf_context.h"

#include <mupdf/fitz.h>

#include <initializer_list>
#include <new>

// In the library, but in no header of it.
extern "C" {
extern fz_document_handler pdf_document_handler;
extern fz_document_handler xhtml_document_handler;
extern fz_document_handler epub_document_handler;
extern fz_document_handler fb2_document_handler;
extern fz_document_handler mobi_document_handler;
extern fz_document_handler xps_document_handler;
extern fz_document_handler cbz_document_handler;
extern fz_document_handler img_document_handler;
extern fz_document_handler svg_document_handler;
}

namespace quern::worker {
namespace {

constexpr std::size_t kStoreBytes = 64 * 1024 * 1024;

fz_context* make_context() {
  fz_context* context = ::fz_new_context(nullptr, nullptr, kStoreBytes);
  if (context == nullptr) throw std::bad_alloc();
  for (const fz_document_handler* handler :
       {&pdf_document_handler, &xhtml_document_handler, &epub_document_handler,
        &fb2_document_handler, &mobi_document_handler, &xps_document_handler, &cbz_document_handler,
        &img_document_handler, &svg_document_handler}) {
    ::fz_register_document_handler(context, handler);
  }
  return context;
}

}  // namespace

fz_context* mupdf_context() {
  static fz_context* const context = make_context();
  return context;
}

}  // namespace quern::worker

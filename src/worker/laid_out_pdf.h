// What MuPDF lays out (web pages, books) as a PDF.
//
// The same input gives the same bytes. Errors: as PdfDocument's; Timeout where a page takes too
// long.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/pdf_document.h"

namespace quern::worker {

struct LaidOut {
  std::string pdf;
  int pages = 0;
  bool was_cut = false;  // after pages_max
};

std::optional<Failure> laid_out_pdf(const PdfDocument& document, int pages_max, LaidOut& laid_out);

}  // namespace quern::worker

// Opening a PDF as it is, or as it can be mended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worker/pdf_document.h"

namespace quern::worker {

struct OpenPdf {
  std::string_view bytes;  // of the input, or of `mended`
  std::string mended;
  std::unique_ptr<PdfDocument> document;  // reads from the bytes: stands last

  bool is_mended() const { return !mended.empty(); }
};

// With at least one page, else a failure.
std::optional<Failure> open_pdf(std::string_view bytes, OpenPdf& open);

// The same, and such that qpdf can read it too.
std::optional<Failure> open_sound_pdf(std::string_view bytes, OpenPdf& open);

}  // namespace quern::worker

// A PDF whose pages show words that nobody can search gets them as text, by OCR.
//
// Only pages without text of their own: none at all, or little beside a picture that covers most
// of the page (a scan with a stamp). Words that are there already are not said twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/pdf_document.h"

namespace quern::worker {

// Pages of one file that are read so.
inline constexpr int kOcrPagesMax = 5'000;

struct OcrResult {
  int pages = 0;    // that were read
  std::string pdf;  // with their text; empty where none was read
};

// `language` by its code of two letters.
std::optional<Failure> ocr_pdf(const PdfDocument& document, std::string_view bytes,
                               std::string_view language, OcrResult& result);

}  // namespace quern::worker

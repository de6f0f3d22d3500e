// PdfOcr: a PDF whose pages are pictures becomes one whose words can be found, and a document.
#include <fmt/format.h>
#include <mupdf/fitz/version.h>

#include "worker/input_bytes.h"
#include "worker/ocr_engine.h"
#include "worker/ocr_pdf.h"
#include "worker/pdf_open.h"
#include "worker/pdf_run.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

std::string version() {
  return "1 mupdf " FZ_VERSION " tesseract " + ocr_version();
}

void warm() {
  pdf_step().warm();
  static_cast<void>(OcrEngine::instance());
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  OpenPdf open;
  if (auto failed = open_sound_pdf(input.view(), open)) return failed;
  OcrResult result;
  if (auto failed = ocr_pdf(*open.document, open.bytes, context.task.language_code, result)) {
    return failed;
  }
  if (result.pages == 0) return run_pdf(context, {open.bytes, open.is_mended()});
  open.document.reset();
  return run_pdf(context, {result.pdf, true, true});
}

}  // namespace

Step pdf_ocr_step() {
  return {"PdfOcr", version, warm, run, 1};
}

}  // namespace quern::worker

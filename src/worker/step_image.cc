// Image: pictures become pages of a PDF; their words are read where somebody asks for it.
#include <fmt/format.h>
#include <mupdf/fitz/version.h>

#include <cstdio>

#include "worker/exif.h"
#include "worker/image_pdf.h"
#include "worker/input_bytes.h"
#include "worker/ocr_engine.h"
#include "worker/ocr_pdf.h"
#include "worker/pdf_run.h"
#include "worker/steps.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

std::string version() {
  return "1 mupdf " FZ_VERSION " tesseract " + ocr_version();
}

// Its words, where the task asks for them.
StepEnd add_words(const StepTask& task, LaidOut& laid_out) {
  if (!task.want_ocr) return std::nullopt;
  std::unique_ptr<PdfDocument> document;
  if (auto failed = PdfDocument::open(laid_out.pdf, "application/pdf", document)) return failed;
  OcrResult result;
  if (auto failed = ocr_pdf(*document, laid_out.pdf, task.language_code, result)) return failed;
  document.reset();
  if (result.pages > 0) laid_out.pdf = std::move(result.pdf);
  return std::nullopt;
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  const StepTask& task = context.task;
  const std::string& type = task.detected_type.empty() ? task.content_type : task.detected_type;
  LaidOut laid_out;
  const int pages_max = static_cast<int>(context.limits.text_pages);
  if (auto failed = image_pdf(input.view(), type, pages_max, laid_out)) return failed;
  if (laid_out.was_cut) std::fprintf(stderr, "the PDF is cut after %d pages\n", laid_out.pages);
  if (auto failed = add_words(task, laid_out)) return failed;
  // One document, whatever its pages.
  context.task.want_split_by_page = false;
  Metadata metadata(task.metadata);
  add_exif(input.view(), metadata);
  context.task.metadata = metadata.json();
  return run_pdf(context, {laid_out.pdf, true, context.task.want_ocr});
}

void warm() {
  warm_thumbnails(text_pdf(lay_out("warm", 1)));
  static_cast<void>(OcrEngine::instance());
}

}  // namespace

Step image_step() {
  return {"Image", version, warm, run, 1};
}

}  // namespace quern::worker

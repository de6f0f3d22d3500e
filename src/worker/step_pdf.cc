// Pdf: a PDF becomes a document, or one for each of its pages.
#include <mupdf/fitz/version.h>

#include "worker/input_bytes.h"
#include "worker/pdf_rewrite.h"
#include "worker/pdf_run.h"
#include "worker/qpdf_headers.h"
#include "worker/steps.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

std::string version() {
  return "1 mupdf " FZ_VERSION " qpdf " + QPDF::QPDFVersion();
}

void warm() {
  std::string letters;
  for (char c = ' '; c < 0x7F; ++c) letters += c;
  const std::string sample = text_pdf(lay_out(letters, 1));
  warm_thumbnails(sample);
  std::string rewritten;
  static_cast<void>(linearize(sample, rewritten));
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  return run_pdf(context, {input.view()});
}

}  // namespace

Step pdf_step() {
  return {"Pdf", version, warm, run, 4};
}

}  // namespace quern::worker

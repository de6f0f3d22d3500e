// A PDF becomes a document: its text, a thumbnail, what it says of itself; or one for each of its
// pages, where the task wants that.
#pragma once

#include <string_view>

#include "worker/step.h"

namespace quern::worker {

struct PdfSource {
  std::string_view bytes;
  bool is_new = false;  // not the task's own input: the document needs its bytes
  bool is_from_ocr = false;
};

StepEnd run_pdf(StepContext& context, const PdfSource& source);

}  // namespace quern::worker

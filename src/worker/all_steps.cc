// The steps that quern-steps has.
#include "worker/steps.h"

namespace quern::worker {

std::span<const Step> all_steps() {
  static const Step steps[] = {archive_step(), detect_step(), ebook_step(),   html_step(),
                               image_step(),   pdf_step(),    pdf_ocr_step(), text_step()};
  return steps;
}

}  // namespace quern::worker

// The real steps, one file each.
#pragma once

#include "worker/step.h"

namespace quern::worker {

Step archive_step();
Step audio_step();
Step detect_step();
Step ebook_step();
Step email_step();
Step html_step();
Step image_step();
Step mbox_step();
Step msg_step();
Step office_step();
Step page_step();
Step pdf_ocr_step();
Step pdf_step();
Step pst_step();
Step research_step();
Step text_step();

}  // namespace quern::worker

// The steps that quern-steps has.
#include "worker/steps.h"

namespace quern::worker {

std::span<const Step> all_steps() {
  static const Step steps[] = {archive_step(), audio_step(), detect_step(), email_step(),
                               html_step(),    mbox_step(),  msg_step(),    office_step(),
                               pdf_step(),     pst_step(),   text_step()};
  return steps;
}

}  // namespace quern::worker

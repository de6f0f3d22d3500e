// Msg: Outlook's message files and winmail.dat, shown as Email shows a mail.
#include <fmt/format.h>

#include "worker/charset.h"
#include "worker/mail_children.h"
#include "worker/msg_reader.h"
#include "worker/steps.h"
#include "worker/tnef_reader.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::uint64_t kTnefBytesMax = 512ULL << 20;

std::string version() {
  return "1";
}

StepEnd run_tnef(StepContext& context, const StepInput& input) {
  if (input.bytes > kTnefBytesMax) {
    return Failure{ErrorKind::TooLarge, fmt::format("more than {} bytes", kTnefBytesMax)};
  }
  const auto bytes = std::make_shared<const std::string>(read_input(input, kTnefBytesMax));
  MailMessage message;
  auto failure = read_tnef(bytes, message);
  if (!failure || !message.attachments.empty() || !message.text.empty() || !message.html.empty()) {
    write_mail(context, message);
  }
  return failure;
}

StepEnd run(StepContext& context) {
  const StepInput& input = context.inputs.at(0);
  if (looks_like_tnef(read_input(input, 16))) return run_tnef(context, input);
  const auto file = std::make_shared<OleFile>();
  if (auto failure = file->open(input)) return failure;
  MailMessage message;
  auto failure = read_msg(file, message);
  // Of one that is too large, what was read of it.
  if (!failure || failure->kind == ErrorKind::TooLarge) write_mail(context, message);
  return failure;
}

}  // namespace

Step msg_step() {
  return {"Msg", version, warm_charsets, run, 1};
}

}  // namespace quern::worker

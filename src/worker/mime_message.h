// A mail in the form of RFC 5322 and MIME, read by GMime into a MailMessage.
//
// Bytes of attachments stay where they are until they are asked for: a mail of any size needs
// little memory.
#pragma once

#include <optional>

#include "worker/mail_message.h"
#include "worker/step.h"

namespace quern::worker {

// Once in a process.
void warm_mime();

// Where the mail lies within the input: an emlx has a line before it and a property list behind.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The failure where there is no mail in it.
std::optional<Failure> read_mime_message(const StepInput& input, ByteRange range,
                                         MailMessage& message);

}  // namespace quern::worker

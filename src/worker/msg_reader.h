// An Outlook message file (.msg): MAPI properties in an OLE container (MS-OXMSG).
#pragma once

#include <memory>
#include <optional>

#include "worker/mail_message.h"
#include "worker/ole_file.h"

namespace quern::worker {

// Bytes of attachments stay in the container until they are asked for, which shares it. Messages
// in it become mails in the form of .eml.
std::optional<Failure> read_msg(const std::shared_ptr<const OleFile>& file, MailMessage& message);

}  // namespace quern::worker

// winmail.dat (TNEF, MS-OXTNEF): what Outlook packs a message into for other Outlooks. Pure but
// for the charset tables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worker/mail_message.h"

namespace quern::worker {

bool looks_like_tnef(std::string_view bytes);

// What is there up to where it breaks off; the failure where it does. The message keeps `bytes`.
std::optional<Failure> read_tnef(const std::shared_ptr<const std::string>& bytes,
                                 MailMessage& message);

}  // namespace quern::worker

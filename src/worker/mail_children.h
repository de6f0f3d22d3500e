// A message as children: first the document that shows it, then what hangs on it.
//
// The document keeps the message's own name, an attachment is `message/name`; names are plain, as
// those of archive members, and each is there once.
#pragma once

#include <set>
#include <string>

#include "worker/mail_message.h"
#include "worker/step.h"

namespace quern::worker {

inline constexpr std::size_t kAttachmentNameBytesMax = 200;

// Names within one parent: plain, no longer than that, no two alike.
class ChildNames {
 public:
  // "report (2).pdf" where there is a report.pdf already. An empty name is "attachment-3.png".
  std::string add(std::string_view name, std::string_view mime_type);

 private:
  std::set<std::string> used_;
  std::size_t count_ = 0;
};

// The subject of a message as the name of a file: "Re: a/b" becomes "Re: a-b.eml".
std::string message_filename(std::string_view subject);

void write_mail(StepContext& context, const MailMessage& message);

}  // namespace quern::worker

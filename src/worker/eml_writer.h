// A message written as a mail (RFC 5322 with UTF-8 in its head, MIME), so that Email shows it.
//
// The same message gives the same bytes: boundaries are numbers. Everything but heads is base64,
// so that no boundary can stand in it.
#pragma once

#include <string>
#include <vector>

#include "worker/mail_message.h"

namespace quern::worker {

struct MailLoss {
  std::string name;  // of an attachment
  Failure failure;
};

// What could not be read to its end: the mail itself says so too. Messages within messages have
// greater depths.
std::vector<MailLoss> write_eml(const MailMessage& message, const ByteSink& sink, int depth = 0);

}  // namespace quern::worker

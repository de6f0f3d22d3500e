// What lies in the folders of an Outlook store: messages, and what is written of them.
#pragma once

#include <string>

#include "worker/mail_message.h"
#include "worker/pff_item.h"

namespace quern::worker {

// Bytes of attachments stay in the store until they are asked for.
void read_pff_message(const PffItem& item, std::uint64_t codepage, MailMessage& message);

// Hidden: Outlook's own notes, which nobody ever wrote or read.
enum class PffKind { Message, Event, Contact, Hidden };
PffKind pff_kind(const MapiBag& properties);
// A calendar (RFC 5545) and a card (RFC 6350) of it.
std::string event_text(const MapiBag& properties, const MailMessage& message,
                       std::uint32_t identifier);
std::string contact_text(const MapiBag& properties);

}  // namespace quern::worker

// MAPI properties, as Outlook's files and winmail.dat have them, and the message that they make.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/mail_message.h"

namespace quern::worker {

// Which property it is. Names as in MS-OXPROPS.
namespace mapi {
inline constexpr std::uint16_t kMessageClass = 0x001A;
inline constexpr std::uint16_t kSubject = 0x0037;
inline constexpr std::uint16_t kClientSubmitTime = 0x0039;
inline constexpr std::uint16_t kSentRepresentingName = 0x0042;
inline constexpr std::uint16_t kStartDate = 0x0060;
inline constexpr std::uint16_t kEndDate = 0x0061;
inline constexpr std::uint16_t kSentRepresentingType = 0x0064;
inline constexpr std::uint16_t kSentRepresentingEmail = 0x0065;
inline constexpr std::uint16_t kTransportHeaders = 0x007D;
inline constexpr std::uint16_t kRecipientType = 0x0C15;
inline constexpr std::uint16_t kSenderName = 0x0C1A;
inline constexpr std::uint16_t kSenderType = 0x0C1E;
inline constexpr std::uint16_t kSenderEmail = 0x0C1F;
inline constexpr std::uint16_t kDisplayBcc = 0x0E02;
inline constexpr std::uint16_t kDisplayCc = 0x0E03;
inline constexpr std::uint16_t kDisplayTo = 0x0E04;
inline constexpr std::uint16_t kDeliveryTime = 0x0E06;
inline constexpr std::uint16_t kBody = 0x1000;
inline constexpr std::uint16_t kRtfCompressed = 0x1009;
inline constexpr std::uint16_t kHtml = 0x1013;
inline constexpr std::uint16_t kMessageId = 0x1035;
inline constexpr std::uint16_t kReferences = 0x1039;
inline constexpr std::uint16_t kInReplyTo = 0x1042;
inline constexpr std::uint16_t kDisplayName = 0x3001;
inline constexpr std::uint16_t kAddressType = 0x3002;
inline constexpr std::uint16_t kEmailAddress = 0x3003;
inline constexpr std::uint16_t kAttachData = 0x3701;
inline constexpr std::uint16_t kAttachFilename = 0x3704;
inline constexpr std::uint16_t kAttachMethod = 0x3705;
inline constexpr std::uint16_t kAttachLongFilename = 0x3707;
inline constexpr std::uint16_t kAttachLongPath = 0x370D;
inline constexpr std::uint16_t kAttachMimeType = 0x370E;
inline constexpr std::uint16_t kAttachContentId = 0x3712;
inline constexpr std::uint16_t kAttachFlags = 0x3714;
inline constexpr std::uint16_t kSmtpAddress = 0x39FE;
inline constexpr std::uint16_t kInternetCodepage = 0x3FDE;
inline constexpr std::uint16_t kMessageCodepage = 0x3FFD;
inline constexpr std::uint16_t kSenderSmtp = 0x5D01;
inline constexpr std::uint16_t kSentRepresentingSmtp = 0x5D02;
inline constexpr std::uint16_t kAttachHidden = 0x7FFE;
// Properties with names, by the numbers that Outlook's own sets give them.
inline constexpr std::uint16_t kEmail1 = 0x8083;
inline constexpr std::uint16_t kLocation = 0x8208;
inline constexpr std::uint16_t kEventStart = 0x820D;
inline constexpr std::uint16_t kEventEnd = 0x820E;
// Of kAttachMethod.
inline constexpr std::uint64_t kByReference = 2;
inline constexpr std::uint64_t kByReferenceOnly = 4;
inline constexpr std::uint64_t kEmbeddedMessage = 5;
inline constexpr std::uint64_t kOleObject = 6;
inline constexpr std::uint64_t kByWebReference = 7;
}  // namespace mapi

enum class MapiKind { Number, Time, Text8, Text16, Binary };

// The properties of a message, a recipient or an attachment; a second value of one is dropped.
class MapiBag {
 public:
  void put(std::uint16_t id, MapiKind kind, std::string bytes);
  void put_number(std::uint16_t id, std::uint64_t number, MapiKind kind = MapiKind::Number);
  // Of 8-bit texts that say nothing themselves.
  void set_codepage(std::uint64_t codepage) { codepage_ = codepage; }
  std::uint64_t codepage() const { return codepage_; }

  bool has(std::uint16_t id) const { return values_.contains(id); }
  // UTF-8; "" where it is missing.
  std::string text(std::uint16_t id) const;
  std::string binary(std::uint16_t id) const;
  std::optional<std::uint64_t> number(std::uint16_t id) const;
  bool is_text16(std::uint16_t id) const;

 private:
  struct Value {
    MapiKind kind = MapiKind::Number;
    std::string bytes;
    std::uint64_t number = 0;
  };
  std::map<std::uint16_t, Value> values_;
  std::uint64_t codepage_ = 0;
};

// By its type: 0x001F is text of 16-bit letters; nothing for kinds that nobody asks for.
std::optional<MapiKind> mapi_kind(std::uint16_t type);
// As iconv knows it; "" where nobody does.
std::string codepage_charset(std::uint64_t codepage);
// 100 ns since 1601 as "2003-07-01T08:52:37Z"; "" where it is no date.
std::string filetime_text(std::uint64_t filetime);

// Head and body; the attachments are the caller's.
void fill_mail(const MapiBag& message, const std::vector<MapiBag>& recipients, MailMessage& mail);
// Name, type, Content-ID; the bytes are the caller's.
MailAttachment mapi_attachment(const MapiBag& properties);

}  // namespace quern::worker

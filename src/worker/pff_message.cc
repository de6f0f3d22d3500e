#include "worker/pff_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/eml_writer.h"
#include "worker/mail_children.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr int kMessagesWithinMax = 1'000;

std::optional<Failure> read_data(libpff_item_t* attachment, const ByteSink& sink) {
  const Failure damaged{ErrorKind::Corrupt, "it is damaged in the Outlook store"};
  size64_t size = 0;
  if (::libpff_attachment_get_data_size(attachment, &size, nullptr) != 1) return damaged;
  ::libpff_attachment_data_seek_offset(attachment, 0, SEEK_SET, nullptr);
  std::string buffer(std::min<std::uint64_t>(size, kPieceBytes), '\0');
  while (size > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(size, buffer.size());
    const ssize_t n = ::libpff_attachment_data_read_buffer(
        attachment, reinterpret_cast<std::uint8_t*>(buffer.data()), wanted, nullptr);
    if (n <= 0) return damaged;
    sink({buffer.data(), static_cast<std::size_t>(n)});
    size -= static_cast<std::uint64_t>(n);
  }
  return std::nullopt;
}

class MessageReader {
 public:
  // `left` is how many messages may still be found within messages: a damaged store may have
  // loops.
  MessageReader(const PffItem& item, std::uint64_t codepage, int depth, int& left)
      : item_(item), codepage_(codepage), depth_(depth), left_(left) {}

  void read(MailMessage& message) {
    const MapiBag bag = bag_of(item_.get(), codepage_);
    fill_mail(bag, recipients(), message);
    int count = 0;
    if (::libpff_message_get_number_of_attachments(item_.get(), &count, nullptr) != 1) return;
    for (int i = 0; i < std::min<int>(count, kMailPartsMax); ++i) {
      message.attachments.push_back(attachment(i));
    }
  }

 private:
  std::vector<MapiBag> recipients() const {
    libpff_item_t* table = nullptr;
    if (::libpff_message_get_recipients(item_.get(), &table, nullptr) != 1) return {};
    const PffItem owned = pff_owned(table);
    return rows_of(table, codepage_);
  }

  MailAttachment attachment(int index) const {
    MailAttachment failed;
    failed.name = fmt::format("attachment-{}", index + 1);
    failed.failure = Failure{ErrorKind::Corrupt, "it is damaged in the Outlook store"};
    libpff_item_t* raw = nullptr;
    if (::libpff_message_get_attachment(item_.get(), index, &raw, nullptr) != 1) return failed;
    const PffItem owned = pff_owned(raw);
    const MapiBag bag = bag_of(raw, codepage_);
    MailAttachment attachment = mapi_attachment(bag);
    int type = 0;
    ::libpff_attachment_get_type(raw, &type, nullptr);
    if (type == LIBPFF_ATTACHMENT_TYPE_ITEM) return embedded(owned, std::move(attachment));
    if (type == LIBPFF_ATTACHMENT_TYPE_REFERENCE) {
      attachment.failure = Failure{ErrorKind::Unsupported, "the mail has only a link to it: " +
                                                               bag.text(mapi::kAttachLongPath)};
      return attachment;
    }
    size64_t size = 0;
    if (::libpff_attachment_get_data_size(raw, &size, nullptr) != 1) {
      attachment.failure = failed.failure;
      return attachment;
    }
    // The message keeps what the attachment needs.
    attachment.read = [owned, message = item_](const ByteSink& sink) {
      return read_data(owned.get(), sink);
    };
    return attachment;
  }

  MailAttachment embedded(const PffItem& owned, MailAttachment attachment) const {
    libpff_item_t* raw = nullptr;
    if (depth_ >= kMailDepthMax || --left_ < 0) {
      attachment.failure =
          Failure{ErrorKind::TooDeep, fmt::format("more than {} messages deep, or {} within one",
                                                  kMailDepthMax, kMessagesWithinMax)};
      return attachment;
    }
    if (::libpff_attachment_get_item(owned.get(), &raw, nullptr) != 1) {
      attachment.failure = Failure{ErrorKind::Corrupt, "it is damaged in the Outlook store"};
      return attachment;
    }
    const auto inner = std::make_shared<MailMessage>();
    MessageReader(pff_owned(raw), codepage_, depth_ + 1, left_).read(*inner);
    attachment.is_message = true;
    attachment.mime_type = "message/rfc822";
    const std::string subject = inner->field("Subject");
    attachment.name = message_filename(subject.empty() ? attachment.name : subject);
    attachment.read = [inner, owned, depth = depth_](const ByteSink& sink) {
      write_eml(*inner, sink, depth + 1);
      return std::optional<Failure>();
    };
    return attachment;
  }

  PffItem item_;
  std::uint64_t codepage_;
  int depth_;
  int& left_;
};

// Line ends, commas and the like, as calendars and cards want them.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == ',' || c == ';' || c == '\\') {
      result += std::string{'\\', c};
    } else if (c != '\r') {
      result += c;
    }
  }
  return result;
}

void add_line(std::string& lines, std::string_view name, const std::string& value) {
  if (!value.empty()) lines += fmt::format("{}:{}\r\n", name, value);
}

// "20040819T183000Z".
std::string compact_time(const MapiBag& bag, std::uint16_t id, std::uint16_t other) {
  auto filetime = bag.number(id);
  if (!filetime) filetime = bag.number(other);
  std::string text = filetime_text(filetime.value_or(0));
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

void read_pff_message(const PffItem& item, std::uint64_t codepage, MailMessage& message) {
  int left = kMessagesWithinMax;
  MessageReader(item, codepage, 0, left).read(message);
}

PffKind pff_kind(const MapiBag& properties) {
  const std::string kind = properties.text(mapi::kMessageClass);
  if (kind.starts_with("IPM.Microsoft.ScheduleData")) return PffKind::Hidden;
  if (kind.starts_with("IPM.Appointment")) return PffKind::Event;
  return kind.starts_with("IPM.Contact") ? PffKind::Contact : PffKind::Message;
}

std::string event_text(const MapiBag& properties, const MailMessage& message,
                       std::uint32_t identifier) {
  std::string lines = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Quern//Pst//EN\r\n";
  lines += "BEGIN:VEVENT\r\n";
  add_line(lines, "UID", fmt::format("{:#x}", identifier));
  add_line(lines, "SUMMARY", escaped(message.field("Subject")));
  const std::string plain = properties.text(mapi::kBody);
  add_line(lines, "DESCRIPTION", escaped(plain.empty() ? message.text : plain));
  add_line(lines, "LOCATION", escaped(properties.text(mapi::kLocation)));
  add_line(lines, "DTSTART;VALUE=DATE-TIME",
           compact_time(properties, mapi::kEventStart, mapi::kStartDate));
  add_line(lines, "DTEND;VALUE=DATE-TIME",
           compact_time(properties, mapi::kEventEnd, mapi::kEndDate));
  add_line(lines, "ORGANIZER", escaped(message.field("From")));
  add_line(lines, "ATTENDEE", escaped(message.field("To")));
  return lines + "END:VEVENT\r\nEND:VCALENDAR\r\n";
}

std::string contact_text(const MapiBag& properties) {
  constexpr std::pair<const char*, std::uint16_t> kLines[] = {
      {"FN", mapi::kDisplayName}, {"ORG", 0x3A16},           {"TITLE", 0x3A17},
      {"EMAIL", mapi::kEmail1},   {"TEL;TYPE=work", 0x3A08}, {"TEL;TYPE=home", 0x3A09},
      {"TEL;TYPE=cell", 0x3A1C},  {"TEL;TYPE=fax", 0x3A24},  {"ADR;TYPE=work", 0x3A15},
      {"ADR;TYPE=home", 0x3A5D},  {"URL", 0x3A51},           {"NICKNAME", 0x3A4F},
      {"NOTE", mapi::kBody}};
  std::string lines = "BEGIN:VCARD\r\nVERSION:4.0\r\n";
  for (const auto& [name, id] : kLines) add_line(lines, name, escaped(properties.text(id)));
  return lines + "END:VCARD\r\n";
}

}  // namespace quern::worker

#include "worker/mapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/mail_document.h"
#include "worker/rtf.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

constexpr std::uint64_t kTicksPerSecond = 10'000'000;
constexpr std::uint64_t kSecondsTo1970 = 11'644'473'600;
constexpr std::uint64_t kSecondsTo10000 = 253'402'300'800;

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = text.find_last_not_of(' ') + 1;
  return text.substr(begin, end > begin ? end - begin : 0);
}

// "Ann <ann@example.org>". An address within an Exchange server says nothing to anybody outside.
std::string address_text(const std::string& name, const std::string& address) {
  std::string shown = one_line(name);
  // Some programs write both into the name.
  if (!address.empty() && shown.ends_with("<" + address + ">")) {
    shown = one_line(shown.substr(0, shown.size() - address.size() - 2));
  }
  if (shown.empty() || shown == address || shown == "'" + address + "'") return address;
  if (address.empty()) return shown;
  const bool quoted = shown.find_first_of(",;<>@\"()") != std::string::npos;
  std::string inside = shown;
  std::replace(inside.begin(), inside.end(), '"', '\'');
  return quoted ? fmt::format("\"{}\" <{}>", inside, address)
                : fmt::format("{} <{}>", shown, address);
}

std::string usable_address(const std::string& smtp, const std::string& type,
                           const std::string& email) {
  if (!smtp.empty()) return smtp;
  return type == "EX" || email.find('@') == std::string::npos ? "" : email;
}

// Of the lines that came by the internet; with the lines that it goes on in.
std::string header_value(std::string_view headers, std::string_view name) {
  std::string value;
  bool inside = false;
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find('\n'), headers.size() - 1) + 1;
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(end);
    const bool goes_on = line.starts_with(' ') || line.starts_with('\t');
    if (inside && !goes_on) break;
    const bool begins = line.size() > name.size() && line[name.size()] == ':' &&
                        std::equal(name.begin(), name.end(), line.begin(),
                                   [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    if (begins) {
      inside = true;
      value = line.substr(name.size() + 1);
    } else if (inside) {
      value += line;
    }
  }
  return one_line(value);
}

std::string without_brackets(std::string ids) {
  std::erase_if(ids, [](char c) { return c == '<' || c == '>'; });
  return one_line(std::move(ids));
}

class MailFiller {
 public:
  MailFiller(const MapiBag& message, MailMessage& mail) : message_(message), mail_(mail) {}

  void head(const std::vector<MapiBag>& recipients) {
    const std::string headers = message_.text(mapi::kTransportHeaders);
    mail_.set("From", sender(headers));
    receivers(recipients);
    mail_.set("Reply-To", header_value(headers, "Reply-To"));
    date();
    mail_.set("Subject", subject());
    id("Message-ID", mapi::kMessageId, headers);
    id("In-Reply-To", mapi::kInReplyTo, headers);
    id("References", mapi::kReferences, headers);
  }

  // What an event or a contact is about, for readers.
  void details() {
    constexpr std::pair<const char*, std::uint16_t> kContact[] = {
        {"Name", mapi::kDisplayName}, {"Company", 0x3A16},      {"Job", 0x3A17},
        {"Email", mapi::kEmail1},     {"Phone", 0x3A08},        {"Home phone", 0x3A09},
        {"Mobile", 0x3A1C},           {"Work address", 0x801B}, {"Address", 0x3A15}};
    const std::string kind = message_.text(mapi::kMessageClass);
    if (kind.starts_with("IPM.Contact")) {
      for (const auto& [name, id] : kContact) mail_.show(name, one_line(message_.text(id)));
    } else if (kind.starts_with("IPM.Appointment") || kind.starts_with("IPM.Schedule")) {
      mail_.show("Start", time_text(mapi::kEventStart, mapi::kStartDate));
      mail_.show("End", time_text(mapi::kEventEnd, mapi::kEndDate));
      mail_.show("Location", one_line(message_.text(mapi::kLocation)));
    }
  }

  void body() {
    mail_.html = html();
    if (!mail_.html.empty()) return;
    mail_.text = plain(message_.text(mapi::kBody));
    const std::string compressed = message_.binary(mapi::kRtfCompressed);
    if (compressed.empty()) return;
    const auto rtf = decompressed_rtf(compressed);
    if (!rtf) return;
    RtfBody body = read_rtf(*rtf);
    if (body.kind == RtfBody::Kind::Html && !is_blank_html(body.text)) {
      mail_.html = std::move(body.text);
      mail_.text.clear();
    } else if (mail_.text.empty() && body.kind == RtfBody::Kind::Text) {
      mail_.text = plain(body.text);
    }
  }

 private:
  std::string sender(const std::string& headers) const {
    const auto by = [this](std::uint16_t name, std::uint16_t smtp, std::uint16_t type,
                           std::uint16_t email) {
      return address_text(
          message_.text(name),
          usable_address(message_.text(smtp), message_.text(type), message_.text(email)));
    };
    std::string from = by(mapi::kSentRepresentingName, mapi::kSentRepresentingSmtp,
                          mapi::kSentRepresentingType, mapi::kSentRepresentingEmail);
    if (from.find('@') == std::string::npos) {
      const std::string other =
          by(mapi::kSenderName, mapi::kSenderSmtp, mapi::kSenderType, mapi::kSenderEmail);
      if (from.empty() || other.find('@') != std::string::npos) from = other;
    }
    return from.empty() ? header_value(headers, "From") : from;
  }

  void receivers(const std::vector<MapiBag>& recipients) {
    constexpr const char* kNames[] = {"To", "Cc", "Bcc"};
    constexpr std::uint16_t kShown[] = {mapi::kDisplayTo, mapi::kDisplayCc, mapi::kDisplayBcc};
    for (std::uint64_t type = 1; type <= 3; ++type) {
      std::string list;
      std::string shown;  // as Outlook has it: names have commas in them
      for (const MapiBag& recipient : recipients) {
        if ((recipient.number(mapi::kRecipientType).value_or(1) & 0xF) != type) continue;
        const std::string name = one_line(recipient.text(mapi::kDisplayName));
        const std::string address =
            usable_address(recipient.text(mapi::kSmtpAddress), recipient.text(mapi::kAddressType),
                           recipient.text(mapi::kEmailAddress));
        const std::string text = address_text(name, address);
        if (text.empty()) continue;
        list += (list.empty() ? "" : ", ") + text;
        shown += (shown.empty() ? "" : "; ") + (text == address && !name.empty() ? name : text);
      }
      if (list.empty()) list = one_line(message_.text(kShown[type - 1]));
      mail_.show(kNames[type - 1], shown);
      mail_.set(kNames[type - 1], list);
    }
  }

  void date() {
    for (const std::uint16_t id :
         {mapi::kClientSubmitTime, mapi::kDeliveryTime, mapi::kStartDate}) {
      const std::string text = filetime_text(message_.number(id).value_or(0));
      if (text.empty()) continue;
      mail_.set("Date", text);
      mail_.show("Date", readable_time(text));
      return;
    }
  }

  static std::string readable_time(const std::string& text) {
    return text.empty() ? "" : text.substr(0, 10) + " " + text.substr(11, 8) + " UTC";
  }

  std::string time_text(std::uint16_t id, std::uint16_t other) const {
    auto filetime = message_.number(id);
    if (!filetime) filetime = message_.number(other);
    return readable_time(filetime_text(filetime.value_or(0)));
  }

  // Stores put the length of "Re: " before it.
  std::string subject() const {
    std::string text = message_.text(mapi::kSubject);
    if (text.size() >= 2 && text[0] == '\x01') text.erase(0, 2);
    return one_line(text);
  }

  void id(const char* name, std::uint16_t property, const std::string& headers) {
    std::string value = without_brackets(message_.text(property));
    if (value.empty()) value = without_brackets(header_value(headers, name));
    mail_.set(name, value);
  }

  std::string html() const {
    if (!message_.has(mapi::kHtml)) return "";
    std::string html;
    if (message_.is_text16(mapi::kHtml)) {
      html = message_.text(mapi::kHtml);
    } else {
      const std::string bytes = without_end(message_.binary(mapi::kHtml));
      const std::string charset =
          codepage_charset(message_.number(mapi::kInternetCodepage).value_or(0));
      const auto text = is_valid_utf8(bytes) ? std::nullopt : to_utf8(bytes, charset);
      html = text ? *text : decode_text(bytes, bytes.size()).text;
    }
    return is_blank_html(html) ? "" : html;
  }

  static std::string plain(const std::string& text) { return decode_text(text, text.size()).text; }

  const MapiBag& message_;
  MailMessage& mail_;
};

}  // namespace

void MapiBag::put(std::uint16_t id, MapiKind kind, std::string bytes) {
  values_.try_emplace(id, Value{kind, std::move(bytes), 0});
}

void MapiBag::put_number(std::uint16_t id, std::uint64_t number, MapiKind kind) {
  values_.try_emplace(id, Value{kind, "", number});
}

bool MapiBag::is_text16(std::uint16_t id) const {
  const auto found = values_.find(id);
  return found != values_.end() && found->second.kind == MapiKind::Text16;
}

std::string MapiBag::text(std::uint16_t id) const {
  const auto found = values_.find(id);
  if (found == values_.end()) return "";
  const Value& value = found->second;
  if (value.kind == MapiKind::Text16) {
    return without_end(valid_utf8(to_utf8(value.bytes, "UTF-16LE").value_or("")));
  }
  if (value.kind != MapiKind::Text8 && value.kind != MapiKind::Binary) return "";
  const std::string bytes = without_end(value.bytes);
  if (is_valid_utf8(bytes)) return bytes;
  const auto text = to_utf8(bytes, codepage_charset(codepage_));
  return text ? *text : decode_text(bytes, bytes.size()).text;
}

std::string MapiBag::binary(std::uint16_t id) const {
  const auto found = values_.find(id);
  return found != values_.end() ? found->second.bytes : "";
}

std::optional<std::uint64_t> MapiBag::number(std::uint16_t id) const {
  const auto found = values_.find(id);
  if (found == values_.end()) return std::nullopt;
  const MapiKind kind = found->second.kind;
  if (kind != MapiKind::Number && kind != MapiKind::Time) return std::nullopt;
  return found->second.number;
}

std::optional<MapiKind> mapi_kind(std::uint16_t type) {
  switch (type) {
    case 0x0002:
    case 0x0003:
    case 0x000B:
    case 0x0014:
      return MapiKind::Number;
    case 0x0040:
      return MapiKind::Time;
    case 0x001E:
      return MapiKind::Text8;
    case 0x001F:
      return MapiKind::Text16;
    case 0x0102:
      return MapiKind::Binary;
    default:
      return std::nullopt;
  }
}

std::string codepage_charset(std::uint64_t codepage) {
  switch (codepage) {
    case 0:
      return "";
    case 932:
      return "CP932";
    case 936:
    case 54936:
    case 52936:
      return "GB18030";
    case 949:
    case 51949:
      return "UHC";
    case 950:
      return "BIG5";
    case 1200:
      return "UTF-16LE";
    case 10000:
      return "MACINTOSH";
    case 20127:
      return "WINDOWS-1252";
    case 20866:
      return "KOI8-R";
    case 21866:
      return "KOI8-U";
    case 50220:
    case 50221:
    case 50222:
      return "ISO-2022-JP";
    case 51932:
      return "EUC-JP";
    case 65001:
      return "UTF-8";
    default:
      break;
  }
  if (codepage > 28590 && codepage <= 28606) return fmt::format("ISO-8859-{}", codepage - 28590);
  return codepage < 1300 ? fmt::format("CP{}", codepage) : "";
}

std::string filetime_text(std::uint64_t filetime) {
  const std::uint64_t seconds = filetime / kTicksPerSecond;
  if (seconds <= kSecondsTo1970 || seconds - kSecondsTo1970 >= kSecondsTo10000) return "";
  const auto time = static_cast<std::time_t>(seconds - kSecondsTo1970);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void fill_mail(const MapiBag& message, const std::vector<MapiBag>& recipients, MailMessage& mail) {
  MailFiller filler(message, mail);
  filler.head(recipients);
  filler.details();
  filler.body();
}

MailAttachment mapi_attachment(const MapiBag& properties) {
  MailAttachment attachment;
  for (const std::uint16_t id :
       {mapi::kAttachLongFilename, mapi::kAttachFilename, mapi::kDisplayName}) {
    if (attachment.name.empty()) attachment.name = one_line(properties.text(id));
  }
  attachment.mime_type = properties.text(mapi::kAttachMimeType);
  attachment.content_id = without_brackets(properties.text(mapi::kAttachContentId));
  constexpr std::uint64_t kRenderedInBody = 4;
  const bool shown = properties.number(mapi::kAttachHidden).value_or(0) != 0 ||
                     (properties.number(mapi::kAttachFlags).value_or(0) & kRenderedInBody) != 0;
  if (shown) attachment.hanging = Hanging::Shown;
  return attachment;
}

}  // namespace quern::worker

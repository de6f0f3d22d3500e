#include "worker/mime_message.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/member_name.h"
#include "worker/mime_walk.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;

std::string taken(char* text) {
  std::string result = text != nullptr ? text : "";
  ::g_free(text);
  return result;
}

// On one line, without blanks around it.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : valid_utf8(text)) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

class HeadReader {
 public:
  HeadReader(GMimeMessage* message, MailMessage& mail) : message_(message), mail_(mail) {}

  void read() {
    addresses("From", GMIME_ADDRESS_TYPE_FROM);
    addresses("To", GMIME_ADDRESS_TYPE_TO);
    addresses("Cc", GMIME_ADDRESS_TYPE_CC);
    addresses("Bcc", GMIME_ADDRESS_TYPE_BCC);
    addresses("Reply-To", GMIME_ADDRESS_TYPE_REPLY_TO);
    date();
    mail_.set("Subject", one_line(header("Subject")));
    const char* id = ::g_mime_message_get_message_id(message_);
    mail_.set("Message-ID", one_line(id != nullptr ? id : ""));
    mail_.set("In-Reply-To", ids("In-Reply-To"));
    mail_.set("References", ids("References"));
  }

 private:
  std::string header(const char* name) const {
    const char* value = ::g_mime_object_get_header(GMIME_OBJECT(message_), name);
    return value != nullptr ? value : "";
  }

  void addresses(const char* name, GMimeAddressType type) {
    InternetAddressList* list = ::g_mime_message_get_addresses(message_, type);
    std::string text;
    if (list != nullptr && ::internet_address_list_length(list) > 0) {
      text = taken(::internet_address_list_to_string(list, nullptr, FALSE));
    }
    // What is no address may still say something: "undisclosed recipients".
    if (text.empty()) text = header(name);
    mail_.set(name, one_line(text));
  }

  void date() {
    mail_.show("Date", one_line(header("Date")));
    GDateTime* date = ::g_mime_message_get_date(message_);
    if (date == nullptr) return;
    GDateTime* utc = ::g_date_time_to_utc(date);
    if (utc == nullptr) return;
    mail_.set("Date", taken(::g_date_time_format(utc, "%Y-%m-%dT%H:%M:%SZ")));
    ::g_date_time_unref(utc);
  }

  // "<a@b> <c@d>" as "a@b c@d".
  std::string ids(const char* name) const {
    const std::string value = header(name);
    if (value.find('<') == std::string::npos) return one_line(value);
    std::string result;
    for (std::size_t at = value.find('<'); at != std::string::npos; at = value.find('<', at + 1)) {
      const std::size_t end = value.find('>', at);
      if (end == std::string::npos) break;
      result += (result.empty() ? "" : " ") + value.substr(at + 1, end - at - 1);
    }
    return one_line(result);
  }

  GMimeMessage* message_;
  MailMessage& mail_;
};

// Bytes in a head that are no ASCII and not encoded either: which charset is a guess.
std::string charset_of_head(const StepInput& input, ByteRange range) {
  std::string head(std::min<std::uint64_t>(range.end - range.begin, kHeadBytesMax), '\0');
  const ssize_t n =
      ::pread(input.descriptor, head.data(), head.size(), static_cast<off_t>(range.begin));
  head.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t end = std::min(head.find("\r\n\r\n"), head.find("\n\n"));
  head.resize(std::min(end, head.size()));
  return is_valid_utf8(head) ? "WINDOWS-1252" : charset_of_names({head});
}

int count_headers(GMimeObject* object) {
  GMimeHeaderList* headers = object != nullptr ? ::g_mime_object_get_header_list(object) : nullptr;
  return headers != nullptr ? ::g_mime_header_list_get_count(headers) : 0;
}

// The empty line behind a head without lines, as mailboxes have it.
bool begins_with_line_end(const StepInput& input, ByteRange range) {
  char first = 0;
  const ssize_t n = ::pread(input.descriptor, &first, 1, static_cast<off_t>(range.begin));
  return n == 1 && (first == '\n' || first == '\r');
}

using Options = std::unique_ptr<GMimeParserOptions, void (*)(GMimeParserOptions*)>;

Options parser_options(const std::string& charset) {
  Options options(::g_mime_parser_options_new(), ::g_mime_parser_options_free);
  const char* charsets[] = {"UTF-8", charset == "IBM437" ? "WINDOWS-1252" : charset.c_str(),
                            "ISO-8859-1", nullptr};
  ::g_mime_parser_options_set_fallback_charsets(options.get(), charsets);
  ::g_mime_parser_options_set_allow_addresses_without_domain(options.get(), TRUE);
  return options;
}

}  // namespace

void warm_mime() {
  ::g_mime_init();
  warm_charsets();
}

std::optional<Failure> read_mime_message(const StepInput& input, ByteRange range,
                                         MailMessage& message) {
  const Failure no_mail{ErrorKind::Corrupt, "no mail: it has no header lines"};
  if (range.end <= range.begin) return no_mail;
  const auto stream = g_owned(::g_mime_stream_mmap_new_with_bounds(
      ::dup(input.descriptor), PROT_READ, MAP_PRIVATE, static_cast<gint64>(range.begin),
      static_cast<gint64>(range.end)));
  if (!stream) return Failure{ErrorKind::OutOfMemory, "the mail cannot be mapped"};
  const auto parser = g_owned(::g_mime_parser_new_with_stream(stream.get()));
  const Options options = parser_options(charset_of_head(input, range));
  // Once, not until the end is reached: for a single mail GMime never says that it is.
  const auto parsed = g_owned(::g_mime_parser_construct_message(parser.get(), options.get()));
  if (!parsed) return no_mail;
  // Content-Type and the like are its body's.
  GMimeObject* body = ::g_mime_message_get_mime_part(parsed.get());
  const bool has_head = count_headers(GMIME_OBJECT(parsed.get())) + count_headers(body) > 0;
  if (!has_head && !begins_with_line_end(input, range)) return no_mail;
  HeadReader(parsed.get(), message).read();
  WalkState state;
  WalkedParts parts = walk_parts(body, state);
  join_body(parts.body, message);
  message.attachments = std::move(parts.attachments);
  return std::nullopt;
}

}  // namespace quern::worker

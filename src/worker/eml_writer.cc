#include "worker/eml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/base64.h"

namespace quern::worker {
namespace {

constexpr std::size_t kLineBytes = 57;  // 76 letters of base64

// "2003-07-01T08:52:37Z" as "Tue, 01 Jul 2003 08:52:37 +0000".
std::string mail_date(const std::string& date) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  if (::strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return date;
  const std::time_t time = ::timegm(&parts);
  if (::gmtime_r(&time, &parts) == nullptr) return date;
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} +0000",
                     kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                     kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// In lines, however the bytes come.
class Base64Lines {
 public:
  explicit Base64Lines(const ByteSink& sink) : sink_(sink) {}

  void write(std::string_view bytes) {
    held_ += bytes;
    std::string lines;
    std::size_t at = 0;
    for (; at + kLineBytes <= held_.size(); at += kLineBytes) {
      append_base64(lines, std::string_view(held_).substr(at, kLineBytes));
      lines += "\r\n";
    }
    held_.erase(0, at);
    if (!lines.empty()) sink_(lines);
  }
  void finish() {
    if (!held_.empty()) sink_(base64_encoded(held_) + "\r\n");
  }

 private:
  const ByteSink& sink_;
  std::string held_;
};

std::string quoted(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; }, '_');
  return "\"" + name + "\"";
}

void write_head(const MailMessage& message, const ByteSink& sink) {
  for (const MailField& field : message.head) {
    std::string value = field.name == "Date" ? mail_date(field.value) : field.value;
    if (field.name == "Message-ID" || field.name == "In-Reply-To") value = "<" + value + ">";
    if (field.name == "References") {
      std::string ids = "<";
      for (const char c : value) ids += c == ' ' ? "> <" : std::string(1, c);
      value = ids + ">";
    }
    sink(field.name + ": " + value + "\r\n");
  }
  sink("MIME-Version: 1.0\r\n");
}

void write_body(const MailMessage& message, const ByteSink& sink) {
  const bool html = !message.html.empty();
  sink(
      fmt::format("Content-Type: text/{}; charset=utf-8\r\nContent-Transfer-Encoding: "
                  "base64\r\n\r\n",
                  html ? "html" : "plain"));
  Base64Lines lines(sink);
  lines.write(html ? message.html : message.text);
  lines.finish();
}

std::optional<Failure> write_attachment(const MailAttachment& attachment, const ByteSink& sink) {
  const std::string name = quoted(attachment.name.empty() ? "attachment" : attachment.name);
  const bool shown = attachment.hanging == Hanging::Shown;
  sink(attachment.is_message
           ? "Content-Type: message/rfc822\r\n"
           : "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n");
  sink(fmt::format("Content-Disposition: {}; filename={}\r\n", shown ? "inline" : "attachment",
                   name));
  if (!attachment.content_id.empty()) sink("Content-ID: <" + attachment.content_id + ">\r\n");
  sink("\r\n");
  if (attachment.is_message) return attachment.read(sink);
  Base64Lines lines(sink);
  auto failure = attachment.read([&](std::string_view bytes) { lines.write(bytes); });
  lines.finish();
  return failure;
}

// For whoever reads the mail.
void write_loss(const MailLoss& loss, const std::string& delimiter, const ByteSink& sink) {
  MailMessage note;
  note.text =
      fmt::format("[The attachment {} could not be read: {}]\n", loss.name, loss.failure.message);
  sink(delimiter);
  write_body(note, sink);
  sink("\r\n");
}

}  // namespace

std::vector<MailLoss> write_eml(const MailMessage& message, const ByteSink& sink, int depth) {
  std::vector<MailLoss> losses;
  write_head(message, sink);
  if (message.attachments.empty()) {
    write_body(message, sink);
    return losses;
  }
  const std::string boundary = fmt::format("quern-part-{:04}", depth);
  const std::string delimiter = "--" + boundary + "\r\n";
  sink("Content-Type: multipart/mixed; boundary=\"" + boundary + "\"\r\n\r\n" + delimiter);
  write_body(message, sink);
  for (const MailAttachment& attachment : message.attachments) {
    std::optional<Failure> failure = attachment.failure;
    if (!failure) {
      sink(delimiter);
      failure = write_attachment(attachment, sink);
      sink("\r\n");
    }
    if (!failure) continue;
    losses.push_back({attachment.name.empty() ? "attachment" : attachment.name, *failure});
    write_loss(losses.back(), delimiter, sink);
  }
  sink("--" + boundary + "--\r\n");
  return losses;
}

}  // namespace quern::worker

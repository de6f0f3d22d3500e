#include "worker/mail_children.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "worker/child_writer.h"
#include "worker/mail_document.h"
#include "worker/member_name.h"

namespace quern::worker {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
    {"text/plain", ".txt"},
    {"text/html", ".html"},
    {"text/calendar", ".ics"},
    {"text/vcard", ".vcf"},
    {"text/x-vcard", ".vcf"},
    {"text/csv", ".csv"},
    {"text/rtf", ".rtf"},
    {"application/rtf", ".rtf"},
    {"application/pdf", ".pdf"},
    {"application/zip", ".zip"},
    {"image/png", ".png"},
    {"image/jpeg", ".jpg"},
    {"image/gif", ".gif"},
    {"image/tiff", ".tif"},
    {"audio/mpeg", ".mp3"},
    {"message/rfc822", ".eml"},
    {"message/delivery-status", ".txt"},
    {"text/rfc822-headers", ".txt"},
    {"application/msword", ".doc"},
    {"application/ms-tnef", ".dat"}};

constexpr std::pair<std::string_view, std::string_view> kPictures[] = {
    {"\x89PNG\r\n", "image/png"},
    {"\xFF\xD8\xFF", "image/jpeg"},
    {"GIF8", "image/gif"},
    {"BM", "image/bmp"}};

std::string_view suffix_for(std::string_view mime_type) {
  for (const auto& [type, suffix] : kSuffixes) {
    if (type == mime_type) return suffix;
  }
  return "";
}

// Before the last dot, where that is near the end; else the end.
std::size_t suffix_at(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::size_t slash = name.rfind('/');
  const bool is_suffix = dot != std::string_view::npos && dot > 0 && name.size() - dot <= 10 &&
                         (slash == std::string_view::npos || dot > slash + 1);
  return is_suffix ? dot : name.size();
}

std::string shortened(std::string name) {
  if (name.size() <= kAttachmentNameBytesMax) return name;
  const std::string suffix = name.substr(suffix_at(name));
  const std::size_t room = kAttachmentNameBytesMax - suffix.size();
  name.resize(valid_utf8_prefix(std::string_view(name).substr(0, room)));
  return name + suffix;
}

std::string printable(std::string_view name) {
  std::string result = valid_utf8(name);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  const std::size_t begin = std::min(result.find_first_not_of(' '), result.size());
  const std::size_t end = result.find_last_not_of(' ') + 1;
  return result.substr(begin, end > begin ? end - begin : 0);
}

// As a data: address; empty where it is none that is shown, or too large.
std::string picture_address(const MailAttachment& attachment) {
  std::string bytes;
  bool too_large = false;
  const auto failure = attachment.read([&](std::string_view piece) {
    too_large = too_large || bytes.size() + piece.size() > kShownPictureBytesMax;
    if (!too_large) bytes += piece;
  });
  if (failure || too_large) return "";
  for (const auto& [mark, type] : kPictures) {
    if (!bytes.starts_with(mark)) continue;
    return fmt::format("data:{};base64,{}", type, base64_encoded(bytes));
  }
  return "";
}

Pictures shown_pictures(const MailMessage& message) {
  Pictures pictures;
  std::size_t total = 0;
  const std::set<std::string> ids = shown_content_ids(message.html);
  for (const MailAttachment& attachment : message.attachments) {
    const std::string& id = attachment.content_id;
    if (id.empty() || !attachment.read || pictures.contains(id)) continue;
    if (!ids.contains(id)) continue;
    std::string address = picture_address(attachment);
    if (address.empty() || total + address.size() > kShownPicturesBytesMax) continue;
    total += address.size();
    pictures.emplace(id, std::move(address));
  }
  return pictures;
}

}  // namespace

std::string ChildNames::add(std::string_view name, std::string_view mime_type) {
  ++count_;
  std::string plain = shortened(plain_name(printable(name)));
  if (plain.empty()) plain = fmt::format("attachment-{}{}", count_, suffix_for(mime_type));
  const std::size_t at = suffix_at(plain);
  std::string unique = plain;
  for (std::size_t i = 2; !used_.insert(unique).second; ++i) {
    unique = fmt::format("{} ({}){}", plain.substr(0, at), i, plain.substr(at));
  }
  return unique;
}

std::string message_filename(std::string_view subject) {
  std::string name = printable(subject);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  name.erase(std::unique(name.begin(), name.end(), both_blank), name.end());
  std::replace(name.begin(), name.end(), '/', '-');
  std::replace(name.begin(), name.end(), '\\', '-');
  if (name.empty() || name == "." || name == "..") name = "message";
  if (name.size() > kAttachmentNameBytesMax - 4) {
    name.resize(valid_utf8_prefix(std::string_view(name).substr(0, kAttachmentNameBytesMax - 4)));
  }
  return name + ".eml";
}

void write_mail(StepContext& context, const MailMessage& message) {
  const std::string& filename = context.task.filename;
  const std::string metadata = mail_metadata(context.task.metadata, message);
  const Pictures pictures = shown_pictures(message);
  std::vector<std::pair<const MailAttachment*, std::string>> children;
  std::vector<std::string> names;
  ChildNames used;
  for (const MailAttachment& attachment : message.attachments) {
    const bool shown = attachment.hanging == Hanging::Shown && !attachment.content_id.empty() &&
                       pictures.contains(attachment.content_id);
    if (shown) continue;
    names.push_back(used.add(attachment.name, attachment.mime_type));
    children.emplace_back(&attachment, names.back());
  }
  ChildWriter out(context);
  const MailDocument document = mail_document(message, names, pictures);
  out.whole({filename, document.content_type, metadata}, document.bytes);
  out.progress_of_children(1, children.size() + 1);
  for (const auto& [attachment, name] : children) {
    Child child{filename + "/" + name};
    if (attachment->is_message) child.content_type = "message/rfc822";
    // A message says itself who wrote it; what hangs on this one came with it.
    if (!attachment->is_message) child.metadata = metadata;
    if (attachment->failure) {
      out.failed(child, *attachment->failure);
    } else {
      out.stream(child, attachment->read);
    }
    out.progress_of_children(out.count(), children.size() + 1);
  }
}

}  // namespace quern::worker

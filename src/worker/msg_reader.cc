#include "worker/msg_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "worker/eml_writer.h"
#include "worker/mail_children.h"
#include "worker/mapi.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::string_view kValuePrefix = "__substg1.0_";
constexpr std::string_view kFixedValues = "__properties_version1.0";
constexpr std::string_view kRecipientPrefix = "__recip_version1.0_";
constexpr std::string_view kAttachmentPrefix = "__attach_version1.0_";
constexpr std::size_t kNamedBytesMax = 1 << 20;
constexpr std::size_t kFixedBytes = 16;  // of one in the list

// Before the list of fixed values.
enum class ListHead : std::size_t { Message = 32, EmbeddedMessage = 24, Other = 8 };

// Folders may lie within one another, and their streams over one another, so that a small file
// would be read without end.
constexpr std::size_t kFoldersMax = 50'000;
constexpr std::uint64_t kPropertyBytesMax = 256 << 20;

struct OpenFile {
  std::shared_ptr<const OleFile> ole;
  // Properties with names have other numbers in each file: theirs in this one, to those of all.
  std::map<std::uint16_t, std::uint16_t> named;
  std::size_t folders_left = kFoldersMax;
  std::uint64_t bytes_left = kPropertyBytesMax;

  bool is_spent() const { return folders_left == 0 || bytes_left == 0; }
};

class FolderReader {
 public:
  FolderReader(OpenFile& file, std::size_t folder)
      : open_(file), file_(*file.ole), folder_(folder) {}

  MapiBag bag(ListHead head) const {
    MapiBag bag;
    if (open_.is_spent()) return bag;
    --open_.folders_left;
    fixed_values(bag, static_cast<std::size_t>(head));
    for (const std::size_t entry : file_.children(folder_)) {
      const std::string& name = file_.name(entry);
      if (file_.is_folder(entry) || !name.starts_with(kValuePrefix)) continue;
      const auto [number, type] = id_and_type(name);
      const std::uint16_t id = well_known(number);
      const auto kind = mapi_kind(type);
      // Attached bytes are read when somebody wants them.
      if (!kind || id == mapi::kAttachData || name.size() > kValuePrefix.size() + 8) continue;
      std::string bytes =
          file_.bytes(entry, std::min<std::uint64_t>(kMailBodyBytesMax, open_.bytes_left));
      open_.bytes_left -= bytes.size();
      bag.put(id, *kind, std::move(bytes));
    }
    return bag;
  }

 private:
  // "__substg1.0_0037001F".
  static std::pair<std::uint16_t, std::uint16_t> id_and_type(std::string_view name) {
    std::uint32_t number = 0;
    const std::string_view digits = name.substr(kValuePrefix.size(), 8);
    std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return {static_cast<std::uint16_t>(number >> 16), static_cast<std::uint16_t>(number)};
  }

  std::uint16_t well_known(std::uint16_t number) const {
    const auto found = open_.named.find(number);
    return found != open_.named.end() ? found->second : number;
  }

  void fixed_values(MapiBag& bag, std::size_t head) const {
    const std::size_t list = file_.find(folder_, kFixedValues);
    if (list == OleFile::kNone) return;
    const std::string bytes = file_.bytes(list, kMailBodyBytesMax);
    for (std::size_t at = head; at + kFixedBytes <= bytes.size(); at += kFixedBytes) {
      const auto type = static_cast<std::uint16_t>(number_le(bytes, at, 2));
      const std::uint16_t id = well_known(static_cast<std::uint16_t>(number_le(bytes, at + 2, 2)));
      const auto kind = mapi_kind(type);
      if (kind != MapiKind::Number && kind != MapiKind::Time) continue;
      const std::size_t width = type == 0x0002 || type == 0x000B ? 2 : type == 0x0003 ? 4 : 8;
      bag.put_number(id, number_le(bytes, at + 8, width), *kind);
    }
    bag.set_codepage(bag.number(mapi::kMessageCodepage).value_or(0));
  }

  OpenFile& open_;
  const OleFile& file_;
  std::size_t folder_;
};

// A list: the number that all know, a flag for those that have a text instead, the place in the
// list, which makes the number in this file.
std::map<std::uint16_t, std::uint16_t> named_properties(const OleFile& file) {
  std::map<std::uint16_t, std::uint16_t> named;
  const std::size_t folder = file.find(OleFile::kRoot, "__nameid_version1.0");
  if (folder == OleFile::kNone || !file.is_folder(folder)) return named;
  const std::size_t list = file.find(folder, "__substg1.0_00030102");
  if (list == OleFile::kNone) return named;
  const std::string bytes = file.bytes(list, kNamedBytesMax);
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t number = number_le(bytes, at, 4);
    const bool has_text = (number_le(bytes, at + 4, 2) & 1) != 0;
    const std::uint64_t place = number_le(bytes, at + 6, 2);
    if (has_text || number < 0x8000 || number > 0xFFFF || place >= 0x8000) continue;
    named.emplace(static_cast<std::uint16_t>(0x8000 + place), static_cast<std::uint16_t>(number));
  }
  return named;
}

void read_message(OpenFile& open, std::size_t folder, int depth, MailMessage& message);

MailAttachment failed(MailAttachment attachment, ErrorKind kind, std::string words) {
  attachment.failure = Failure{kind, std::move(words)};
  return attachment;
}

// A message within the message is written as a mail of its own.
MailAttachment embedded(OpenFile& open, std::size_t folder, int depth, MailAttachment attachment) {
  if (depth >= kMailDepthMax) {
    return failed(std::move(attachment), ErrorKind::TooDeep,
                  fmt::format("messages within more than {} messages", kMailDepthMax));
  }
  const auto inner = std::make_shared<MailMessage>();
  read_message(open, folder, depth + 1, *inner);
  attachment.is_message = true;
  attachment.mime_type = "message/rfc822";
  const std::string subject = inner->field("Subject");
  attachment.name = message_filename(subject.empty() ? attachment.name : subject);
  attachment.read = [inner, depth](const ByteSink& sink) {
    write_eml(*inner, sink, depth + 1);
    return std::optional<Failure>();
  };
  return attachment;
}

// Something made by another program, with a container of its own: its contents, where it has them.
std::size_t contents_of(const OleFile& file, std::size_t folder) {
  for (const char* name : {"CONTENTS", "Contents", "\001Ole10Native", "Package"}) {
    const std::size_t stream = file.find(folder, name);
    if (stream != OleFile::kNone && !file.is_folder(stream)) return stream;
  }
  return OleFile::kNone;
}

MailAttachment read_attachment(OpenFile& open, std::size_t folder, int depth) {
  const std::shared_ptr<const OleFile>& file = open.ole;
  const MapiBag bag = FolderReader(open, folder).bag(ListHead::Other);
  MailAttachment attachment = mapi_attachment(bag);
  const std::uint64_t method = bag.number(mapi::kAttachMethod).value_or(1);
  const std::size_t object = file->find(folder, "__substg1.0_3701000D");
  const bool has_object = object != OleFile::kNone && file->is_folder(object);
  if (has_object && file->find(object, kFixedValues) != OleFile::kNone) {
    return embedded(open, object, depth, std::move(attachment));
  }
  std::size_t stream = file->find(folder, "__substg1.0_37010102");
  if (stream == OleFile::kNone && has_object) stream = contents_of(*file, object);
  if (stream != OleFile::kNone && !file->is_folder(stream)) {
    attachment.read = [file, stream](const ByteSink& sink) { return file->read(stream, sink); };
    return attachment;
  }
  if (method == mapi::kByReference || method == mapi::kByReferenceOnly ||
      method == mapi::kByWebReference) {
    return failed(std::move(attachment), ErrorKind::Unsupported,
                  "the mail has only a link to it: " + bag.text(mapi::kAttachLongPath));
  }
  if (has_object) {
    return failed(std::move(attachment), ErrorKind::Unsupported,
                  "an object of another program that only this program opens");
  }
  return failed(std::move(attachment), ErrorKind::Corrupt, "its bytes are missing in the mail");
}

void read_message(OpenFile& open, std::size_t folder, int depth, MailMessage& message) {
  const std::shared_ptr<const OleFile>& file = open.ole;
  const ListHead head = folder == OleFile::kRoot ? ListHead::Message : ListHead::EmbeddedMessage;
  const MapiBag bag = FolderReader(open, folder).bag(head);
  std::vector<MapiBag> recipients;
  for (const std::size_t entry : file->children(folder)) {
    if (!file->is_folder(entry) || open.is_spent()) continue;
    if (file->name(entry).starts_with(kRecipientPrefix)) {
      recipients.push_back(FolderReader(open, entry).bag(ListHead::Other));
      recipients.back().set_codepage(bag.codepage());
    } else if (file->name(entry).starts_with(kAttachmentPrefix)) {
      if (message.attachments.size() >= kMailPartsMax) continue;
      message.attachments.push_back(read_attachment(open, entry, depth));
    }
  }
  fill_mail(bag, recipients, message);
}

}  // namespace

std::optional<Failure> read_msg(const std::shared_ptr<const OleFile>& file, MailMessage& message) {
  bool is_message = false;
  for (const std::size_t entry : file->children(OleFile::kRoot)) {
    const std::string& name = file->name(entry);
    is_message = is_message || name == kFixedValues || name.starts_with(kValuePrefix);
  }
  if (!is_message) return Failure{ErrorKind::Corrupt, "no Outlook message: it has no properties"};
  OpenFile open{file, named_properties(*file)};
  read_message(open, OleFile::kRoot, 0, message);
  if (!open.is_spent()) return std::nullopt;
  return Failure{ErrorKind::TooLarge, fmt::format("more than {} folders or {} bytes of properties",
                                                  kFoldersMax, kPropertyBytesMax)};
}

}  // namespace quern::worker

// MailMessage: a message as every kind of mail file tells it: who, when, what, and what hangs on
// it. Email, Msg and Pst read into it; mail_children.h and eml_writer.h write from it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/limits.h"

namespace quern::worker {

using ByteSink = std::function<void(std::string_view)>;
// Writes all bytes; the failure where they break off.
using ByteSource = std::function<std::optional<Failure>(const ByteSink&)>;

struct MailField {
  std::string name;   // "From", "Message-ID", ...
  std::string value;  // UTF-8, one line
};

enum class Hanging { Attached, Shown };

struct MailAttachment {
  std::string name;       // as stored; may be empty
  std::string mime_type;  // what the mail says; nothing believes it but the suffix of no name
  std::string content_id;
  // Shown: meant to be seen in the body. It becomes a child only where the body does not show it.
  Hanging hanging = Hanging::Attached;
  bool is_message = false;
  std::uint64_t bytes_hint = 0;    // as it stands in the mail; tells likes of one name apart
  std::optional<Failure> failure;  // why there is nothing to read
  ByteSource read;
};

struct MailMessage {
  std::vector<MailField> head;
  std::vector<MailField> shown;  // for readers, instead of those of the head
  std::string text;              // UTF-8; at least one of the two is mostly empty
  std::string html;
  std::vector<MailAttachment> attachments;

  std::string field(std::string_view name) const { return find(head, name); }
  std::string shown_field(std::string_view name) const {
    std::string value = find(shown, name);
    return value.empty() ? field(name) : value;
  }
  void set(std::string_view name, std::string value) {
    if (!value.empty()) head.push_back({std::string(name), std::move(value)});
  }
  void show(std::string_view name, std::string value) {
    if (!value.empty()) shown.push_back({std::string(name), std::move(value)});
  }

 private:
  static std::string find(const std::vector<MailField>& fields, std::string_view name) {
    for (const MailField& field : fields) {
      if (field.name == name) return field.value;
    }
    return "";
  }
};

// Bounds of one message; what lies beyond is an error that says so.
inline constexpr std::size_t kMailPartsMax = 10'000;
inline constexpr int kMailDepthMax = 64;
inline constexpr std::size_t kMailBodyBytesMax = 32 << 20;
inline constexpr std::size_t kMailFieldBytesMax = 16 * 1024;  // of a field in the metadata
// Pictures that are put into the body itself.
inline constexpr std::size_t kShownPictureBytesMax = 2 << 20;
inline constexpr std::size_t kShownPicturesBytesMax = 16 << 20;

// The parent's metadata with the fields of the head: addresses where there are any, the others
// null where they are missing, as Overview has it.
std::string mail_metadata(const std::string& metadata, const MailMessage& message);

}  // namespace quern::worker

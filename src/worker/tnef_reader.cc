#include "worker/tnef_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/eml_writer.h"
#include "worker/mail_children.h"
#include "worker/mapi.h"
#include "worker/ole_file.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::uint32_t kSignature = 0x223E9F78;
constexpr std::size_t kHeadBytes = 6;
constexpr std::size_t kAttributeHeadBytes = 9;  // level, id, length
constexpr std::size_t kChecksumBytes = 2;
constexpr std::size_t kPropertiesMax = 100'000;
constexpr std::size_t kObjectIdBytes = 16;  // before what an object holds

// Attributes that say something to a reader.
constexpr std::uint32_t kSubject = 0x00018004;
constexpr std::uint32_t kBody = 0x0002800C;
constexpr std::uint32_t kAttachData = 0x0006800F;
constexpr std::uint32_t kAttachTitle = 0x00018010;
constexpr std::uint32_t kAttachBegin = 0x00069002;
constexpr std::uint32_t kProperties = 0x00069003;
constexpr std::uint32_t kRecipients = 0x00069004;
constexpr std::uint32_t kAttachProperties = 0x00069005;
constexpr std::uint32_t kCodepage = 0x00069007;

using Kept = std::shared_ptr<const std::string>;

// A piece of bytes that somebody keeps.
struct Piece {
  Kept owner;
  std::string_view bytes;
};

struct Properties {
  MapiBag bag;
  std::optional<std::string_view> data;  // of an attachment, as it stands
  bool data_is_object = false;
};

// A list of MAPI properties as TNEF has it: aligned to four bytes.
class PropertyReader {
 public:
  explicit PropertyReader(std::string_view bytes) : bytes_(bytes) {}

  bool read(Properties& out) {
    const std::uint64_t count = std::min<std::uint64_t>(number(4), kPropertiesMax);
    for (std::uint64_t i = 0; i < count && !failed_; ++i) property(out);
    return !failed_;
  }

  // A table is lists, one behind the other.
  bool read_rows(std::vector<MapiBag>& rows, std::uint64_t codepage) {
    const std::uint64_t count = std::min<std::uint64_t>(number(4), kMailPartsMax);
    for (std::uint64_t i = 0; i < count && !failed_; ++i) {
      Properties row;
      row.bag.set_codepage(codepage);
      if (read(row)) rows.push_back(std::move(row.bag));
    }
    return !failed_;
  }

 private:
  std::uint64_t number(std::size_t width) {
    if (bytes_.size() - at_ < width) {
      failed_ = true;
      return 0;
    }
    const std::uint64_t value = number_le(bytes_, at_, width);
    at_ += width;
    return value;
  }

  std::string_view take(std::uint64_t size) {
    if (failed_ || bytes_.size() - at_ < size) {
      failed_ = true;
      return {};
    }
    const std::string_view piece = bytes_.substr(at_, size);
    at_ = std::min<std::size_t>(at_ + (size + 3) / 4 * 4, bytes_.size());
    return piece;
  }

  void property(Properties& out) {
    const auto type = static_cast<std::uint16_t>(number(2));
    const auto id = static_cast<std::uint16_t>(number(2));
    if (id >= 0x8000) skip_name();
    const bool many = (type & 0x1000) != 0;
    const auto single = static_cast<std::uint16_t>(type & 0x0FFF);
    const bool variable =
        single == 0x001E || single == 0x001F || single == 0x0102 || single == 0x000D;
    const std::uint64_t count = many || variable ? number(4) : 1;
    if (!variable && fixed_bytes(single) == 0) return;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kPropertiesMax) && !failed_; ++i) {
      const std::string_view value = take(variable ? number(4) : fixed_bytes(single));
      if (i == 0 && !failed_ && id < 0x8000) put(out, id, single, value);
    }
  }

  static std::uint64_t fixed_bytes(std::uint16_t type) {
    switch (type) {
      case 0x0005:
      case 0x0006:
      case 0x0007:
      case 0x0014:
      case 0x0040:
        return 8;
      case 0x0048:
        return 16;
      case 0x0001:
        return 0;
      default:
        return 4;
    }
  }

  // A set, and a number or a text in it.
  void skip_name() {
    take(16);
    const bool by_text = number(4) == 1;
    const std::uint64_t value = number(4);
    if (by_text) take(value);
  }

  static void put(Properties& out, std::uint16_t id, std::uint16_t type, std::string_view value) {
    if (id == mapi::kAttachData) {
      out.data = value;
      out.data_is_object = type == 0x000D;
      return;
    }
    const auto kind = mapi_kind(type);
    if (!kind) return;
    if (kind == MapiKind::Number || kind == MapiKind::Time) {
      const std::size_t width = type == 0x0002 || type == 0x000B ? 2 : value.size();
      out.bag.put_number(id, number_le(value, 0, width), *kind);
    } else {
      out.bag.put(id, *kind, std::string(value.substr(0, kMailBodyBytesMax)));
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

class TnefReader {
 public:
  TnefReader(Piece piece, int depth) : piece_(std::move(piece)), depth_(depth) {}

  std::optional<Failure> read(MailMessage& message) {
    const bool whole = read_attributes();
    finish_attachment();
    old_ways();
    fill_mail(message_.bag, recipients_, message);
    std::move(attachments_.begin(), attachments_.end(), std::back_inserter(message.attachments));
    if (whole) return std::nullopt;
    return Failure{ErrorKind::Corrupt,
                   fmt::format("winmail.dat is damaged or cut short (after {} attachments)",
                               attachments_.size())};
  }

 private:
  bool read_attributes() {
    const std::string_view bytes = piece_.bytes;
    std::size_t at = kHeadBytes;
    while (at < bytes.size()) {
      // Mail programs add line ends.
      if (bytes.find_first_not_of(std::string_view("\r\n \0", 4), at) == std::string_view::npos) {
        return true;
      }
      if (bytes.size() - at < kAttributeHeadBytes) return false;
      const auto id = static_cast<std::uint32_t>(number_le(bytes, at + 1, 4));
      const std::uint64_t length = number_le(bytes, at + 5, 4);
      at += kAttributeHeadBytes;
      const std::uint64_t left = bytes.size() - at;
      if (left < length) return false;
      if (!attribute(id, bytes.substr(at, length))) return false;
      at += length + std::min<std::uint64_t>(left - length, kChecksumBytes);
    }
    return true;
  }

  bool attribute(std::uint32_t id, std::string_view value) {
    switch (id) {
      case kCodepage:
        message_.bag.set_codepage(number_le(value, 0, 4));
        break;
      case kSubject:
        subject_ = value;
        break;
      case kBody:
        body_ = value;
        break;
      case kProperties:
        return PropertyReader(value).read(message_);
      case kRecipients:
        return PropertyReader(value).read_rows(recipients_, message_.bag.codepage());
      case kAttachBegin:
        finish_attachment();
        if (attachments_.size() >= kMailPartsMax) return false;
        attachment_.emplace();
        attachment_->bag.set_codepage(message_.bag.codepage());
        break;
      case kAttachTitle:
        title_ = value;
        break;
      case kAttachData:
        data_ = value;
        break;
      case kAttachProperties:
        if (!attachment_) attachment_.emplace();
        return PropertyReader(value).read(*attachment_);
      default:
        break;
    }
    return true;
  }

  // What programs before MAPI wrote.
  void old_ways() {
    message_.bag.put(mapi::kSubject, MapiKind::Text8, std::string(subject_));
    if (!body_.empty()) message_.bag.put(mapi::kBody, MapiKind::Text8, std::string(body_));
  }

  void finish_attachment() {
    if (!attachment_ && !data_) return;
    if (!attachment_) attachment_.emplace();
    MapiBag& bag = attachment_->bag;
    if (!title_.empty()) bag.put(mapi::kAttachFilename, MapiKind::Text8, std::string(title_));
    MailAttachment attachment = mapi_attachment(bag);
    const auto& object = attachment_->data;
    const bool is_object = object && attachment_->data_is_object && object->size() > kObjectIdBytes;
    if (is_object && looks_like_tnef(object->substr(kObjectIdBytes))) {
      embed({piece_.owner, object->substr(kObjectIdBytes)}, attachment);
    } else if (data_ || object) {
      std::string_view bytes = data_ ? *data_ : *object;
      if (!data_ && is_object) bytes.remove_prefix(kObjectIdBytes);
      attachment.read = [owner = piece_.owner, bytes](const ByteSink& sink) {
        sink(bytes);
        return std::optional<Failure>();
      };
    } else {
      attachment.failure = Failure{ErrorKind::Corrupt, "its bytes are missing in winmail.dat"};
    }
    attachments_.push_back(std::move(attachment));
    attachment_.reset();
    data_.reset();
    title_ = {};
  }

  void embed(Piece piece, MailAttachment& attachment) {
    if (depth_ >= kMailDepthMax) {
      attachment.failure =
          Failure{ErrorKind::TooDeep, fmt::format("more than {} messages deep", kMailDepthMax)};
      return;
    }
    const auto inner = std::make_shared<MailMessage>();
    auto failure = TnefReader(std::move(piece), depth_ + 1).read(*inner);
    attachment.is_message = true;
    attachment.mime_type = "message/rfc822";
    const std::string subject = inner->field("Subject");
    attachment.name = message_filename(subject.empty() ? attachment.name : subject);
    attachment.read = [inner, failure, depth = depth_](const ByteSink& sink) {
      write_eml(*inner, sink, depth + 1);
      return failure;
    };
  }

  Piece piece_;
  int depth_;
  Properties message_;
  std::vector<MapiBag> recipients_;
  std::vector<MailAttachment> attachments_;
  std::optional<Properties> attachment_;
  std::optional<std::string_view> data_;
  std::string_view title_;
  std::string_view subject_;
  std::string_view body_;
};

}  // namespace

bool looks_like_tnef(std::string_view bytes) {
  return bytes.size() > kHeadBytes && number_le(bytes, 0, 4) == kSignature;
}

std::optional<Failure> read_tnef(const std::shared_ptr<const std::string>& bytes,
                                 MailMessage& message) {
  if (!looks_like_tnef(*bytes)) return Failure{ErrorKind::Corrupt, "no winmail.dat (TNEF)"};
  return TnefReader({bytes, *bytes}, 0).read(message);
}

}  // namespace quern::worker

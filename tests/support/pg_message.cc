#include "support/pg_message.h"

#include "base/check.h"

namespace quern::support {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

// Cuts off a text that ends with a zero byte.
std::string_view take_text(std::string_view& body) {
  const std::string_view text = body.substr(0, body.find('\0'));
  body.remove_prefix(std::min(text.size() + 1, body.size()));
  return text;
}

}  // namespace

PgStart PgMessage::start() const {
  CHECK(type == 0 && bytes.size() >= 2 * kLengthBytes);
  return static_cast<PgStart>(big_endian(std::string_view(bytes).substr(kLengthBytes)));
}

std::string_view PgMessage::body() const {
  return std::string_view(bytes).substr(kLengthBytes + (type == 0 ? 0 : 1));
}

std::optional<PgMessage> PgSplitter::next() {
  const std::size_t type_bytes = is_typed_ ? 1 : 0;
  if (pending_.size() < type_bytes + kLengthBytes) return std::nullopt;
  // The length counts itself, not the type.
  const std::size_t size = type_bytes + big_endian(std::string_view(pending_).substr(type_bytes));
  CHECK(size <= kPgMessageBytesMax);
  if (pending_.size() < size) return std::nullopt;
  PgMessage message{is_typed_ ? pending_[0] : '\0', pending_.substr(0, size)};
  pending_.erase(0, size);
  if (!is_typed_ && message.start() == PgStart::Session) is_typed_ = true;
  return message;
}

std::optional<std::string> PgStatements::text_run_by(const PgMessage& message) {
  std::string_view body = message.body();
  if (message.type == 'Q') return std::string(take_text(body));
  if (message.type == 'P') {
    const std::string name(take_text(body));
    texts_[name] = take_text(body);
  }
  if (message.type != 'B') return std::nullopt;
  take_text(body);  // the portal
  const auto found = texts_.find(take_text(body));
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

bool ends_with_ready(const PgMessage& message) {
  if (message.type == 0) return message.start() == PgStart::Session;
  return message.type == 'Q' || message.type == 'S' || message.type == 'F';
}

}  // namespace quern::support

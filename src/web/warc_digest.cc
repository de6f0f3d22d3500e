#include "web/warc_digest.h"

#include <strings.h>

#include <cstdint>

#include "base/base64.h"

namespace quern::web {
namespace {

constexpr char kBase32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::size_t kBase32Group = 8;

bool same_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view without_padding(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string base32_encoded(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 5; held -= 5) text += kBase32[(bits >> (held - 5)) & 31];
  }
  if (held > 0) text += kBase32[(bits << (5 - held)) & 31];
  while (text.size() % kBase32Group != 0) text += '=';
  return text;
}

std::string sha1_label(std::string_view raw) {
  return "sha1:" + base32_encoded(raw);
}

bool NamedDigest::equals(std::string_view raw) const {
  if (same_in_any_case(without_padding(value), without_padding(base32_encoded(raw)))) return true;
  if (same_in_any_case(value, blob::hex_of(raw))) return true;
  std::string base64 = base64_encoded(raw);
  if (value == base64) return true;
  for (char& c : base64) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return without_padding(value) == without_padding(base64);
}

std::optional<NamedDigest> parse_digest(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view name = text.substr(0, colon);
  NamedDigest digest{.value = std::string(text.substr(colon + 1))};
  if (same_in_any_case(name, "sha1") || same_in_any_case(name, "sha-1")) return digest;
  digest.kind = blob::Digest::Kind::Sha256;
  if (same_in_any_case(name, "sha256") || same_in_any_case(name, "sha-256")) return digest;
  return {};
}

}  // namespace quern::web

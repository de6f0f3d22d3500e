#include "worker/web_page_decode.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/html_decode.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

constexpr std::size_t kLabelBytesMax = 40;
constexpr int kSureBytes = 4;

// The word at the beginning, with quotes or without.
std::string label_at(std::string_view text) {
  text = trimmed(text);
  const char quote = text.empty() ? ' ' : text[0];
  if (quote == '"' || quote == '\'') {
    text = text.substr(1, text.find(quote, 1) - 1);
  } else {
    text = text.substr(0, text.find_first_of(" \t\r\n\f;\"'>"));
  }
  text = trimmed(text);
  if (text.size() > kLabelBytesMax) return "";
  return lower_ascii(text);
}

// Behind "charset", blanks and "=".
std::string label_behind_charset(std::string_view text) {
  const std::string low = lower_ascii(text);
  for (std::size_t at = 0; (at = low.find("charset", at)) != std::string::npos;) {
    at += 7;
    const std::size_t sign = low.find_first_not_of(" \t\r\n\f", at);
    if (sign != std::string::npos && low[sign] == '=') return label_at(text.substr(sign + 1));
  }
  return "";
}

// "<?xml version='1.0' encoding='x'?>"
std::string label_of_declaration(std::string_view head) {
  if (!head.starts_with("<?xml")) return "";
  const std::string_view declaration = head.substr(0, head.find('>'));
  const std::size_t at = declaration.find("encoding");
  if (at == std::string_view::npos) return "";
  const std::size_t sign = declaration.find('=', at);
  return sign == std::string_view::npos ? "" : label_at(declaration.substr(sign + 1));
}

// Of "<meta ...>", whichever of its two ways it says it in.
std::string label_of_meta(std::string_view tag) {
  const std::string low = lower_ascii(tag);
  const std::size_t name = low.find("charset");
  if (name == std::string::npos) return "";
  // Inside of content="..." it counts only for what stands for a header.
  const std::size_t content = low.find("content=");
  const bool is_inside = content < name && low.find("http-equiv") == std::string::npos;
  return is_inside ? "" : label_behind_charset(tag);
}

std::string known_charset(const std::string& label, bool by_meta) {
  if (label.empty()) return "";
  const std::string charset = charset_meant(label);
  // Who can read the tag in ASCII does not read UTF-16.
  if (by_meta && equals_ignoring_case(std::string_view(charset).substr(0, 6), "utf-16"))
    return "UTF-8";
  return charset;
}

bool has_mark(std::string_view bytes) {
  return bytes.starts_with("\xEF\xBB\xBF") || bytes.starts_with("\xFF\xFE") ||
         bytes.starts_with("\xFE\xFF");
}

bool is_utf8(const std::string& charset) {
  return equals_ignoring_case(charset, "utf-8");
}

// Bytes that decode_text may change, by themselves or with those behind them.
constexpr std::array<bool, 256> kOdd = [] {
  std::array<bool, 256> odd{};
  for (std::size_t c = 0; c < 0x20; ++c) odd[c] = c != '\n' && c != '\t' && c != '\r';
  for (const std::size_t c : {0x7F, 0xC2, 0xEF, 0xF0, 0xF1, 0xF2, 0xF3, 0xF4}) odd[c] = true;
  return odd;
}();

// Nothing that decode_text would change but line ends, which the parser knows.
bool is_clean(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (!kOdd[c]) continue;
    if (c < 0x80) return false;
    const auto next = [&](std::size_t n) {
      return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0xFF;
    };
    // C1 controls and noncharacters.
    if (c == 0xC2 && next(1) < 0xA0) return false;
    if (c == 0xEF && (next(1) == 0xB7 || next(1) == 0xBF)) return false;
    if (c >= 0xF0 && next(2) == 0xBF) return false;
  }
  return true;
}

std::string cleaned(std::string text, std::uint64_t characters_max) {
  if (text.size() <= characters_max && is_clean(text) && is_valid_utf8(text)) return text;
  return without_form_feeds(decode_text(valid_utf8(text), characters_max).text);
}

// Valid, and with so much beyond ASCII that this is no accident.
bool is_surely_utf8(std::string_view bytes) {
  const auto beyond = [](char c) { return (c & 0x80) != 0; };
  return std::ranges::count_if(bytes, beyond) >= kSureBytes && is_valid_utf8(bytes);
}

// What somebody says that it is; "" where only the bytes can tell.
std::string charset_told_of(std::string_view bytes, std::string_view content_type) {
  std::string charset = known_charset(charset_of_type(content_type), false);
  const bool by_header = !charset.empty() && !equals_ignoring_case(charset, "windows-1252");
  if (charset.empty()) charset = known_charset(charset_of_page(bytes), true);
  return !by_header && is_surely_utf8(bytes) ? "UTF-8" : charset;
}

}  // namespace

std::string charset_of_type(std::string_view content_type) {
  const std::size_t parameters = content_type.find(';');
  if (parameters == std::string_view::npos) return "";
  return label_behind_charset(content_type.substr(parameters));
}

std::string charset_of_page(std::string_view bytes) {
  std::string_view head = bytes.substr(0, kCharsetPrescanBytes);
  if (std::string label = label_of_declaration(head); !label.empty()) return label;
  for (;;) {
    const std::size_t at = head.find('<');
    if (at == std::string_view::npos) return "";
    head.remove_prefix(at);
    if (head.starts_with("<!--")) {
      const std::size_t end = head.find("-->", 2);
      if (end == std::string_view::npos) return "";
      head.remove_prefix(end + 3);
      continue;
    }
    const std::size_t end = std::min(head.find('>'), head.size());
    if (equals_ignoring_case(head.substr(0, 5), "<meta") && head.size() > 5 &&
        (is_blank(head[5]) || head[5] == '/')) {
      if (std::string label = label_of_meta(head.substr(5, end - 5)); !label.empty()) return label;
    }
    head.remove_prefix(std::max<std::size_t>(end, 1));
  }
}

std::string decode_web_page(std::string_view bytes, std::string_view content_type,
                            std::uint64_t characters_max) {
  if (has_mark(bytes)) return without_form_feeds(decode_text(bytes, characters_max).text);
  const std::string charset = charset_told_of(bytes, content_type);
  if (is_utf8(charset)) return cleaned(std::string(bytes), characters_max);
  if (auto text = to_utf8(bytes, charset)) return cleaned(*std::move(text), characters_max);
  // Valid UTF-8 hardly ever is anything else.
  if (is_valid_utf8(bytes) && is_clean(bytes)) return cleaned(std::string(bytes), characters_max);
  return without_form_feeds(decode_text(bytes, characters_max).text);
}

}  // namespace quern::worker

#include "worker/html_decode.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

constexpr char kEscape = '\x1B';

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The word behind `key=`, with quotes or without.
std::string value_behind(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  at += key.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == '"' || text[at] == '\'')) ++at;
  std::size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == '-' || text[end] == '_' || text[end] == ':')) {
    ++end;
  }
  return std::string(text.substr(at, end - at));
}

// Pages name these and mean others, as every browser knows.
std::string meant(const std::string& charset) {
  if (charset == "iso-8859-1" || charset == "latin1" || charset == "us-ascii") {
    return "WINDOWS-1252";
  }
  if (charset == "gb2312" || charset == "gbk") return "GB18030";
  if (charset == "iso-8859-9") return "WINDOWS-1254";
  if (charset == "x-sjis" || charset == "shift_jis") return "CP932";
  if (charset == "ks_c_5601-1987" || charset == "euc-kr") return "CP949";
  return charset;
}

bool has_mark(std::string_view bytes) {
  return bytes.starts_with("\xEF\xBB\xBF") || bytes.starts_with("\xFF\xFE") ||
         bytes.starts_with("\xFE\xFF");
}

}  // namespace

std::string charset_told(std::string_view html) {
  const std::string head = lower(html.substr(0, kCharsetBytes));
  std::string told = value_behind(head, "charset=");
  if (told.empty() && head.starts_with("<?xml")) told = value_behind(head, "encoding=");
  return told;
}

std::string decode_html(std::string_view bytes, std::string_view told,
                        std::uint64_t characters_max) {
  const bool plain = is_valid_utf8(bytes) && bytes.find(kEscape) == std::string_view::npos;
  if (!plain && !has_mark(bytes) && !looks_like_utf16(bytes)) {
    const std::string charset = told.empty() ? charset_told(bytes) : lower(told);
    const bool is_utf = charset.starts_with("utf");
    if (const auto text = is_utf ? std::nullopt : to_utf8(bytes, meant(charset))) {
      return decode_text(*text, characters_max).text;
    }
  }
  return decode_text(bytes, characters_max).text;
}

}  // namespace quern::worker

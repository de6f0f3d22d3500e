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

bool has_mark(std::string_view bytes) {
  return bytes.starts_with("\xEF\xBB\xBF") || bytes.starts_with("\xFF\xFE") ||
         bytes.starts_with("\xFE\xFF");
}

struct Meant {
  std::string_view label;
  const char* charset;
};
// Pages name these and mean others, as every browser knows.
constexpr Meant kMeant[] = {
    {"iso-8859-1", "WINDOWS-1252"},
    {"iso8859-1", "WINDOWS-1252"},
    {"iso_8859-1", "WINDOWS-1252"},
    {"latin1", "WINDOWS-1252"},
    {"latin-1", "WINDOWS-1252"},
    {"l1", "WINDOWS-1252"},
    {"us-ascii", "WINDOWS-1252"},
    {"ascii", "WINDOWS-1252"},
    {"x-cp1252", "WINDOWS-1252"},
    {"ansi", "WINDOWS-1252"},
    {"iso-8859-9", "WINDOWS-1254"},
    {"latin5", "WINDOWS-1254"},
    {"iso-8859-11", "CP874"},
    {"tis-620", "CP874"},
    {"windows-874", "CP874"},
    {"gb2312", "GB18030"},
    {"gbk", "GB18030"},
    {"x-gbk", "GB18030"},
    {"gb_2312-80", "GB18030"},
    {"x-sjis", "CP932"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"sjis", "CP932"},
    {"windows-31j", "CP932"},
    {"ms_kanji", "CP932"},
    {"ks_c_5601-1987", "CP949"},
    {"euc-kr", "CP949"},
    {"ksc5601", "CP949"},
    {"windows-949", "CP949"},
    {"x-euc-jp", "EUC-JP"},
    {"big5-hkscs", "BIG5-HKSCS"},
    {"x-x-big5", "BIG5"},
    {"x-cp1251", "WINDOWS-1251"},
    {"x-cp1250", "WINDOWS-1250"},
    {"koi", "KOI8-R"},
    {"koi8", "KOI8-R"},
    {"x-mac-roman", "MACINTOSH"},
    {"utf8", "UTF-8"},
    {"unicode-1-1-utf-8", "UTF-8"},
    {"utf-16", "UTF-16LE"},
    {"unicode", "UTF-16LE"},
    {"x-user-defined", "WINDOWS-1252"},
};

}  // namespace

std::string charset_meant(std::string_view label) {
  for (const Meant& meant : kMeant) {
    if (meant.label == label) return meant.charset;
  }
  return std::string(label);
}

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
    if (const auto text = is_utf ? std::nullopt : to_utf8(bytes, charset_meant(charset))) {
      return decode_text(*text, characters_max).text;
    }
  }
  return decode_text(bytes, characters_max).text;
}

}  // namespace quern::worker

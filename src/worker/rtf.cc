#include "worker/rtf.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/mail_message.h"
#include "worker/mapi.h"
#include "worker/ole_file.h"

namespace quern::worker {
namespace {

constexpr std::uint32_t kCompressed = 0x75465A4C;    // "LZFu"
constexpr std::uint32_t kUncompressed = 0x414C454D;  // "MELA"
constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kDictionaryBytes = 4096;
constexpr std::size_t kGroupsMax = 10'000;
// What every dictionary begins with (MS-OXRTFCP 2.1.2.1).
constexpr std::string_view kFirstWords =
    "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    "\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    "\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";
static_assert(kFirstWords.size() == 207);

std::string unpacked(std::string_view bytes, std::size_t size_max) {
  std::string dictionary(kDictionaryBytes, ' ');
  std::copy(kFirstWords.begin(), kFirstWords.end(), dictionary.begin());
  std::size_t write = kFirstWords.size();
  std::string out;
  const auto put = [&](char c) {
    out += c;
    dictionary[write] = c;
    write = (write + 1) % kDictionaryBytes;
  };
  std::size_t at = 0;
  while (at < bytes.size() && out.size() < size_max) {
    const unsigned flags = static_cast<unsigned char>(bytes[at++]);
    for (int bit = 0; bit < 8 && at < bytes.size(); ++bit) {
      if ((flags >> bit & 1) == 0) {
        put(bytes[at++]);
        continue;
      }
      if (at + 1 >= bytes.size()) return out;
      const unsigned reference =
          static_cast<unsigned char>(bytes[at]) << 8 | static_cast<unsigned char>(bytes[at + 1]);
      at += 2;
      std::size_t from = reference >> 4;
      if (from == write) return out;
      for (unsigned left = (reference & 0xF) + 2; left > 0; --left) {
        put(dictionary[from]);
        from = (from + 1) % kDictionaryBytes;
      }
    }
  }
  return out;
}

// Of \fcharset.
std::uint64_t codepage_of_font(int charset) {
  constexpr std::pair<int, int> kPages[] = {
      {77, 10000}, {128, 932},  {129, 949},  {134, 936},  {136, 950},  {161, 1253}, {162, 1254},
      {163, 1258}, {177, 1255}, {178, 1256}, {186, 1257}, {204, 1251}, {222, 874},  {238, 1250}};
  for (const auto& [font, page] : kPages) {
    if (font == charset) return static_cast<std::uint64_t>(page);
  }
  return 0;
}

// Groups whose text is no text of the document.
bool is_hidden_destination(std::string_view word) {
  constexpr std::array kHidden = {"fonttbl",   "colortbl",  "stylesheet", "info",    "pict",
                                  "object",    "header",    "headerl",    "headerr", "headerf",
                                  "footer",    "footerl",   "footerr",    "footerf", "fldinst",
                                  "themedata", "listtable", "xmlnstbl"};
  return std::find(kHidden.begin(), kHidden.end(), word) != kHidden.end();
}

std::string_view word_as_text(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"par", "\n"},   {"line", "\n"},     {"row", "\n"},      {"sect", "\n"},
      {"page", "\n"},  {"tab", "\t"},      {"cell", "\t"},     {"lquote", "‘"},
      {"rquote", "’"}, {"ldblquote", "“"}, {"rdblquote", "”"}, {"bullet", "•"},
      {"endash", "–"}, {"emdash", "—"},    {"enspace", " "},   {"emspace", " "}};
  for (const auto& [name, text] : kWords) {
    if (name == word) return text;
  }
  return "";
}

std::string utf8_of(std::uint32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return "\xEF\xBF\xBD";
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

class RtfReader {
 public:
  explicit RtfReader(std::string_view rtf) : rtf_(rtf) {}

  RtfBody read() {
    states_.emplace_back();
    while (at_ < rtf_.size() && out_.size() < kMailBodyBytesMax) {
      const char c = rtf_[at_++];
      if (c == '{') {
        flush();
        skip_ = 0;
        if (states_.size() < kGroupsMax) states_.push_back(states_.back());
        states_.back().starred = false;
      } else if (c == '}') {
        flush();
        if (states_.size() > 1) states_.pop_back();
      } else if (c == '\\') {
        control();
      } else if (c != '\r' && c != '\n') {
        byte(c);
      }
    }
    flush();
    return {html_ ? RtfBody::Kind::Html : RtfBody::Kind::Text, valid_utf8(out_)};
  }

 private:
  struct State {
    bool hidden = false;
    bool starred = false;   // \* stood before the word that comes
    bool html_tag = false;  // a piece of the page itself
    bool rtf_only = false;  // \htmlrtf: for readers of RTF alone
    bool in_fonts = false;
    int font = -1;
    int skip_behind_unicode = 1;
  };
  State& state() { return states_.back(); }

  bool shows() { return !state().hidden && (!html_ || state().html_tag || !state().rtf_only); }

  void byte(char c) {
    if (skip_ > 0) {
      --skip_;
      return;
    }
    if (shows()) pending_ += c;
  }

  void text(std::string_view utf8) {
    flush();
    if (shows()) out_ += utf8;
  }

  // Bytes of one charset are decoded together: a letter may have two.
  void flush() {
    if (pending_.empty()) return;
    const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (std::all_of(pending_.begin(), pending_.end(), plain)) {
      out_ += pending_;
    } else {
      const auto font = fonts_.find(state().font);
      const std::uint64_t page =
          font != fonts_.end() && font->second != 0 ? font->second : codepage_;
      out_ += to_utf8(pending_, codepage_charset(page))
                  .value_or(to_utf8(pending_, "WINDOWS-1252").value_or(""));
    }
    pending_.clear();
  }

  void control() {
    if (at_ >= rtf_.size()) return;
    const char c = rtf_[at_];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      word();
      return;
    }
    ++at_;
    if (c == '\'') {
      hex();
    } else if (c == '*') {
      state().starred = true;
    } else if (c == '~') {
      text("\xC2\xA0");
    } else if (c == '\\' || c == '{' || c == '}') {
      byte(c);
    } else if (c == '\n' || c == '\r') {
      text("\n");
    }
  }

  void hex() {
    if (at_ + 2 > rtf_.size()) return;
    const auto digit = [](char c) {
      return c >= '0' && c <= '9'                     ? c - '0'
             : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                      : -1;
    };
    const int high = digit(rtf_[at_]);
    const int low = digit(rtf_[at_ + 1]);
    if (high < 0 || low < 0) return;
    at_ += 2;
    byte(static_cast<char>(high * 16 + low));
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < rtf_.size() && ((rtf_[at_] | 0x20) >= 'a' && (rtf_[at_] | 0x20) <= 'z')) ++at_;
    const std::string_view name = rtf_.substr(begin, at_ - begin);
    bool negative = false;
    std::optional<long> number;
    if (at_ < rtf_.size() && rtf_[at_] == '-') {
      negative = true;
      ++at_;
    }
    for (; at_ < rtf_.size() && rtf_[at_] >= '0' && rtf_[at_] <= '9'; ++at_) {
      number = std::min(number.value_or(0) * 10 + (rtf_[at_] - '0'), 1'000'000'000L);
    }
    if (negative && number) number = -*number;
    if (at_ < rtf_.size() && rtf_[at_] == ' ') ++at_;
    apply(name, number);
  }

  void apply(std::string_view name, std::optional<long> number) {
    const bool starred = std::exchange(state().starred, false);
    if (name == "u") {
      unicode(static_cast<std::uint32_t>(number.value_or(0)) & 0xFFFF);
      return;
    }
    if (const std::string_view shown = word_as_text(name); !shown.empty()) {
      text(shown);
      return;
    }
    flush();
    if (name == "bin") {
      at_ += std::min<std::size_t>(static_cast<std::size_t>(std::max(number.value_or(0), 0L)),
                                   rtf_.size() - at_);
    } else if (name == "uc") {
      state().skip_behind_unicode = static_cast<int>(std::clamp(number.value_or(1), 0L, 100L));
    } else if (name == "fromhtml") {
      html_ = true;
    } else if (name == "htmltag") {
      state().html_tag = true;
    } else if (name == "htmlrtf") {
      state().rtf_only = number.value_or(1) != 0;
    } else if (name == "ansicpg") {
      codepage_ = static_cast<std::uint64_t>(std::max(number.value_or(0), 0L));
    } else if (name == "f") {
      state().font = static_cast<int>(number.value_or(0));
    } else if (name == "fcharset" && state().in_fonts) {
      fonts_[state().font] = codepage_of_font(static_cast<int>(number.value_or(0)));
    } else if (starred || is_hidden_destination(name)) {
      state().hidden = true;
      state().in_fonts = state().in_fonts || name == "fonttbl";
    }
  }

  // Letters beyond 16 bits come as two.
  void unicode(std::uint32_t unit) {
    if (unit >= 0xD800 && unit < 0xDC00) {
      flush();
      high_ = unit;
    } else if (unit >= 0xDC00 && unit < 0xE000 && high_ != 0) {
      const std::uint32_t c = 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00);
      high_ = 0;
      text(utf8_of(c));
    } else {
      text(utf8_of(unit));
    }
    skip_ = state().skip_behind_unicode;
  }

  std::string_view rtf_;
  std::size_t at_ = 0;
  std::vector<State> states_;
  std::map<int, std::uint64_t> fonts_;
  std::uint64_t codepage_ = 1252;
  std::string pending_;
  std::string out_;
  std::uint32_t high_ = 0;
  int skip_ = 0;
  bool html_ = false;
};

}  // namespace

std::optional<std::string> decompressed_rtf(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  const std::uint64_t size = std::min<std::uint64_t>(number_le(bytes, 4, 4), kMailBodyBytesMax);
  const std::uint64_t magic = number_le(bytes, 8, 4);
  const std::string_view rest = bytes.substr(kHeadBytes);
  if (magic == kUncompressed) return std::string(rest.substr(0, size));
  if (magic != kCompressed) return std::nullopt;
  return unpacked(rest, size);
}

RtfBody read_rtf(std::string_view rtf) {
  return RtfReader(rtf).read();
}

}  // namespace quern::worker

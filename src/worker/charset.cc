#include "worker/charset.h"

#include <iconv.h>
#include <uchardet/uchardet.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace quern::worker {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kGuessBytesMax = 1024 * 1024;

class Converter {
 public:
  explicit Converter(const char* charset) : handle_(::iconv_open("UTF-8", charset)) {}
  ~Converter() {
    if (known()) ::iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool known() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  std::string convert(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 2);
    char* in = const_cast<char*>(bytes.data());
    std::size_t left = bytes.size();
    while (left > 0) {
      char out[4096];
      char* end = out;
      std::size_t room = sizeof out;
      const std::size_t result = ::iconv(handle_, &in, &left, &end, &room);
      text.append(out, static_cast<std::size_t>(end - out));
      if (result != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
      // A byte that is nothing in that charset, or the beginning of something at the end.
      text += kReplacement;
      ++in;
      --left;
    }
    return text;
  }

 private:
  iconv_t handle_;
};

}  // namespace

std::string guess_charset(std::string_view bytes) {
  const std::unique_ptr<uchardet, void (*)(uchardet_t)> detector(::uchardet_new(),
                                                                 ::uchardet_delete);
  bytes = bytes.substr(0, kGuessBytesMax);
  if (!detector || ::uchardet_handle_data(detector.get(), bytes.data(), bytes.size()) != 0) {
    return "";
  }
  ::uchardet_data_end(detector.get());
  return ::uchardet_get_charset(detector.get());
}

std::optional<std::string> to_utf8(std::string_view bytes, const std::string& charset) {
  Converter converter(charset.c_str());
  if (charset.empty() || !converter.known()) return std::nullopt;
  return converter.convert(bytes);
}

void warm_charsets() {
  // Kept open for ever: a table that nobody uses is unloaded. Once, whichever step asks.
  static std::vector<iconv_t> kept;
  if (!kept.empty()) return;
  for (const char* charset :
       {"WINDOWS-1252", "WINDOWS-1251", "WINDOWS-1250", "ISO-8859-1",   "ISO-8859-2",
        "ISO-8859-15",  "IBM437",       "IBM850",       "IBM866",       "KOI8-R",
        "SHIFT_JIS",    "EUC-JP",       "ISO-2022-JP",  "GB18030",      "BIG5",
        "EUC-KR",       "CP932",        "CP949",        "CP874",        "BIG5-HKSCS",
        "WINDOWS-1253", "WINDOWS-1254", "WINDOWS-1255", "WINDOWS-1256", "WINDOWS-1257",
        "WINDOWS-1258", "ISO-8859-5",   "ISO-8859-7",   "ISO-8859-8",   "KOI8-U",
        "UTF-16LE",     "UTF-16BE",     "UTF-32LE",     "MACINTOSH"}) {
    kept.push_back(::iconv_open("UTF-8", charset));
  }
}

}  // namespace quern::worker

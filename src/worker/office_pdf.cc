#include "worker/office_pdf.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace quern::worker {
namespace {

// The information and the trailer lie near the end, and are never compressed.
constexpr std::size_t kTailBytes = 64 * 1024;
constexpr std::size_t kDateBytesMax = 64;

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

template <class Keep>
void clear_run(std::string& pdf, std::size_t at, Keep keep) {
  for (; at < pdf.size() && keep(pdf[at]); ++at) pdf[at] = '0';
}

// "/CreationDate(D:20260102030405Z')" becomes blanks.
void clear_date(std::string& pdf, std::size_t from, std::string_view key) {
  const std::size_t at = pdf.find(key, from);
  if (at == std::string::npos) return;
  const std::size_t end = pdf.find(')', at);
  if (end == std::string::npos || end - at > kDateBytesMax) return;
  std::fill(pdf.begin() + static_cast<std::ptrdiff_t>(at),
            pdf.begin() + static_cast<std::ptrdiff_t>(end) + 1, ' ');
}

}  // namespace

void forget_when_made(std::string& pdf) {
  const std::size_t from = pdf.size() - std::min(pdf.size(), kTailBytes);
  clear_date(pdf, from, "/CreationDate(D:");
  clear_date(pdf, from, "/ModDate(D:");
  const std::size_t trailer = pdf.rfind("trailer");
  if (trailer == std::string::npos) return;
  const std::size_t id = pdf.find("/ID", trailer);
  for (std::size_t at = id; at != std::string::npos && at < pdf.size() && pdf[at] != ']'; ++at) {
    if (pdf[at] == '<') clear_run(pdf, at + 1, is_hex);
  }
  constexpr std::string_view kChecksum = "/DocChecksum /";
  const std::size_t checksum = pdf.find(kChecksum, trailer);
  if (checksum != std::string::npos) clear_run(pdf, checksum + kChecksum.size(), is_hex);
}

}  // namespace quern::worker

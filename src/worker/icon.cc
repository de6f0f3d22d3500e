#include "worker/icon.h"

#include <cstring>

namespace quern::worker {
namespace {

using namespace std::string_view_literals;

// Of the file and of each picture in its table.
constexpr std::size_t kHeadBytes = 6;
constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kBmpHeadBytes = 14;
constexpr std::size_t kInfoBytes = 40;
constexpr unsigned kPaletteBitsMax = 8;

unsigned number_at(std::string_view bytes, std::size_t at, int size) {
  unsigned number = 0;
  for (int i = size - 1; i >= 0; --i) {
    const auto byte = static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    number = number << 8 | byte;
  }
  return number;
}

void append_number(std::string& bytes, std::uint64_t number) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
}

// A bitmap in an icon lacks the head of a file and says twice its height: a mask follows.
std::string bmp_of(std::string_view bitmap) {
  const unsigned bits = number_at(bitmap, 14, 2);
  unsigned colours = number_at(bitmap, 32, 4);
  if (colours == 0 && bits <= kPaletteBitsMax) colours = 1U << bits;
  const std::uint64_t begin = kBmpHeadBytes + kInfoBytes + std::uint64_t{4} * colours;
  std::string bmp = "BM";
  append_number(bmp, kBmpHeadBytes + bitmap.size());
  append_number(bmp, 0);
  append_number(bmp, begin);
  bmp.append(bitmap.substr(0, 8));
  append_number(bmp, number_at(bitmap, 8, 4) / 2);
  bmp.append(bitmap.substr(12));
  return bmp;
}

}  // namespace

bool is_icon(std::string_view bytes) {
  return bytes.size() > kHeadBytes &&
         (bytes.starts_with("\0\0\x01\0"sv) || bytes.starts_with("\0\0\x02\0"sv));
}

std::optional<Failure> from_icon(std::string_view bytes, std::string& picture) {
  const unsigned count = number_at(bytes, 4, 2);
  std::string_view largest;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t at = kHeadBytes + i * kEntryBytes;
    if (at + kEntryBytes > bytes.size()) break;
    const std::size_t begin = number_at(bytes, at + 12, 4);
    const std::size_t size = number_at(bytes, at + 8, 4);
    if (begin >= bytes.size() || size > bytes.size() - begin) continue;
    if (size > largest.size()) largest = bytes.substr(begin, size);
  }
  const bool is_png = largest.starts_with("\x89PNG");
  if (!is_png && largest.size() < kInfoBytes) {
    return Failure{model::ErrorKind::Corrupt, "the icon is damaged or cut short"};
  }
  picture = is_png ? std::string(largest) : bmp_of(largest);
  return std::nullopt;
}

}  // namespace quern::worker

#include "web/wacz_zip.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace quern::web {
namespace {

constexpr std::uint32_t kLocalHead = 0x04034b50;
constexpr std::uint32_t kDirectoryRow = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Place = 0x07064b50;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint16_t kPlainVersion = 20;
constexpr std::uint16_t kZip64Version = 45;
constexpr std::uint16_t kMadeByUnix = 3 << 8;
constexpr std::uint16_t kUtf8Names = 1 << 11;
constexpr std::uint32_t kFileMode = 0100644U << 16;
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;
constexpr std::uint16_t kElsewhere16 = 0xFFFF;

// Little-endian numbers, one after the other.
class Bytes {
 public:
  Bytes& u16(std::uint16_t value) { return number(value, 2); }
  Bytes& u32(std::uint32_t value) { return number(value, 4); }
  Bytes& u64(std::int64_t value) { return number(static_cast<std::uint64_t>(value), 8); }
  Bytes& text(std::string_view value) {
    bytes_.append(value);
    return *this;
  }
  std::uint16_t size16() const { return static_cast<std::uint16_t>(bytes_.size()); }
  const std::string& str() const { return bytes_; }

 private:
  Bytes& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

}  // namespace

ZipWriter::ZipWriter(Sink sink, std::int64_t at_us, std::int64_t zip64_from)
    : sink_(std::move(sink)), zip64_from_(zip64_from) {
  using namespace std::chrono;
  const sys_seconds at{seconds(at_us / 1'000'000)};
  const auto day_point = floor<days>(at);
  const year_month_day date(day_point);
  const hh_mm_ss time(at - day_point);
  // DOS counts from 1980 to 2107.
  const int years = std::clamp(static_cast<int>(date.year()) - 1980, 0, 127);
  dos_date_ = static_cast<std::uint16_t>(years << 9 | static_cast<unsigned>(date.month()) << 5 |
                                         static_cast<unsigned>(date.day()));
  dos_time_ = static_cast<std::uint16_t>(time.hours().count() << 11 | time.minutes().count() << 5 |
                                         time.seconds().count() / 2);
}

Result<> ZipWriter::put(std::string_view bytes) {
  TRY(sink_(bytes));
  written_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

std::string ZipWriter::local_head(const ZipEntry& entry) const {
  const bool large = entry.bytes >= zip64_from_;
  Bytes extra;
  if (large) extra.u16(kZip64Extra).u16(16).u64(entry.bytes).u64(entry.bytes);
  const auto size = large ? kElsewhere : static_cast<std::uint32_t>(entry.bytes);
  Bytes head;
  head.u32(kLocalHead).u16(large ? kZip64Version : kPlainVersion).u16(kUtf8Names).u16(0);
  head.u16(dos_time_).u16(dos_date_).u32(entry.crc).u32(size).u32(size);
  head.u16(static_cast<std::uint16_t>(entry.name.size())).u16(extra.size16());
  return head.text(entry.name).text(extra.str()).str();
}

Result<> ZipWriter::begin(const ZipEntry& entry) {
  CHECK(entry_left_ == 0);
  if (entry.name.size() > kZipNameBytesMax) {
    return Error{Errc::Invalid, "a name in a zip file has at most 65535 bytes"};
  }
  entries_.push_back({entry, written_});
  entry_left_ = entry.bytes;
  return put(local_head(entry));
}

Result<> ZipWriter::add(std::string_view bytes) {
  CHECK(static_cast<std::int64_t>(bytes.size()) <= entry_left_);
  entry_left_ -= static_cast<std::int64_t>(bytes.size());
  return put(bytes);
}

std::string ZipWriter::directory_row(const Written& written) const {
  const ZipEntry& entry = written.entry;
  const bool large = entry.bytes >= zip64_from_;
  const bool far = written.offset >= zip64_from_;
  Bytes numbers;
  if (large) numbers.u64(entry.bytes).u64(entry.bytes);
  if (far) numbers.u64(written.offset);
  Bytes extra;
  if (large || far) extra.u16(kZip64Extra).u16(numbers.size16()).text(numbers.str());
  const std::uint16_t version = large || far ? kZip64Version : kPlainVersion;
  const auto size = large ? kElsewhere : static_cast<std::uint32_t>(entry.bytes);
  Bytes row;
  row.u32(kDirectoryRow).u16(kMadeByUnix | version).u16(version).u16(kUtf8Names).u16(0);
  row.u16(dos_time_).u16(dos_date_).u32(entry.crc).u32(size).u32(size);
  row.u16(static_cast<std::uint16_t>(entry.name.size())).u16(extra.size16()).u16(0);
  row.u16(0).u16(0).u32(kFileMode);
  row.u32(far ? kElsewhere : static_cast<std::uint32_t>(written.offset));
  return row.text(entry.name).text(extra.str()).str();
}

std::string ZipWriter::end_record(std::int64_t directory_offset,
                                  std::int64_t directory_bytes) const {
  const auto count = static_cast<std::int64_t>(entries_.size());
  const bool many = count >= kElsewhere16;
  const bool far = directory_offset >= zip64_from_ || directory_bytes >= zip64_from_;
  Bytes end;
  if (many || far) {
    end.u32(kEnd64).u64(44).u16(kMadeByUnix | kZip64Version).u16(kZip64Version).u32(0).u32(0);
    end.u64(count).u64(count).u64(directory_bytes).u64(directory_offset);
    end.u32(kEnd64Place).u32(0).u64(directory_offset + directory_bytes).u32(1);
  }
  const std::uint16_t count16 = many || far ? kElsewhere16 : static_cast<std::uint16_t>(count);
  end.u32(kEnd).u16(0).u16(0).u16(count16).u16(count16);
  end.u32(many || far ? kElsewhere : static_cast<std::uint32_t>(directory_bytes));
  end.u32(many || far ? kElsewhere : static_cast<std::uint32_t>(directory_offset)).u16(0);
  return end.str();
}

Result<> ZipWriter::finish() {
  CHECK(entry_left_ == 0);
  const std::int64_t begin = written_;
  for (const Written& written : entries_) TRY(put(directory_row(written)));
  return put(end_record(begin, written_ - begin));
}

}  // namespace quern::web

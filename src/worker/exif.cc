#include "worker/exif.h"

#include <algorithm>
#include <string>

#include "worker/text_decode.h"

namespace quern::worker {
namespace {

using namespace std::string_view_literals;

// A JPEG's marks: its beginning, the part that EXIF is in, the beginning of the picture itself.
constexpr unsigned kStart = 0xFFD8;
constexpr unsigned kExifPart = 0xFFE1;
constexpr unsigned kScan = 0xFFDA;
constexpr auto kExifName = "Exif\0\0"sv;

constexpr unsigned kText = 2;  // a type of value
constexpr std::size_t kEntryBytes = 12;
constexpr unsigned kEntriesMax = 1'000;

// Of entries in a table.
constexpr unsigned kDescription = 0x010E;
constexpr unsigned kMake = 0x010F;
constexpr unsigned kModel = 0x0110;
constexpr unsigned kSoftware = 0x0131;
constexpr unsigned kDate = 0x0132;
constexpr unsigned kArtist = 0x013B;
constexpr unsigned kExifPlace = 0x8769;
constexpr unsigned kDateTaken = 0x9003;

// Numbers of either order in bytes that may be cut anywhere: what is not there is 0.
class Reader {
 public:
  Reader(std::string_view bytes, bool big) : bytes_(bytes), big_(big) {}

  unsigned number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return 0;
    unsigned value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t place = big_ ? at + i : at + size - 1 - i;
      value = value << 8 | static_cast<unsigned char>(bytes_[place]);
    }
    return value;
  }

  // Of an entry of a table.
  std::string text(std::size_t entry) const {
    if (number(entry + 2, 2) != kText) return "";
    const std::size_t length = number(entry + 4, 4);
    const std::size_t at = length <= 4 ? entry + 8 : number(entry + 8, 4);
    if (at > bytes_.size() || length > bytes_.size() - at) return "";
    const std::string_view found = bytes_.substr(at, length);
    return decode_text(found.substr(0, found.find('\0')), kMetadataBytesMax).text;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

// "2020:03:27 01:09:35" is "2020-03-27T01:09:35".
std::string iso_date(std::string date) {
  if (date.size() != 19 || date[4] != ':' || date[7] != ':' || date[10] != ' ') return "";
  if (date.starts_with("0000")) return "";
  date[4] = date[7] = '-';
  date[10] = 'T';
  return date;
}

struct Found {
  std::string make;
  std::string model;
  std::string taken;
  std::string changed;
};

void read_table(const Reader& reader, std::size_t table, Metadata& metadata, Found& found) {
  const unsigned count = std::min(reader.number(table, 2), kEntriesMax);
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t entry = table + 2 + i * kEntryBytes;
    switch (reader.number(entry, 2)) {
      case kDescription:
        metadata.add("Description", reader.text(entry));
        break;
      case kArtist:
        metadata.add("Author", reader.text(entry));
        break;
      case kSoftware:
        metadata.add("Software", reader.text(entry));
        break;
      case kMake:
        found.make = reader.text(entry);
        break;
      case kModel:
        found.model = reader.text(entry);
        break;
      case kDate:
        found.changed = reader.text(entry);
        break;
      case kDateTaken:
        found.taken = reader.text(entry);
        break;
      default:
        break;
    }
  }
}

// Nothing where the JPEG has none.
std::string_view exif_in_jpeg(std::string_view jpeg) {
  const Reader reader(jpeg, true);
  if (reader.number(0, 2) != kStart) return {};
  for (std::size_t at = 2; at + 4 < jpeg.size();) {
    const unsigned mark = reader.number(at, 2);
    const std::size_t length = reader.number(at + 2, 2);
    if (mark < 0xFF00 || mark == kScan || length < 2) return {};
    const std::string_view part = jpeg.substr(at + 4, length - 2);
    if (mark == kExifPart && part.starts_with(kExifName)) return part.substr(kExifName.size());
    at += 2 + length;
  }
  return {};
}

}  // namespace

void add_exif(std::string_view picture, Metadata& metadata) {
  const bool is_tiff = picture.starts_with("II*\0"sv) || picture.starts_with("MM\0*"sv);
  const std::string_view exif = is_tiff ? picture : exif_in_jpeg(picture);
  if (exif.size() < 8) return;
  const Reader reader(exif, exif[0] == 'M');
  const std::size_t table = reader.number(4, 4);
  Found found;
  read_table(reader, table, metadata, found);
  const unsigned count = std::min(reader.number(table, 2), kEntriesMax);
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t entry = table + 2 + i * kEntryBytes;
    if (reader.number(entry, 2) != kExifPlace) continue;
    read_table(reader, reader.number(entry + 8, 4), metadata, found);
  }
  metadata.add("Creation Date", iso_date(found.taken.empty() ? found.changed : found.taken));
  const bool named = found.model.starts_with(found.make);
  metadata.add("Camera", named ? found.model : found.make + " " + found.model);
}

}  // namespace quern::worker

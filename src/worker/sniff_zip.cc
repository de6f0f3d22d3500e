// What a zip really is: its central directory and one or two small members tell.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "worker/detected_lines.h"
#include "worker/sniff.h"

namespace quern::worker {
namespace {

constexpr std::size_t kTailBytes = 66 * 1024;  // the end record and the longest comment
constexpr std::size_t kDirectoryBytesMax = 256 * 1024;
constexpr std::size_t kEntriesMax = 4000;
constexpr std::size_t kMemberBytesMax = 256 * 1024;
constexpr std::size_t kLocalHeadBytes = 30;
constexpr std::size_t kCentralHeadBytes = 46;

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;) {
    if (at + i >= bytes.size()) return 0;
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

struct Entry {
  std::string name;
  std::uint64_t method = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t header_offset = 0;
};

class ZipPeek {
 public:
  explicit ZipPeek(const Sample& sample) : sample_(sample) {
    read_directory();
    if (entries_.empty()) read_local_headers();
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool has_prefix(std::string_view prefix) const {
    const auto begins = [prefix](const Entry& e) { return e.name.starts_with(prefix); };
    return std::any_of(entries_.begin(), entries_.end(), begins);
  }
  // What is in a small member; as much of it as can be had.
  std::string contents(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) return "";
    const std::string head = sample_.read(entry->header_offset, kLocalHeadBytes);
    if (!head.starts_with("PK\x03\x04")) return "";
    const std::uint64_t at =
        entry->header_offset + kLocalHeadBytes + number_at(head, 26, 2) + number_at(head, 28, 2);
    // Of one that was written as a stream the directory alone knows the size.
    const std::uint64_t packed = entry->packed_bytes != 0 ? entry->packed_bytes : kMemberBytesMax;
    const std::string bytes = sample_.read(at, std::min<std::uint64_t>(packed, kMemberBytesMax));
    if (entry->method == 0) return bytes;
    return entry->method == 8 ? inflated(bytes) : "";
  }

 private:
  void read_directory() {
    const std::uint64_t tail_at = sample_.size() > kTailBytes ? sample_.size() - kTailBytes : 0;
    const std::string tail = sample_.read(tail_at, kTailBytes);
    const std::size_t end = tail.rfind("PK\x05\x06");
    if (end == std::string::npos) return;
    const std::uint64_t bytes = number_at(tail, end + 12, 4);
    // Counted back from the end record: something may lie in front of the archive.
    if (bytes > tail_at + end) return;
    const std::uint64_t at = tail_at + end - bytes;
    base_ = at - std::min(at, number_at(tail, end + 16, 4));
    const std::string directory =
        sample_.read(at, std::min(bytes, std::uint64_t{kDirectoryBytesMax}));
    read_entries(directory);
  }

  void read_entries(std::string_view directory) {
    std::size_t at = 0;
    while (entries_.size() < kEntriesMax && at + kCentralHeadBytes <= directory.size() &&
           directory.substr(at).starts_with("PK\x01\x02")) {
      const std::size_t name_bytes = number_at(directory, at + 28, 2);
      Entry entry;
      entry.name = directory.substr(std::min(at + kCentralHeadBytes, directory.size()), name_bytes);
      entry.method = number_at(directory, at + 10, 2);
      entry.packed_bytes = number_at(directory, at + 20, 4);
      entry.header_offset = base_ + number_at(directory, at + 42, 4);
      entries_.push_back(std::move(entry));
      at += kCentralHeadBytes + name_bytes + number_at(directory, at + 30, 2) +
            number_at(directory, at + 32, 2);
    }
  }

  // Of an archive that was cut off: whatever heads stand in the beginning.
  void read_local_headers() {
    const std::string_view head = sample_.head();
    for (std::size_t at = head.find("PK\x03\x04");
         at != std::string_view::npos && entries_.size() < kEntriesMax;
         at = head.find("PK\x03\x04", at + 4)) {
      const std::size_t name_bytes = number_at(head, at + 26, 2);
      if (at + kLocalHeadBytes + name_bytes > head.size()) break;
      Entry entry;
      entry.name = head.substr(at + kLocalHeadBytes, name_bytes);
      entry.method = number_at(head, at + 8, 2);
      entry.packed_bytes = number_at(head, at + 18, 4);
      entry.header_offset = at;
      entries_.push_back(std::move(entry));
    }
  }

  static std::string inflated(std::string_view bytes) {
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return "";
    std::string text(kMemberBytesMax, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    ::inflate(&stream, Z_FINISH);
    text.resize(std::min<std::size_t>(stream.total_out, text.size()));
    ::inflateEnd(&stream);
    return text;
  }

  const Sample& sample_;
  std::vector<Entry> entries_;
  std::uint64_t base_ = 0;
};

struct MainPart {
  std::string_view content_type;
  std::string_view type;
};
// The content type of a package's main part ends in one of these; the first found counts, so that
// longer ones stand before what they contain.
constexpr std::array kMainParts = {
    MainPart{"ms-word.document.macroenabled.main+xml",
             "application/vnd.ms-word.document.macroenabled.12"},
    MainPart{"ms-word.template.macroenabledtemplate.main+xml",
             "application/vnd.ms-word.template.macroenabled.12"},
    MainPart{"wordprocessingml.template.main+xml",
             "application/vnd.openxmlformats-officedocument.wordprocessingml.template"},
    MainPart{"wordprocessingml.document.main+xml",
             "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    MainPart{"ms-excel.sheet.binary.macroenabled.main",
             "application/vnd.ms-excel.sheet.binary.macroenabled.12"},
    MainPart{"ms-excel.sheet.macroenabled.main+xml",
             "application/vnd.ms-excel.sheet.macroenabled.12"},
    MainPart{"ms-excel.template.macroenabled.main+xml",
             "application/vnd.ms-excel.template.macroenabled.12"},
    MainPart{"ms-excel.addin.macroenabled.main+xml",
             "application/vnd.ms-excel.addin.macroenabled.12"},
    MainPart{"spreadsheetml.template.main+xml",
             "application/vnd.openxmlformats-officedocument.spreadsheetml.template"},
    MainPart{"spreadsheetml.sheet.main+xml",
             "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    MainPart{"ms-powerpoint.presentation.macroenabled.main+xml",
             "application/vnd.ms-powerpoint.presentation.macroenabled.12"},
    MainPart{"ms-powerpoint.slideshow.macroenabled.main+xml",
             "application/vnd.ms-powerpoint.slideshow.macroenabled.12"},
    MainPart{"ms-powerpoint.template.macroenabled.main+xml",
             "application/vnd.ms-powerpoint.template.macroenabled.12"},
    MainPart{"presentationml.slideshow.main+xml",
             "application/vnd.openxmlformats-officedocument.presentationml.slideshow"},
    MainPart{"presentationml.template.main+xml",
             "application/vnd.openxmlformats-officedocument.presentationml.template"},
    MainPart{"presentationml.presentation.main+xml",
             "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    MainPart{"ms-visio.drawing.macroenabled.main+xml",
             "application/vnd.ms-visio.drawing.macroenabled"},
    MainPart{"ms-visio.drawing.main+xml", "application/vnd.ms-visio.drawing"},
    MainPart{"ms-visio.stencil.main+xml", "application/vnd.ms-visio.stencil"},
    MainPart{"ms-visio.template.main+xml", "application/vnd.ms-visio.template"},
    MainPart{"ms-package.xps-fixeddocumentsequence+xml", "application/vnd.ms-xpsdocument"},
    MainPart{"ms-package.3dmanufacturing-3dmodel+xml", "model/3mf"},
};

struct Marker {
  std::string_view name;  // of a member, or a folder where it ends in a slash
  std::string_view type;
};
// Of packages whose list of types is missing or cannot be read, then of other kinds.
constexpr std::array kMarkers = {
    Marker{"word/document.xml",
           "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    Marker{"xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    Marker{"xl/workbook.bin", "application/vnd.ms-excel.sheet.binary.macroenabled.12"},
    Marker{"ppt/presentation.xml",
           "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    Marker{"visio/document.xml", "application/vnd.ms-visio.drawing"},
    Marker{"META-INF/container.xml", "application/epub+zip"},
    Marker{"AndroidManifest.xml", "application/vnd.android.package-archive"},
    Marker{"META-INF/MANIFEST.MF", "application/java-archive"},
    Marker{"index.apxl", "application/vnd.apple.keynote"},
    Marker{"doc.kml", "application/vnd.google-earth.kmz"},
};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return text;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::optional<std::string> by_content_types(const ZipPeek& zip) {
  const std::string types = lower(zip.contents("[Content_Types].xml"));
  if (types.empty()) return std::nullopt;
  for (const MainPart& part : kMainParts) {
    if (types.find(part.content_type) != std::string::npos) return std::string(part.type);
  }
  return std::nullopt;
}

// Old StarOffice files have no member for it, but their manifest tells: the root's type is first.
std::optional<std::string> by_manifest(const ZipPeek& zip) {
  constexpr std::string_view kBefore = "media-type=\"";
  const std::string manifest = zip.contents("META-INF/manifest.xml");
  const std::size_t at = manifest.find(kBefore);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + kBefore.size();
  const std::string type = lower(manifest.substr(begin, manifest.find('"', begin) - begin));
  if (!type.starts_with("application/vnd.") || !is_plain_type(type)) return std::nullopt;
  return type;
}

}  // namespace

std::optional<std::string> sniff_zip(const Sample& sample) {
  if (!sample.begins_with("PK\x03\x04")) return std::nullopt;
  const ZipPeek zip(sample);
  // OpenDocument, StarOffice and EPUB say it themselves, wherever that member stands.
  const std::string said = lower(trimmed(zip.contents("mimetype")));
  if (said.starts_with("application/") && is_plain_type(said)) return said;
  if (auto type = by_content_types(zip)) return type;
  if (auto type = by_manifest(zip)) return type;
  for (const Marker& marker : kMarkers) {
    if (zip.has(marker.name)) return std::string(marker.type);
  }
  if (zip.has_prefix("Index/") && zip.has("Index/Presentation.iwa")) {
    return "application/vnd.apple.keynote";
  }
  return "application/zip";
}

}  // namespace quern::worker

// What an OLE compound file really is: the names of its streams tell.
#include <algorithm>
#include <array>

#include "worker/sniff.h"

namespace quern::worker {
namespace {

constexpr std::string_view kMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
constexpr std::size_t kEntryBytes = 128;
constexpr std::size_t kDirectorySectorsMax = 256;
constexpr std::size_t kTableSectorsInHead = 109;
constexpr std::uint32_t kLastSector = 0xFFFFFFFA;  // and above: no sector

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint32_t number = 0;
  for (std::size_t i = width; i-- > 0;) {
    number = number << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
  }
  return number;
}

struct Entry {
  std::string name;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t child = 0;
};

class OlePeek {
 public:
  explicit OlePeek(const Sample& sample) : sample_(sample) {
    head_ = sample.read(0, 512);
    const std::uint32_t shift = number_at(head_, 30, 2);
    if (shift != 9 && shift != 12) return;
    sector_bytes_ = std::size_t{1} << shift;
    std::uint32_t sector = number_at(head_, 48, 4);
    for (std::size_t i = 0; i < kDirectorySectorsMax && sector < kLastSector; ++i) {
      read_entries(read_sector(sector));
      sector = next_of(sector);
    }
    collect_names();
  }

  bool has(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  bool has_prefix(std::string_view prefix) const {
    const auto begins = [prefix](const std::string& name) { return name.starts_with(prefix); };
    return std::any_of(names_.begin(), names_.end(), begins);
  }
  // Of the root, as 16 bytes.
  const std::string& class_id() const { return class_id_; }

 private:
  std::string read_sector(std::uint32_t sector) const {
    return sample_.read((std::uint64_t{sector} + 1) * sector_bytes_, sector_bytes_);
  }

  // By the table, whose first sectors are listed in the head.
  std::uint32_t next_of(std::uint32_t sector) const {
    const std::size_t per_sector = sector_bytes_ / 4;
    const std::size_t table = sector / per_sector;
    if (table >= kTableSectorsInHead) return kLastSector;
    const std::uint32_t at = number_at(head_, 76 + table * 4, 4);
    if (at >= kLastSector) return kLastSector;
    const std::string numbers = read_sector(at);
    if (numbers.size() < sector_bytes_) return kLastSector;
    return number_at(numbers, (sector % per_sector) * 4, 4);
  }

  void read_entries(const std::string& entries) {
    for (std::size_t at = 0; at + kEntryBytes <= entries.size(); at += kEntryBytes) {
      const std::size_t bytes = std::min<std::size_t>(number_at(entries, at + 64, 2), 64);
      Entry entry;
      for (std::size_t i = 0; i + 2 < bytes; i += 2) entry.name += entries[at + i];
      entry.left = number_at(entries, at + 68, 4);
      entry.right = number_at(entries, at + 72, 4);
      entry.child = number_at(entries, at + 76, 4);
      if (entries_.empty()) class_id_ = entries.substr(at + 80, 16);
      entries_.push_back(std::move(entry));
    }
  }

  // What is embedded in a document brings streams of its own, in folders further down: only the
  // root's are looked at. They form a tree by left and right.
  void collect_names() {
    if (entries_.empty()) return;
    std::vector<std::uint32_t> open = {entries_[0].child};
    while (!open.empty() && names_.size() < entries_.size()) {
      const std::uint32_t number = open.back();
      open.pop_back();
      if (number >= entries_.size()) continue;
      const Entry& entry = entries_[number];
      names_.push_back(entry.name);
      open.push_back(entry.left);
      open.push_back(entry.right);
    }
  }

  const Sample& sample_;
  std::string head_;
  std::size_t sector_bytes_ = 512;
  std::vector<Entry> entries_;
  std::vector<std::string> names_;  // of the root's streams and folders
  std::string class_id_;
};

struct Marker {
  std::string_view stream;
  std::string_view type;
};
constexpr std::array kMarkers = {
    Marker{"__properties_version1.0", "application/vnd.ms-outlook"},
    Marker{"PowerPoint Document", "application/vnd.ms-powerpoint"},
    Marker{"PP40", "application/vnd.ms-powerpoint"},
    Marker{"WordDocument", "application/msword"},
    Marker{"Workbook", "application/vnd.ms-excel"},
    Marker{"Book", "application/vnd.ms-excel"},
    Marker{"WORKBOOK", "application/vnd.ms-excel"},
    Marker{"BOOK", "application/vnd.ms-excel"},
    Marker{"VisioDocument", "application/vnd.visio"},
    Marker{"Quill", "application/vnd.ms-publisher"},
    Marker{"MatOST", "application/vnd.ms-works"},
    Marker{"WksSSWorkBook", "application/vnd.ms-works"},
    Marker{"StarWriterDocument", "application/vnd.stardivision.writer"},
    Marker{"StarCalcDocument", "application/vnd.stardivision.calc"},
    Marker{"StarDrawDocument3", "application/vnd.stardivision.draw"},
    Marker{"StarDrawDocument", "application/vnd.stardivision.draw"},
    Marker{"\005HwpSummaryInformation", "application/x-hwp-v5"},
    Marker{"NativeContent_MAIN", "application/x-quattropro"},
    Marker{"SwDocContentMgr", "application/sldworks"},
    Marker{"PerfectOffice_MAIN", "application/vnd.wordperfect"},
};

// A document with a password, as newer offices write it: the name says which kind it was.
std::string type_of_encrypted(std::string_view suffix) {
  const std::string_view named = type_of_suffix(suffix);
  if (named == "application/msword" || named.starts_with("application/vnd.openxmlformats") ||
      named.starts_with("application/vnd.ms-")) {
    return std::string(named);
  }
  return "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
}

}  // namespace

bool is_encrypted_package(const Sample& sample) {
  return sample.begins_with(kMagic) && OlePeek(sample).has("EncryptedPackage");
}

std::optional<std::string> sniff_ole(const Sample& sample) {
  if (!sample.begins_with(kMagic)) return std::nullopt;
  const OlePeek ole(sample);
  const std::string suffix = suffix_of(sample.filename());
  if (ole.has("EncryptedPackage")) return type_of_encrypted(suffix);
  if (ole.has("StarDrawDocument3") && suffix == "sdd")
    return "application/vnd.stardivision.impress";
  for (const Marker& marker : kMarkers) {
    if (ole.has(marker.stream)) return std::string(marker.type);
  }
  if (ole.has_prefix("__substg1.0_")) return "application/vnd.ms-outlook";
  if (ole.has("CONTENTS") && suffix == "wps") return "application/vnd.ms-works";
  // The class of an installer's database.
  if (ole.class_id().starts_with("\x84\x10\x0C") || suffix == "msi") return "application/x-msi";
  // Damaged, or older than these names: the name of the file does not contradict.
  const std::string_view named = type_of_suffix(suffix);
  constexpr std::array kOle = {"application/msword", "application/vnd.ms-excel",
                               "application/vnd.ms-powerpoint", "application/vnd.ms-outlook"};
  if (std::find(kOle.begin(), kOle.end(), named) != kOle.end()) return std::string(named);
  return "application/x-ole-storage";
}

}  // namespace quern::worker

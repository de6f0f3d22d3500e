#include "worker/ole_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "worker/charset.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::string_view kMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
constexpr std::size_t kHeadBytes = 512;
constexpr std::size_t kEntryBytes = 128;
constexpr std::size_t kEntriesMax = 1'000'000;
constexpr std::size_t kSmallSectorBytes = 64;
constexpr std::size_t kTableSectorsInHead = 109;
constexpr std::uint32_t kLastSector = 0xFFFFFFFA;  // and above: no sector

std::vector<std::uint32_t> numbers_of(std::string_view bytes) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    numbers.push_back(static_cast<std::uint32_t>(number_le(bytes, at, 4)));
  }
  return numbers;
}

}  // namespace

std::uint64_t number_le(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i-- > 0;) {
    number = number << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
  }
  return number;
}

std::string OleFile::read_at(std::uint64_t offset, std::size_t bytes) const {
  if (offset >= input_.bytes) return "";
  std::string read(std::min<std::uint64_t>(bytes, input_.bytes - offset), '\0');
  std::size_t got = 0;
  while (got < read.size()) {
    const ssize_t n = ::pread(input_.descriptor, read.data() + got, read.size() - got,
                              static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  read.resize(got);
  return read;
}

std::string OleFile::read_sector(std::uint32_t sector) const {
  return read_at((std::uint64_t{sector} + 1) * sector_bytes_, sector_bytes_);
}

std::optional<Failure> OleFile::open(const StepInput& input) {
  input_ = input;
  const Failure damaged{ErrorKind::Corrupt, "its OLE container is damaged or cut short"};
  const std::string head = read_at(0, kHeadBytes);
  const std::uint64_t shift = number_le(head, 30, 2);
  if (!head.starts_with(kMagic) || head.size() < kHeadBytes || (shift != 9 && shift != 12)) {
    return damaged;
  }
  sector_bytes_ = std::size_t{1} << shift;
  small_below_ = number_le(head, 56, 4);
  directory_ = static_cast<std::uint32_t>(number_le(head, 48, 4));
  if (!read_table(head)) return damaged;
  read_entries();
  if (entries_.empty() || entries_[kRoot].kind != Kind::Folder) return damaged;
  read_small_sectors(static_cast<std::uint32_t>(number_le(head, 60, 4)));
  return std::nullopt;
}

// Where the sectors of the table lie is told in the head, and further on in sectors of their own.
bool OleFile::read_table(const std::string& head) {
  const std::uint64_t sectors_max = input_.bytes / sector_bytes_ + 1;
  std::vector<std::uint32_t> homes =
      numbers_of(std::string_view(head).substr(76, kTableSectorsInHead * 4));
  auto more = static_cast<std::uint32_t>(number_le(head, 68, 4));
  for (std::uint64_t i = 0; more < kLastSector && i < sectors_max; ++i) {
    std::vector<std::uint32_t> numbers = numbers_of(read_sector(more));
    if (numbers.empty()) break;
    more = numbers.back();
    homes.insert(homes.end(), numbers.begin(), numbers.end() - 1);
  }
  for (const std::uint32_t home : homes) {
    if (home >= kLastSector || table_.size() > sectors_max) break;
    std::string sector = read_sector(home);
    sector.resize(sector_bytes_, '\xFF');
    const std::vector<std::uint32_t> numbers = numbers_of(sector);
    table_.insert(table_.end(), numbers.begin(), numbers.end());
  }
  return !table_.empty();
}

std::vector<std::uint32_t> OleFile::chain(const std::vector<std::uint32_t>& table,
                                          std::uint32_t start, std::uint64_t sectors_max) const {
  std::vector<std::uint32_t> sectors;
  const std::uint64_t count_max = std::min<std::uint64_t>(sectors_max, table.size());
  for (std::uint32_t at = start; at < table.size() && sectors.size() < count_max; at = table[at]) {
    sectors.push_back(at);
  }
  return sectors;
}

void OleFile::read_entries() {
  for (const std::uint32_t sector : chain(table_, directory_, kEntriesMax)) {
    const std::string bytes = read_sector(sector);
    for (std::size_t at = 0; at + kEntryBytes <= bytes.size(); at += kEntryBytes) {
      Entry entry;
      const std::size_t name_bytes = std::min<std::uint64_t>(number_le(bytes, at + 64, 2), 64);
      const std::string_view name =
          std::string_view(bytes).substr(at, name_bytes >= 2 ? name_bytes - 2 : 0);
      entry.name = to_utf8(name, "UTF-16LE").value_or("");
      const int kind = static_cast<unsigned char>(bytes[at + 66]);
      entry.kind = kind == 2 ? Kind::Stream : kind == 1 || kind == 5 ? Kind::Folder : Kind::None;
      entry.left = static_cast<std::uint32_t>(number_le(bytes, at + 68, 4));
      entry.right = static_cast<std::uint32_t>(number_le(bytes, at + 72, 4));
      entry.child = static_cast<std::uint32_t>(number_le(bytes, at + 76, 4));
      entry.start = static_cast<std::uint32_t>(number_le(bytes, at + 116, 4));
      // Of small sectors the upper half is not to be trusted.
      entry.size = number_le(bytes, at + 120, sector_bytes_ == 512 ? 4 : 8);
      entries_.push_back(std::move(entry));
    }
  }
}

void OleFile::read_small_sectors(std::uint32_t start) {
  const std::uint64_t sectors_max = input_.bytes / sector_bytes_ + 1;
  for (const std::uint32_t sector : chain(table_, start, sectors_max)) {
    const std::vector<std::uint32_t> numbers = numbers_of(read_sector(sector));
    small_table_.insert(small_table_.end(), numbers.begin(), numbers.end());
  }
  small_home_ = chain(table_, entries_[kRoot].start, sectors_max);
}

std::vector<std::size_t> OleFile::children(std::size_t folder) const {
  std::vector<std::size_t> found;
  std::vector<bool> seen(entries_.size(), false);
  std::vector<std::uint32_t> open = {entries_[folder].child};
  while (!open.empty()) {
    const std::uint32_t number = open.back();
    open.pop_back();
    if (number >= entries_.size() || seen[number] || number == kRoot) continue;
    seen[number] = true;
    const Entry& entry = entries_[number];
    if (entry.kind != Kind::None) found.push_back(number);
    open.push_back(entry.left);
    open.push_back(entry.right);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::size_t OleFile::find(std::size_t folder, std::string_view name) const {
  for (const std::size_t child : children(folder)) {
    if (entries_[child].name == name) return child;
  }
  return kNone;
}

std::optional<Failure> OleFile::read(std::size_t stream, const ByteSink& sink) const {
  const Entry& entry = entries_[stream];
  const bool small = entry.size < small_below_;
  const std::size_t unit = small ? kSmallSectorBytes : sector_bytes_;
  const std::vector<std::uint32_t> sectors =
      chain(small ? small_table_ : table_, entry.start, (entry.size + unit - 1) / unit);
  std::uint64_t left = entry.size;
  for (const std::uint32_t sector : sectors) {
    std::string bytes;
    if (small) {
      const std::uint64_t at = std::uint64_t{sector} * kSmallSectorBytes;
      const std::uint64_t home = at / sector_bytes_;
      if (home >= small_home_.size()) break;
      bytes = read_at((std::uint64_t{small_home_[home]} + 1) * sector_bytes_ + at % sector_bytes_,
                      kSmallSectorBytes);
    } else {
      bytes = read_sector(sector);
    }
    bytes.resize(std::min<std::uint64_t>(bytes.size(), left));
    if (bytes.empty()) break;
    left -= bytes.size();
    sink(bytes);
  }
  if (left == 0) return std::nullopt;
  return Failure{ErrorKind::Corrupt, "it is cut short within its container"};
}

std::string OleFile::bytes(std::size_t stream, std::size_t bytes_max) const {
  std::string all;
  static_cast<void>(read(stream, [&](std::string_view piece) {
    all += piece.substr(0, bytes_max - std::min(bytes_max, all.size()));
  }));
  return all;
}

}  // namespace quern::worker

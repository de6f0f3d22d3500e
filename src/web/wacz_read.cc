#include <fmt/format.h>

#include <algorithm>

#include "io/file.h"
#include "web/wacz.h"

namespace quern::web {
namespace {

constexpr std::string_view kLocalHead = "PK\3\4";
constexpr std::string_view kDirectoryRow = "PK\1\2";
constexpr std::string_view kEnd = "PK\5\6";
constexpr std::string_view kEnd64 = "PK\6\6";
constexpr std::string_view kEnd64Place = "PK\6\7";
constexpr std::size_t kLocalHeadBytes = 30;
constexpr std::size_t kRowBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEnd64PlaceBytes = 20;
constexpr std::size_t kCommentBytesMax = 0xFFFF;
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint64_t kEncrypted = 1;

Error broken(std::string_view what) {
  return Error{Errc::Corrupt, fmt::format("not a WACZ: {}", what)};
}

// Little-endian; the caller has seen that the bytes are there.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + i - 1));
  }
  return value;
}

Result<std::string> read_exactly(const io::FileReader& file, std::uint64_t offset,
                                 std::uint64_t bytes) {
  const auto size = static_cast<std::uint64_t>(file.size_bytes());
  if (offset > size || bytes > size - offset) return broken("it points behind its end");
  std::string text(bytes, '\0');
  TRY_ASSIGN(const std::size_t got, file.read_at(static_cast<std::int64_t>(offset), text));
  if (got != bytes) return broken("it is shorter than it was");
  return text;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<Directory> find_directory(const io::FileReader& file) {
  const auto size = static_cast<std::uint64_t>(file.size_bytes());
  const std::uint64_t tail_bytes =
      std::min<std::uint64_t>(size, kEndBytes + kCommentBytesMax + kEnd64PlaceBytes);
  TRY_ASSIGN(const std::string tail, read_exactly(file, size - tail_bytes, tail_bytes));
  const std::size_t end = tail.rfind(kEnd);
  if (end == std::string::npos || tail.size() - end < kEndBytes) return broken("no zip file");
  Directory directory{number(tail, end + 16, 4), number(tail, end + 12, 4)};
  const bool zip64 = end >= kEnd64PlaceBytes &&
                     std::string_view(tail).substr(end - kEnd64PlaceBytes).starts_with(kEnd64Place);
  if (!zip64) return directory;
  TRY_ASSIGN(const std::string end64,
             read_exactly(file, number(tail, end - kEnd64PlaceBytes + 8, 8), kEnd64Bytes));
  if (!end64.starts_with(kEnd64)) return broken("its end is damaged");
  return Directory{number(end64, 48, 8), number(end64, 40, 8)};
}

// What the 32 bits of a row have no room for, in the order in which they do not.
Result<> read_zip64(std::string_view extra, std::vector<std::uint64_t*> wanted) {
  std::erase_if(wanted, [](const std::uint64_t* value) { return *value != kElsewhere; });
  if (wanted.empty()) return {};
  while (extra.size() >= 4) {
    const std::size_t bytes = number(extra, 2, 2);
    if (bytes > extra.size() - 4) break;
    if (number(extra, 0, 2) == kZip64Extra) {
      if (bytes < wanted.size() * 8) break;
      for (std::size_t i = 0; i < wanted.size(); ++i) *wanted[i] = number(extra, 4 + i * 8, 8);
      return {};
    }
    extra.remove_prefix(4 + bytes);
  }
  return broken("a large entry without its size");
}

// Takes a row off.
Result<WaczEntry> take_row(std::string_view& rows, std::uint64_t file_bytes) {
  if (!rows.starts_with(kDirectoryRow) || rows.size() < kRowBytes) {
    return broken("its directory is damaged");
  }
  const std::size_t name_bytes = number(rows, 28, 2);
  const std::size_t extra_bytes = number(rows, 30, 2);
  const std::size_t comment_bytes = number(rows, 32, 2);
  const std::size_t row_bytes = kRowBytes + name_bytes + extra_bytes + comment_bytes;
  if (row_bytes > rows.size()) return broken("its directory is cut off");
  std::uint64_t stored = number(rows, 20, 4);
  std::uint64_t whole = number(rows, 24, 4);
  std::uint64_t offset = number(rows, 42, 4);
  TRY(read_zip64(rows.substr(kRowBytes + name_bytes, extra_bytes), {&whole, &stored, &offset}));
  if (offset > file_bytes || stored > file_bytes - offset) return broken("an entry behind its end");
  WaczEntry entry;
  entry.name = rows.substr(kRowBytes, name_bytes);
  entry.offset = static_cast<std::int64_t>(offset);
  entry.bytes = static_cast<std::int64_t>(stored);
  entry.stored = number(rows, 10, 2) == 0 && (number(rows, 8, 2) & kEncrypted) == 0;
  rows.remove_prefix(row_bytes);
  return entry;
}

bool is_archive(std::string_view name) {
  if (!name.starts_with("archive/")) return false;
  return name.ends_with(".warc.gz") || name.ends_with(".warc") || name.ends_with(".arc.gz") ||
         name.ends_with(".arc");
}

}  // namespace

Result<WaczReader> WaczReader::open(const std::filesystem::path& file) {
  TRY_ASSIGN(const io::FileReader opened, io::FileReader::open(file));
  TRY_ASSIGN(const Directory directory, find_directory(opened));
  if (directory.bytes > kWaczDirectoryBytesMax) {
    return Error{Errc::TooLarge, "the directory of a WACZ is beyond web.wacz_directory_bytes_max"};
  }
  TRY_ASSIGN(const std::string bytes, read_exactly(opened, directory.offset, directory.bytes));
  WaczReader reader;
  reader.path_ = file;
  std::string_view rows = bytes;
  while (!rows.empty()) {
    if (reader.entries_.size() == kWaczEntriesMax) {
      return over_limit("entries of a WACZ", kWaczEntriesMax + 1, kWaczEntriesMax,
                        "web.wacz_entries_max");
    }
    TRY_ASSIGN(WaczEntry entry, take_row(rows, static_cast<std::uint64_t>(opened.size_bytes())));
    reader.entries_.push_back(std::move(entry));
  }
  return reader;
}

std::vector<WaczEntry> WaczReader::archives() const {
  std::vector<WaczEntry> found;
  for (const WaczEntry& entry : entries_) {
    if (is_archive(entry.name)) found.push_back(entry);
  }
  return found;
}

Result<WarcReader::Source> WaczReader::source_of(const WaczEntry& entry) const {
  if (!entry.stored) {
    return Error{Errc::Invalid, fmt::format("{} is compressed or encrypted in the zip file: a WACZ "
                                            "stores its archives as they are",
                                            entry.name)};
  }
  TRY_ASSIGN(io::FileReader opened, io::FileReader::open(path_));
  const auto offset = static_cast<std::uint64_t>(entry.offset);
  TRY_ASSIGN(const std::string head, read_exactly(opened, offset, kLocalHeadBytes));
  if (!head.starts_with(kLocalHead)) return broken("an entry without a head");
  const std::int64_t begin =
      entry.offset +
      static_cast<std::int64_t>(kLocalHeadBytes + number(head, 26, 2) + number(head, 28, 2));
  auto file = std::make_shared<io::FileReader>(std::move(opened));
  return WarcReader::Source([file, at = begin, end = begin + entry.bytes](
                                char* to, std::size_t size) mutable -> Result<std::size_t> {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::int64_t>(end - at, static_cast<std::int64_t>(size)));
    TRY_ASSIGN(const std::size_t got, file->read_at(at, std::span(to, wanted)));
    at += static_cast<std::int64_t>(got);
    return got;
  });
}

Result<std::unique_ptr<WarcReader>> WaczReader::read_archive(const WaczEntry& entry) const {
  TRY_ASSIGN(WarcReader::Source source, source_of(entry));
  return std::make_unique<WarcReader>(std::move(source));
}

}  // namespace quern::web

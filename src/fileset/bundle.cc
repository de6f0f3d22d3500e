#include "fileset/bundle.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/utf8.h"
#include "fileset/keep_step.h"
#include "fileset/sums.h"
#include "fileset/total.h"
#include "io/file.h"

namespace quern::fileset {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kEnd64Mark = 0x06064b50;
constexpr std::uint32_t kLocator64Mark = 0x07064b50;
constexpr std::uint32_t kRowMark = 0x02014b50;
constexpr std::uint32_t kHeadMark = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCommentBytesMax = 0xFFFF;
constexpr std::size_t kRowBytes = 46;
constexpr std::size_t kHeadBytes = 30;
constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;

Error broken(const char* what) {
  return {Errc::Corrupt, fmt::format("the bundle is no whole zip file: {}", what)};
}

// Numbers of a record, least byte first. Whoever reads has checked that they are there.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return number;
}

Result<std::string> read_exactly(const io::FileReader& file, std::int64_t offset,
                                 std::size_t bytes) {
  if (offset < 0 || offset > file.size_bytes()) return broken("it points behind its end");
  std::string into(bytes, '\0');
  TRY_ASSIGN(const std::size_t got, file.read_at(offset, into));
  if (got != bytes) return broken("it ends too early");
  return into;
}

struct Directory {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::uint64_t rows = 0;
};

Result<Directory> directory64(const io::FileReader& file, std::int64_t end_at) {
  if (end_at < 20) return broken("its zip64 end is missing");
  TRY_ASSIGN(const std::string locator, read_exactly(file, end_at - 20, 20));
  if (number_at(locator, 0, 4) != kLocator64Mark) return broken("its zip64 end is missing");
  const std::uint64_t at = number_at(locator, 8, 8);
  if (at > static_cast<std::uint64_t>(file.size_bytes()))
    return broken("its zip64 end lies outside");
  TRY_ASSIGN(const std::string end, read_exactly(file, static_cast<std::int64_t>(at), 56));
  if (number_at(end, 0, 4) != kEnd64Mark) return broken("its zip64 end is missing");
  const std::uint64_t bytes = number_at(end, 40, 8);
  const std::uint64_t offset = number_at(end, 48, 8);
  const auto size = static_cast<std::uint64_t>(file.size_bytes());
  if (bytes > size || offset > size - bytes) return broken("its directory lies outside");
  return Directory{static_cast<std::int64_t>(offset), static_cast<std::int64_t>(bytes),
                   number_at(end, 32, 8)};
}

Result<Directory> find_directory(const io::FileReader& file) {
  const auto tail = std::min<std::int64_t>(file.size_bytes(), kEndBytes + kCommentBytesMax);
  if (tail < static_cast<std::int64_t>(kEndBytes)) return broken("it is too short");
  const std::int64_t begin = file.size_bytes() - tail;
  TRY_ASSIGN(const std::string bytes, read_exactly(file, begin, static_cast<std::size_t>(tail)));
  for (std::size_t at = bytes.size() - kEndBytes + 1; at > 0; --at) {
    const std::size_t here = at - 1;
    if (number_at(bytes, here, 4) != kEndMark) continue;
    if (here + kEndBytes + number_at(bytes, here + 20, 2) > bytes.size()) continue;
    const std::uint64_t rows = number_at(bytes, here + 10, 2);
    const std::uint64_t length = number_at(bytes, here + 12, 4);
    const std::uint64_t offset = number_at(bytes, here + 16, 4);
    const std::int64_t end_at = begin + static_cast<std::int64_t>(here);
    if (rows == 0xFFFF || length == kIn64 || offset == kIn64) return directory64(file, end_at);
    if (offset + length > static_cast<std::uint64_t>(end_at)) {
      return broken("its directory lies outside");
    }
    return Directory{static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), rows};
  }
  return broken("it has no end record");
}

// Sizes and offsets that did not fit stand in an extra field, in this order, those alone.
Result<> read_extra64(std::string_view extra, BundleMember& member, const std::uint64_t raw[3]) {
  std::int64_t* const into[3] = {&member.size, &member.packed, &member.offset};
  for (std::size_t i = 0; i < 3; ++i) *into[i] = static_cast<std::int64_t>(raw[i]);
  if (raw[0] != kIn64 && raw[1] != kIn64 && raw[2] != kIn64) return {};
  while (extra.size() >= 4) {
    const std::uint64_t id = number_at(extra, 0, 2);
    const std::size_t length = number_at(extra, 2, 2);
    if (extra.size() < 4 + length) return broken("an extra field is cut off");
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (std::size_t i = 0; i < 3; ++i) {
      if (raw[i] != kIn64) continue;
      if (field.size() < 8) return broken("a zip64 field is cut off");
      const std::uint64_t number = number_at(field, 0, 8);
      if (number > static_cast<std::uint64_t>(INT64_MAX)) return broken("a size is out of range");
      *into[i] = static_cast<std::int64_t>(number);
      field.remove_prefix(8);
    }
    return {};
  }
  return broken("a zip64 field is missing");
}

Result<BundleMember> read_row(std::string_view& rest) {
  if (rest.size() < kRowBytes || number_at(rest, 0, 4) != kRowMark) {
    return broken("a row of its directory is cut off");
  }
  const std::size_t name = number_at(rest, 28, 2);
  const std::size_t extra = number_at(rest, 30, 2);
  const std::size_t comment = number_at(rest, 32, 2);
  if (rest.size() < kRowBytes + name + extra + comment) {
    return broken("a row of its directory is cut off");
  }
  BundleMember member;
  member.encrypted = (number_at(rest, 8, 2) & 1) != 0;
  member.method = static_cast<int>(number_at(rest, 10, 2));
  member.crc = static_cast<std::uint32_t>(number_at(rest, 16, 4));
  member.path = valid_utf8(rest.substr(kRowBytes, name));
  std::erase(member.path, '\0');
  const std::uint64_t raw[3] = {number_at(rest, 24, 4), number_at(rest, 20, 4),
                                number_at(rest, 42, 4)};
  TRY(read_extra64(rest.substr(kRowBytes + name, extra), member, raw));
  rest.remove_prefix(kRowBytes + name + extra + comment);
  return member;
}

// Where the packed bytes begin.
Result<std::int64_t> data_of(const io::FileReader& file, const BundleMember& member) {
  TRY_ASSIGN(const std::string head, read_exactly(file, member.offset, kHeadBytes));
  if (number_at(head, 0, 4) != kHeadMark) return broken("a file in it has no head");
  const auto lengths = static_cast<std::int64_t>(number_at(head, 26, 2) + number_at(head, 28, 2));
  const std::int64_t begin = member.offset + static_cast<std::int64_t>(kHeadBytes) + lengths;
  if (begin > file.size_bytes() || member.packed > file.size_bytes() - begin) {
    return broken("a file in it is cut off");
  }
  return begin;
}

// Hashes what it is given, and watches the size.
class Measure {
 public:
  explicit Measure(const BundleMember& member) : member_(member) {}
  Result<> add(std::string_view bytes) {
    size_ += static_cast<std::int64_t>(bytes.size());
    if (size_ > member_.size) return broken("a file in it is longer than it says");
    crc_ = ::crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    sums_.add(bytes);
    return {};
  }
  Result<FileMeta> finish() {
    if (size_ != member_.size) return broken("a file in it is shorter than it says");
    if (crc_ != member_.crc) return broken("a file in it has another checksum than it says");
    Digests digests = sums_.digests();
    return FileMeta{
        size_, std::move(digests.md5), std::move(digests.sha1), std::move(digests.sha256), {}};
  }

 private:
  const BundleMember& member_;
  Sums sums_;
  std::int64_t size_ = 0;
  uLong crc_ = 0;
};

struct InflateEnd {
  void operator()(z_stream* stream) const {
    ::inflateEnd(stream);
    delete stream;
  }
};

class Unpacker {
 public:
  static Result<Unpacker> open() {
    auto stream = std::make_unique<z_stream>();
    *stream = {};
    if (::inflateInit2(stream.get(), -MAX_WBITS) != Z_OK) {
      return Error{Errc::Internal, "zlib cannot begin"};
    }
    return Unpacker(stream.release());
  }
  Result<> add(std::string_view packed, Measure& measure) {
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_->avail_in = static_cast<uInt>(packed.size());
    do {
      stream_->next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_->avail_out = static_cast<uInt>(out_.size());
      const int code = ended_ ? Z_STREAM_END : ::inflate(stream_.get(), Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return broken("a file in it cannot be unpacked");
      }
      TRY(measure.add(std::string_view(out_).substr(0, out_.size() - stream_->avail_out)));
      ended_ = code == Z_STREAM_END;
    } while (!ended_ && stream_->avail_out == 0);
    return {};
  }

 private:
  explicit Unpacker(z_stream* stream) : stream_(stream), out_(kPieceBytes, '\0') {}
  std::unique_ptr<z_stream, InflateEnd> stream_;
  std::string out_;
  bool ended_ = false;
};

// The folder that all lie in, with its slash; empty: none.
std::string common_folder(const std::vector<BundleMember>& members) {
  if (members.empty()) return "";
  const std::size_t slash = members[0].path.find('/');
  if (slash == std::string::npos) return "";
  const std::string folder = members[0].path.substr(0, slash + 1);
  const bool all = std::all_of(members.begin(), members.end(), [&](const BundleMember& member) {
    return member.path.starts_with(folder);
  });
  return all ? folder : "";
}

void verify_member(const std::filesystem::path& zip, const BundleMember& member, FileRow& row) {
  if (row.file.size && *row.file.size != member.size) {
    row.file.status = "mismatch-size";
    row.message = "in the bundle it is another than the manifest says";
    return;
  }
  const Result<FileMeta> meta = member_meta(zip, member);
  if (!meta.ok()) {
    row.file.status = "mismatch";
    row.message = meta.error().message();
    return;
  }
  const auto agree = [](const std::string& told, const std::string& found) {
    return told.empty() || told == found;
  };
  ManifestFile& file = row.file;
  file.status = "success";
  if (!agree(file.sha1, meta->sha1)) file.status = "mismatch-sha1";
  if (!agree(file.sha256, meta->sha256)) file.status = "mismatch-sha256";
  if (!agree(file.md5, meta->md5)) file.status = "mismatch-md5";
  if (file.status != "success") {
    row.message = "in the bundle it is another than the manifest says";
    return;
  }
  file.size = meta->size;
  file.md5 = meta->md5;
  file.sha1 = meta->sha1;
  file.sha256 = meta->sha256;
}

std::vector<FileRow> unlisted_members(const std::filesystem::path& zip,
                                      const std::vector<BundleMember>& members) {
  std::vector<FileRow> rows;
  for (const BundleMember& member : members) {
    FileRow row;
    row.number = static_cast<std::int64_t>(rows.size());
    row.file.path = member.path;
    row.message = path_problem(member.path, "", false);
    row.file.status = "unsafe-path";
    if (row.message.empty()) verify_member(zip, member, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

// What is not listed anywhere else is bounded by what the request allows.
void check_unlisted(FileRow& bundle, const std::vector<BundleMember>& members,
                    BundleLimits limits) {
  std::int64_t bytes = 0;
  for (const BundleMember& member : members) bytes = total_of(bytes, member.size);
  if (std::ssize(members) > limits.files_max) {
    bundle.file.status = "too-many-files";
    bundle.message = fmt::format("the bundle has {} files, and at most {} are taken",
                                 members.size(), limits.files_max);
  } else if (bytes > limits.bytes_max) {
    bundle.file.status = "too-large-size";
    bundle.message = fmt::format("unpacked, the bundle has more than {} bytes", limits.bytes_max);
  }
}

}  // namespace

Result<std::vector<BundleMember>> list_bundle(const std::filesystem::path& zip) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(zip));
  TRY_ASSIGN(const Directory directory, find_directory(file));
  if (directory.bytes > kBundleDirectoryBytesMax || directory.rows > kBundleMembersMax) {
    return Error{Errc::TooLarge, "the bundle's directory is too large"};
  }
  TRY_ASSIGN(const std::string bytes,
             read_exactly(file, directory.offset, static_cast<std::size_t>(directory.bytes)));
  std::vector<BundleMember> members;
  std::string_view rest = bytes;
  for (std::uint64_t i = 0; i < directory.rows; ++i) {
    TRY_ASSIGN(BundleMember member, read_row(rest));
    if (!member.path.ends_with('/')) members.push_back(std::move(member));
  }
  return members;
}

Result<FileMeta> member_meta(const std::filesystem::path& zip, const BundleMember& member) {
  if (member.encrypted) return Error{Errc::Invalid, "it is encrypted in the bundle"};
  if (member.method != 0 && member.method != 8) {
    return Error{Errc::Invalid, fmt::format("it is packed by method {}", member.method)};
  }
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(zip));
  TRY_ASSIGN(std::int64_t at, data_of(file, member));
  const std::int64_t end = at + member.packed;
  Measure measure(member);
  TRY_ASSIGN(Unpacker unpacker, Unpacker::open());
  std::string piece(kPieceBytes, '\0');
  while (at < end) {
    const auto wanted = std::min<std::int64_t>(end - at, static_cast<std::int64_t>(kPieceBytes));
    TRY_ASSIGN(const std::size_t got,
               file.read_at(at, std::span(piece.data(), static_cast<std::size_t>(wanted))));
    if (got == 0) return broken("it ends too early");
    const std::string_view bytes = std::string_view(piece).substr(0, got);
    TRY(member.method == 0 ? measure.add(bytes) : unpacker.add(bytes, measure));
    at += static_cast<std::int64_t>(got);
  }
  return measure.finish();
}

std::vector<FileRow> bundle_members(FileRow& bundle, const std::vector<FileRow>& files,
                                    const std::filesystem::path& zip, BundleLimits limits) {
  std::vector<FileRow> rows;
  for (const FileRow& file : files) {
    if (file.number == kBundleNumber) continue;
    rows.push_back(file);
    rows.back().ended = false;
    rows.back().file.status = bundle.file.status;
  }
  if (!is_kept(bundle.file.status) || zip.empty()) return rows;
  const Result<std::vector<BundleMember>> members = list_bundle(zip);
  if (!members.ok()) {
    bundle.file.status = "mismatch";
    bundle.message = members.error().message();
    for (FileRow& row : rows) row.file.status = "mismatch";
    return rows;
  }
  if (rows.empty()) {
    check_unlisted(bundle, *members, limits);
    return is_kept(bundle.file.status) ? unlisted_members(zip, *members) : rows;
  }
  const std::string folder = common_folder(*members);
  std::map<std::string, const BundleMember*> by_path;
  for (const BundleMember& member : *members) {
    by_path.emplace(member.path, &member);
    by_path.emplace(member.path.substr(folder.size()), &member);
  }
  std::int64_t bytes = 0;
  for (FileRow& row : rows) {
    const auto found = by_path.find(row.file.path);
    if (found != by_path.end()) {
      bytes = total_of(bytes, found->second->size);
      if (bytes > limits.bytes_max) {
        row.file.status = "too-large-size";
        row.message = fmt::format("unpacked, the bundle has more than {} bytes", limits.bytes_max);
        continue;
      }
      verify_member(zip, *found->second, row);
      continue;
    }
    row.file.status = "mismatch";
    row.message = "it is not in the bundle";
  }
  return rows;
}

}  // namespace quern::fileset

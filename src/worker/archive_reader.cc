#include "worker/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;

void add_filters(struct archive* a) {
  ::archive_read_support_filter_gzip(a);
  ::archive_read_support_filter_bzip2(a);
  ::archive_read_support_filter_compress(a);
  ::archive_read_support_filter_lzma(a);
  ::archive_read_support_filter_lzip(a);
  ::archive_read_support_filter_lz4(a);
  ::archive_read_support_filter_xz(a);
  ::archive_read_support_filter_zstd(a);
  ::archive_read_support_filter_rpm(a);
}

void add_formats(struct archive* a) {
  ::archive_read_support_format_zip(a);
  ::archive_read_support_format_tar(a);
  ::archive_read_support_format_7zip(a);
  ::archive_read_support_format_rar(a);
  ::archive_read_support_format_rar5(a);
  ::archive_read_support_format_cab(a);
  ::archive_read_support_format_iso9660(a);
  ::archive_read_support_format_cpio(a);
  ::archive_read_support_format_ar(a);
  ::archive_read_support_format_xar(a);
  ::archive_read_support_format_lha(a);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

ErrorKind kind_of(std::string_view message, int error_number) {
  if (error_number == ENOMEM) return ErrorKind::OutOfMemory;
  if (contains(message, "ncrypt") || contains(message, "assphrase") ||
      contains(message, "assword")) {
    return ErrorKind::Encrypted;
  }
  const bool unsupported = contains(message, "nsupported") || contains(message, "not supported");
  return unsupported ? ErrorKind::Unsupported : ErrorKind::Corrupt;
}

MemberKind kind_of(struct archive_entry* entry) {
  // Of several names of one file, some formats keep the bytes with the last.
  const bool has_bytes = ::archive_entry_size_is_set(entry) != 0 && ::archive_entry_size(entry) > 0;
  if (::archive_entry_hardlink(entry) != nullptr && !has_bytes) return MemberKind::Link;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
    case 0:
      return MemberKind::File;
    case AE_IFDIR:
      return MemberKind::Folder;
    case AE_IFLNK:
      return MemberKind::Link;
    default:
      return MemberKind::Other;
  }
}

std::string raw_name(struct archive_entry* entry) {
  const char* name = ::archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = ::archive_entry_pathname(entry);
  return name != nullptr ? name : "";
}

}  // namespace

// A descriptor read from a position of its own: others may read it too.
struct ArchiveReader::Source {
  int descriptor;
  std::int64_t size;
  std::int64_t position = 0;
  std::string buffer = std::string(kBlockBytes, '\0');

  static la_ssize_t read(struct archive*, void* data, const void** bytes) {
    auto* self = static_cast<Source*>(data);
    ssize_t n = -1;
    do {
      n = ::pread(self->descriptor, self->buffer.data(), self->buffer.size(), self->position);
    } while (n < 0 && errno == EINTR);
    if (n > 0) self->position += n;
    *bytes = self->buffer.data();
    return n;
  }
  static la_int64_t skip(struct archive*, void* data, la_int64_t request) {
    auto* self = static_cast<Source*>(data);
    const std::int64_t skipped =
        std::max<std::int64_t>(std::min<std::int64_t>(request, self->size - self->position), 0);
    self->position += skipped;
    return skipped;
  }
  static la_int64_t seek(struct archive*, void* data, la_int64_t offset, int whence) {
    auto* self = static_cast<Source*>(data);
    const std::int64_t from = whence == SEEK_SET   ? 0
                              : whence == SEEK_CUR ? self->position
                                                   : self->size;
    if (from + offset < 0) return ARCHIVE_FATAL;
    self->position = from + offset;
    return self->position;
  }
};

ArchiveReader::ArchiveReader(const StepInput& input, Mode mode)
    : mode_(mode),
      source_(std::make_unique<Source>(
          Source{input.descriptor, static_cast<std::int64_t>(input.bytes)})),
      archive_(::archive_read_new()) {
  if (archive_ == nullptr) throw std::bad_alloc();
  add_filters(archive_);
  if (mode == Mode::Archives) add_formats(archive_);
  if (mode == Mode::Single) {
    ::archive_read_support_format_raw(archive_);
    ::archive_read_support_format_empty(archive_);
  }
  ::archive_read_set_read_callback(archive_, Source::read);
  ::archive_read_set_skip_callback(archive_, Source::skip);
  ::archive_read_set_seek_callback(archive_, Source::seek);
  ::archive_read_set_callback_data(archive_, source_.get());
}

ArchiveReader::~ArchiveReader() {
  ::archive_read_free(archive_);
}

std::optional<Failure> ArchiveReader::open(const StepInput& input,
                                           std::unique_ptr<ArchiveReader>& reader) {
  reader.reset(new ArchiveReader(input, Mode::Archives));
  reader->first_ = reader->first();
  const bool compressed = ::archive_filter_count(reader->archive_) > 1;
  const bool unknown = reader->first_ == Next::Failed && ::archive_format(reader->archive_) == 0;
  if (compressed && (unknown || reader->holds_archive_in_archive())) {
    reader.reset(new ArchiveReader(input, Mode::Single));
    reader->single_ = true;
    reader->first_ = reader->first();
  } else if (unknown && reader->failure_.kind == ErrorKind::Corrupt) {
    return Failure{ErrorKind::Corrupt, "Unrecognized archive format"};
  }
  if (reader->first_ == Next::Failed) return reader->failure_;
  return std::nullopt;
}

ArchiveReader::Next ArchiveReader::first() {
  if (::archive_read_open1(archive_) != ARCHIVE_OK) {
    keep_failure();
    return Next::Failed;
  }
  return header();
}

// Of those that are usually compressed as a whole, the members are ours.
bool ArchiveReader::holds_archive_in_archive() const {
  const int format = ::archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK;
  return format != ARCHIVE_FORMAT_TAR && format != ARCHIVE_FORMAT_CPIO;
}

ArchiveReader::Next ArchiveReader::header() {
  damaged_ = false;
  for (;;) {
    const int result = ::archive_read_next_header(archive_, &entry_);
    if (result == ARCHIVE_RETRY) continue;
    if (result == ARCHIVE_EOF) return Next::End;
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return Next::Member;
    keep_failure();
    return Next::Failed;
  }
}

void ArchiveReader::keep_failure() {
  const char* message = ::archive_error_string(archive_);
  failure_.message = message != nullptr ? message : "cannot be read";
  failure_.kind = kind_of(failure_.message, ::archive_errno(archive_));
  // Before a format is found, asking that is asking for a crash [libarchive 3.6.2].
  const bool known = ::archive_format(archive_) != 0;
  if (known && ::archive_read_has_encrypted_entries(archive_) == 1) {
    failure_.kind = ErrorKind::Encrypted;
  }
  if (failure_.kind == ErrorKind::Encrypted) failure_.message = kOpensWithPassword;
}

ArchiveReader::Next ArchiveReader::next(Member& member) {
  const Next found = first_pending_ ? first_ : header();
  first_pending_ = false;
  if (found != Next::Member) return found;
  member.kind = single_ ? MemberKind::File : kind_of(entry_);
  member.raw_name = single_ ? "" : raw_name(entry_);
  member.encrypted = ::archive_entry_is_data_encrypted(entry_) == 1;
  return Next::Member;
}

ArchiveReader::Data ArchiveReader::read(Block& block) {
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  const int result = ::archive_read_data_block(archive_, &bytes, &size, &offset);
  if (result == ARCHIVE_EOF) return damaged_ ? Data::Damaged : Data::End;
  if (result == ARCHIVE_WARN) {
    // Read to its end: what follows may be well.
    if (!damaged_) keep_failure();
    damaged_ = true;
  } else if (result != ARCHIVE_OK && result != ARCHIVE_RETRY) {
    keep_failure();
    return result == ARCHIVE_FAILED ? Data::Damaged : Data::Failed;
  }
  block.bytes = {static_cast<const char*>(bytes), bytes != nullptr ? size : 0};
  block.offset = static_cast<std::uint64_t>(std::max<la_int64_t>(offset, 0));
  return Data::Bytes;
}

std::uint64_t ArchiveReader::position() const {
  return static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_filter_bytes(archive_, -1), 0));
}

std::vector<std::string> ArchiveReader::list_names(const StepInput& input, std::size_t names_max) {
  std::vector<std::string> names;
  ArchiveReader reader(input, Mode::Archives);
  if (reader.first() != Next::Member) return names;
  // Of compressed ones each name costs the reading of all that lies before it.
  if (::archive_filter_count(reader.archive_) > 1) return {raw_name(reader.entry_)};
  do {
    names.push_back(raw_name(reader.entry_));
  } while (names.size() < names_max && reader.header() == Next::Member);
  return names;
}

}  // namespace quern::worker

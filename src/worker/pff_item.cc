#include "worker/pff_item.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "worker/ole_file.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr int kRowsMax = 10'000;
constexpr std::uint16_t kTopFolderEntry = 0x35E0;
constexpr std::size_t kEntryIdBytes = 24;

// Frees what a call said of its failure; the words are for developers of libpff.
class PffError {
 public:
  ~PffError() { ::libpff_error_free(&error_); }
  libpff_error_t** get() {
    ::libpff_error_free(&error_);
    return &error_;
  }

 private:
  libpff_error_t* error_ = nullptr;
};

void put_entry(libpff_record_entry_t* entry, MapiBag& bag) {
  PffError error;
  std::uint32_t id = 0;
  std::uint32_t type = 0;
  std::size_t size = 0;
  if (::libpff_record_entry_get_entry_type(entry, &id, error.get()) != 1 ||
      ::libpff_record_entry_get_value_type(entry, &type, error.get()) != 1 ||
      ::libpff_record_entry_get_data_size(entry, &size, error.get()) != 1) {
    return;
  }
  const auto kind = mapi_kind(static_cast<std::uint16_t>(type));
  if (!kind || id == mapi::kAttachData || id > 0xFFFF || size > kMailBodyBytesMax) return;
  std::string bytes(size, '\0');
  if (size > 0 &&
      ::libpff_record_entry_get_data(entry, reinterpret_cast<std::uint8_t*>(bytes.data()), size,
                                     error.get()) != 1) {
    return;
  }
  const auto property = static_cast<std::uint16_t>(id);
  if (kind == MapiKind::Number || kind == MapiKind::Time) {
    bag.put_number(property, number_le(bytes, 0, std::min<std::size_t>(size, 8)), *kind);
  } else {
    bag.put(property, *kind, std::move(bytes));
  }
}

}  // namespace

PffItem pff_owned(libpff_item_t* item) {
  return PffItem(item, [](libpff_item_t* dying) {
    if (dying == nullptr) return;
    PffError error;
    ::libpff_item_free(&dying, error.get());
  });
}

// Not libbfio's own reader of memory: it reads beyond the end where a store says so [20170123].
struct PffFile::Source {
  int descriptor = -1;
  std::int64_t size = 0;
  std::int64_t position = 0;
  int is_open = 0;

  static Source& of(std::intptr_t* handle) { return *reinterpret_cast<Source*>(handle); }

  static int open(std::intptr_t* handle, int, libbfio_error_t**) {
    of(handle).is_open = 1;
    of(handle).position = 0;
    return 1;
  }
  // Here 0 is well.
  static int close(std::intptr_t* handle, libbfio_error_t**) {
    of(handle).is_open = 0;
    return 0;
  }
  static ssize_t read(std::intptr_t* handle, std::uint8_t* bytes, std::size_t count,
                      libbfio_error_t**) {
    Source& self = of(handle);
    ssize_t n = -1;
    do {
      n = ::pread(self.descriptor, bytes, count, self.position);
    } while (n < 0 && errno == EINTR);
    self.position += std::max<ssize_t>(n, 0);
    return n;
  }
  static ssize_t write(std::intptr_t*, const std::uint8_t*, std::size_t, libbfio_error_t**) {
    return -1;
  }
  static off64_t seek(std::intptr_t* handle, off64_t offset, int whence, libbfio_error_t**) {
    Source& self = of(handle);
    const std::int64_t from = whence == SEEK_SET   ? 0
                              : whence == SEEK_CUR ? self.position
                                                   : self.size;
    // Nothing lies there, and a number that large may not be added.
    if (offset < -from || offset > self.size) return -1;
    self.position = from + offset;
    return self.position;
  }
  static int exists(std::intptr_t*, libbfio_error_t**) { return 1; }
  static int opened(std::intptr_t* handle, libbfio_error_t**) { return of(handle).is_open; }
  static int get_size(std::intptr_t* handle, size64_t* size, libbfio_error_t**) {
    *size = static_cast<size64_t>(of(handle).size);
    return 1;
  }
  static int keep(std::intptr_t**, libbfio_error_t**) { return 1; }
  static int clone(std::intptr_t**, std::intptr_t*, libbfio_error_t**) { return -1; }

  libbfio_handle_t* make_handle() {
    libbfio_handle_t* handle = nullptr;
    const int made = ::libbfio_handle_initialize(
        &handle, reinterpret_cast<std::intptr_t*>(this), keep, clone, open, close, read, write,
        seek, exists, opened, get_size, LIBBFIO_FLAG_IO_HANDLE_NON_MANAGED, nullptr);
    return made == 1 ? handle : nullptr;
  }
};

PffFile::PffFile() = default;

PffFile::~PffFile() {
  PffError error;
  if (file_ != nullptr) {
    ::libpff_file_close(file_, error.get());
    ::libpff_file_free(&file_, error.get());
  }
  if (handle_ != nullptr) ::libbfio_handle_free(&handle_, nullptr);
}

std::optional<Failure> PffFile::open(const StepInput& input) {
  const Failure damaged{ErrorKind::Corrupt,
                        "no Outlook store, or one that is damaged: Outlook's scanpst may mend it"};
  source_ = std::make_unique<Source>();
  source_->descriptor = input.descriptor;
  source_->size = static_cast<std::int64_t>(input.bytes);
  handle_ = source_->make_handle();
  PffError error;
  const bool opened =
      handle_ != nullptr && ::libpff_file_initialize(&file_, error.get()) == 1 &&
      ::libpff_file_open_file_io_handle(file_, handle_, LIBPFF_OPEN_READ, error.get()) == 1;
  return opened ? std::nullopt : std::optional(damaged);
}

PffItem PffFile::root_folder() const {
  PffError error;
  libpff_item_t* root = nullptr;
  if (::libpff_file_get_root_folder(file_, &root, error.get()) != 1) root = nullptr;
  return pff_owned(root);
}

std::uint32_t PffFile::top_identifier() const {
  PffError error;
  libpff_item_t* store = nullptr;
  if (::libpff_file_get_message_store(file_, &store, error.get()) != 1) return 0;
  const PffItem owned = pff_owned(store);
  const std::string entry = bag_of(store, 0).binary(kTopFolderEntry);
  if (entry.size() != kEntryIdBytes) return 0;
  return static_cast<std::uint32_t>(number_le(entry, kEntryIdBytes - 4, 4));
}

std::uint64_t PffFile::codepage() const {
  PffError error;
  int codepage = 0;
  if (::libpff_file_get_ascii_codepage(file_, &codepage, error.get()) != 1) return 0;
  return static_cast<std::uint64_t>(std::max(codepage, 0));
}

std::uint32_t identifier_of(libpff_item_t* item) {
  PffError error;
  std::uint32_t identifier = 0;
  return ::libpff_item_get_identifier(item, &identifier, error.get()) == 1 ? identifier : 0;
}

MapiBag bag_of(libpff_item_t* item, std::uint64_t codepage, int row) {
  MapiBag bag;
  bag.set_codepage(codepage);
  PffError error;
  libpff_record_set_t* set = nullptr;
  if (::libpff_item_get_record_set_by_index(item, row, &set, error.get()) != 1) return bag;
  int count = 0;
  ::libpff_record_set_get_number_of_entries(set, &count, error.get());
  for (int i = 0; i < count; ++i) {
    libpff_record_entry_t* entry = nullptr;
    if (::libpff_record_set_get_entry_by_index(set, i, &entry, error.get()) != 1) continue;
    put_entry(entry, bag);
    ::libpff_record_entry_free(&entry, error.get());
  }
  ::libpff_record_set_free(&set, error.get());
  if (const auto page = bag.number(mapi::kMessageCodepage)) bag.set_codepage(*page);
  return bag;
}

std::vector<MapiBag> rows_of(libpff_item_t* table, std::uint64_t codepage) {
  PffError error;
  int count = 0;
  std::vector<MapiBag> rows;
  if (::libpff_item_get_number_of_record_sets(table, &count, error.get()) != 1) return rows;
  for (int i = 0; i < std::min(count, kRowsMax); ++i) rows.push_back(bag_of(table, codepage, i));
  return rows;
}

}  // namespace quern::worker

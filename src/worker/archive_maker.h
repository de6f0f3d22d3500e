// For tests: archives made by libarchive itself, in memory.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace quern::worker {

using Members = std::vector<std::pair<std::string, std::string>>;  // name, contents

// Formats: "zip", "7zip", "ustar", "pax", "newc" (cpio), "iso9660", "xar", "arbsd"; filters:
// "none", "gzip", "bzip2", "xz", "zstd", "lz4", "lzma", "compress". Names ending in a slash are
// folders, and contents of the others as given.
class ArchiveMaker {
 public:
  ArchiveMaker(const char* format, const char* filter, const char* options = nullptr)
      : archive_(::archive_write_new()), buffer_(512 << 20 >> 4, '\0') {
    CHECK(::archive_write_set_format_by_name(archive_, format) == ARCHIVE_OK);
    if (std::string_view(filter) != "none") {
      CHECK(::archive_write_add_filter_by_name(archive_, filter) == ARCHIVE_OK);
    }
    if (options != nullptr) CHECK(::archive_write_set_options(archive_, options) == ARCHIVE_OK);
    ::archive_write_set_bytes_per_block(archive_, 0);
    CHECK(::archive_write_open_memory(archive_, buffer_.data(), buffer_.size(), &used_) ==
          ARCHIVE_OK);
  }
  ~ArchiveMaker() { ::archive_write_free(archive_); }
  ArchiveMaker(const ArchiveMaker&) = delete;
  ArchiveMaker& operator=(const ArchiveMaker&) = delete;

  void passphrase(const char* word) { ::archive_write_set_passphrase(archive_, word); }

  ArchiveMaker& add(const std::string& name, const std::string& contents, unsigned type = AE_IFREG,
                    const char* link = nullptr) {
    struct archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_filetype(entry, name.ends_with('/') ? AE_IFDIR : type);
    ::archive_entry_set_perm(entry, 0644);
    if (type == AE_IFREG) {
      ::archive_entry_set_size(entry, static_cast<la_int64_t>(contents.size()));
    }
    if (link != nullptr && type == AE_IFLNK) ::archive_entry_set_symlink(entry, link);
    CHECK(::archive_write_header(archive_, entry) >= ARCHIVE_WARN);
    if (!contents.empty()) {
      CHECK(::archive_write_data(archive_, contents.data(), contents.size()) >= 0);
    }
    ::archive_entry_free(entry);
    return *this;
  }

  std::string finish() {
    CHECK(::archive_write_close(archive_) == ARCHIVE_OK);
    return buffer_.substr(0, used_);
  }

 private:
  struct archive* archive_;
  std::string buffer_;
  std::size_t used_ = 0;
};

inline std::string make_archive(const char* format, const char* filter, const Members& members) {
  ArchiveMaker maker(format, filter);
  for (const auto& [name, contents] : members) maker.add(name, contents);
  return maker.finish();
}

}  // namespace quern::worker

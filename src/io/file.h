// Files: read with limits, written durably.
//
// Guarantee: a file written here appears under its name whole and synced, or not at all; after a
// crash at any instant the name shows the old contents or the new ones. What removes or makes a
// name returns once the change is on the disk. How: bytes go to a temporary name in the same
// folder; fsync, rename, fsync of the folder. Each of these is a numbered durable write
// (base/crash.h) and can be made to fail (io/fault.h). A kill leaves the temporary file behind;
// remove_temp_files() clears them at the owner's next start.
//
// Plain functions, safe from any thread; one object is used by one thread at a time.
// Errors carry the path; kinds by kind_of_errno() (io/system_error.h). A failed fsync of a
// temporary file is an error: nothing names the file yet, it is dropped. A failed fsync of a folder
// is a CHECK: nobody can know any more which names are durable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/descriptor.h"

namespace quern::io {

using Path = std::filesystem::path;

// Temporary names begin like this; no other file may.
inline constexpr std::string_view kTempPrefix = ".quern-tmp-";

// A regular file open for reading; the position is the caller's.
class FileReader {
 public:
  // Invalid for anything but a regular file (a folder, a device, a pipe).
  static Result<FileReader> open(const Path& path);

  // When it was opened; a file of /proc says 0.
  std::int64_t size_bytes() const { return size_bytes_; }
  // Fills `into` unless the file ends before; 0 at the end or beyond it.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const;
  int descriptor() const { return file_.get(); }
  // For who reads on without us.
  Descriptor release() && { return std::move(file_); }

 private:
  FileReader(Descriptor file, std::string path, std::int64_t size_bytes)
      : file_(std::move(file)), path_(std::move(path)), size_bytes_(size_bytes) {}

  Descriptor file_;
  std::string path_;
  std::int64_t size_bytes_;
};

// TooLarge beyond bytes_max.
Result<std::string> read_file(const Path& path, std::size_t bytes_max);

// A new file under way. Its name appears with commit(); without it the bytes go with the object.
class DurableFile {
 public:
  // The folder exists. Invalid where the name is not a plain file name.
  static Result<DurableFile> create(const Path& folder, std::string_view name);
  ~DurableFile();
  DurableFile(DurableFile&&) noexcept = default;
  DurableFile& operator=(DurableFile&&) = delete;

  // After an error only destruction is left.
  Result<> write(std::string_view bytes);
  std::int64_t bytes_written() const { return bytes_written_; }
  // Replaces whatever has the name. Once, and last.
  Result<> commit();

 private:
  friend std::vector<Result<>> commit_all(std::span<DurableFile* const> files);
  enum class State { Writing, Failed, Committed };

  DurableFile(Descriptor folder, std::string folder_path, std::string name, std::string temp_name)
      : folder_(std::move(folder)),
        folder_path_(std::move(folder_path)),
        name_(std::move(name)),
        temp_name_(std::move(temp_name)) {}
  std::string temp_path() const { return folder_path_ + "/" + temp_name_; }
  Result<> sync_file();
  Result<> name_file();

  Descriptor folder_;
  std::string folder_path_;
  std::string name_;
  std::string temp_name_;
  Descriptor file_;
  std::int64_t bytes_written_ = 0;
  State state_ = State::Writing;
};

// Several files at once, with one sync for each folder among them: much cheaper than one after the
// other. A result for each; an error means that this one has no name.
std::vector<Result<>> commit_all(std::span<DurableFile* const> files);

Result<> write_file_durably(const Path& path, std::string_view bytes);

enum class IfMissing { Error, Fine };
// With Fine the folder is synced even where the name is gone already: whoever removed it may have
// died before that.
Result<> remove_durably(const Path& path, IfMissing if_missing);

// Several names of one folder, with one sync. Fine where they, or the folder, are gone already.
Result<> remove_names_durably(const Path& folder, std::span<const std::string> names);
// False where it is not empty; fine where it is gone already.
Result<bool> remove_folder_durably(const Path& path);

// A second name for a file, whose bytes are synced before. False where that cannot be: the names
// lie on different file systems, or this one has no links.
Result<bool> try_link_durably(const Path& file, const Path& name);

// With all its missing parents, for their owner only (mode 0700).
Result<> make_folders_durably(const Path& path);
// After files were made or renamed in it by somebody else's code.
Result<> sync_folder(const Path& path);
// For the folder's only owner: removes what writers that were killed left behind; says how many.
Result<int> remove_temp_files(const Path& folder);

struct FreeSpace {
  std::int64_t free_bytes;  // to us: what only root may use is not counted
  std::int64_t total_bytes;
};
Result<FreeSpace> free_space(const Path& path);

enum class EntryKind { File, Folder, Link, Other };
struct FolderEntry {
  std::string name;
  EntryKind kind;
};
// Sorted by the bytes of the name, without "." and "..". TooLarge beyond entries_max.
Result<std::vector<FolderEntry>> list_folder(const Path& path, std::size_t entries_max);

// An empty file for its owner only (mode 0600), for code of others that would make it readable for
// all. One that exists keeps its mode. Not durable by itself: whoever fills it syncs.
Result<> make_private_file(const Path& path);

// Follows links. An error where nobody can tell (no right to look).
Result<bool> path_exists(const Path& path);

}  // namespace quern::io

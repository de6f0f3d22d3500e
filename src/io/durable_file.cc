#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <map>

#include "io/calls.h"
#include "io/file.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;
// Names of 64 random bits meet once in an age; more attempts mean that the source of chance is
// broken.
constexpr int kTempNamesMax = 3;
constexpr std::size_t kEntriesMax = 1'000'000;

// "a" lies in ".".
Path folder_of(const Path& path) {
  return path.has_parent_path() ? path.parent_path() : Path(".");
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !name.starts_with(kTempPrefix) &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Result<Descriptor> open_folder(const Path& path) {
  return calls::open({AT_FDCWD, path.native(), path.native()}, O_RDONLY | O_DIRECTORY);
}

calls::Place place_in(const Descriptor& folder, const std::string& folder_path,
                      const std::string& name) {
  return {folder.get(), name, folder_path + "/" + name};
}

// Nobody can tell any more what a restart after a power cut would find; recovery decides.
void sync_folder_or_abort(const Descriptor& folder, const std::string& path) {
  CHECK_OK(calls::sync_folder(folder.get(), path));
}

Result<std::string> random_temp_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    return system_error(errno, "getrandom");
  return fmt::format("{}{:016x}", kTempPrefix, number);
}

// Whether a former run may have made this folder and died before the name was durable. Without the
// right to open the parent it was not us: we open it before we make anything in it.
Result<> sync_parent_of_existing(const Path& path) {
  if (path == path.root_path()) return {};
  const Path parent = folder_of(path);
  Result<Descriptor> folder = open_folder(parent);
  if (!folder.ok() && folder.error().kind() == Errc::Denied) return {};
  TRY_ASSIGN(const Descriptor opened, std::move(folder));
  sync_folder_or_abort(opened, parent.native());
  return {};
}

Result<> make_one_folder(const Path& path) {
  const Path parent = folder_of(path);
  TRY_ASSIGN(const Descriptor folder, open_folder(parent));
  const Result<> made =
      calls::make_folder(place_in(folder, parent.native(), path.filename().native()), kFolderMode);
  // Two processes may start in one folder at the same time.
  if (!made.ok() && made.error().kind() != Errc::Conflict) return made.error();
  sync_folder_or_abort(folder, parent.native());
  return {};
}

}  // namespace

Result<DurableFile> DurableFile::create(const Path& folder, std::string_view name) {
  if (!is_plain_name(name))
    return Error{Errc::Invalid, fmt::format("\"{}\" is not a plain file name", name)};
  // Opened now, so that after the rename nothing can fail but the sync itself.
  TRY_ASSIGN(Descriptor opened, open_folder(folder));
  DurableFile file(std::move(opened), folder.native(), std::string(name), {});
  for (int attempt = 1;; ++attempt) {
    TRY_ASSIGN(std::string temp_name, random_temp_name());
    Result<Descriptor> made = calls::open(place_in(file.folder_, file.folder_path_, temp_name),
                                          O_WRONLY | O_CREAT | O_EXCL, kFileMode);
    if (!made.ok() && made.error().kind() == Errc::Conflict && attempt < kTempNamesMax) continue;
    TRY_ASSIGN(file.file_, std::move(made));
    file.temp_name_ = std::move(temp_name);
    return file;
  }
}

DurableFile::~DurableFile() {
  // The folder is closed only in an object that was moved from; without a file nothing was made.
  if (!file_.is_open() || state_ == State::Committed) return;
  // An error leaves a temporary file to remove_temp_files(), which the next start calls anyway.
  (void)calls::unlink(place_in(folder_, folder_path_, temp_name_), name_);
}

Result<> DurableFile::write(std::string_view bytes) {
  CHECK(state_ == State::Writing);
  while (!bytes.empty()) {
    Result<std::size_t> written = calls::write(file_.get(), bytes, bytes_written_, temp_path());
    if (!written.ok()) {
      state_ = State::Failed;
      return std::move(written).error();
    }
    bytes_written_ += static_cast<std::int64_t>(*written);
    bytes.remove_prefix(*written);
  }
  return {};
}

Result<> DurableFile::commit() {
  DurableFile* const self = this;
  return std::move(commit_all(std::span(&self, 1)).front());
}

Result<> DurableFile::sync_file() {
  CHECK(state_ == State::Writing);
  state_ = State::Failed;  // unless it gets its name
  return calls::fsync(file_.get(), temp_path(), name_);
}

Result<> DurableFile::name_file() {
  TRY(calls::rename(place_in(folder_, folder_path_, temp_name_),
                    place_in(folder_, folder_path_, name_)));
  state_ = State::Committed;
  return {};
}

std::vector<Result<>> commit_all(std::span<DurableFile* const> files) {
  std::vector<Result<>> results;
  for (DurableFile* file : files) results.push_back(file->sync_file());
  std::map<std::string, const DurableFile*> changed;  // by folder
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (results[i].ok()) results[i] = files[i]->name_file();
    if (results[i].ok()) changed.emplace(files[i]->folder_path_, files[i]);
  }
  for (const auto& [path, file] : changed) sync_folder_or_abort(file->folder_, path);
  return results;
}

Result<> write_file_durably(const Path& path, std::string_view bytes) {
  TRY_ASSIGN(DurableFile file, DurableFile::create(folder_of(path), path.filename().native()));
  TRY(file.write(bytes));
  return file.commit();
}

Result<> remove_durably(const Path& path, IfMissing if_missing) {
  const Path folder_path = folder_of(path);
  Result<Descriptor> opened = open_folder(folder_path);
  if (!opened.ok() && opened.error().kind() == Errc::Missing && if_missing == IfMissing::Fine)
    return {};
  TRY_ASSIGN(const Descriptor folder, std::move(opened));
  const std::string name = path.filename().native();
  const Result<> removed = calls::unlink(place_in(folder, folder_path.native(), name), name);
  if (!removed.ok()) {
    const bool is_fine = removed.error().kind() == Errc::Missing && if_missing == IfMissing::Fine;
    if (!is_fine) return removed.error();
  }
  sync_folder_or_abort(folder, folder_path.native());
  return {};
}

Result<> remove_names_durably(const Path& folder_path, std::span<const std::string> names) {
  Result<Descriptor> opened = open_folder(folder_path);
  if (!opened.ok() && opened.error().kind() == Errc::Missing) return {};
  TRY_ASSIGN(const Descriptor folder, std::move(opened));
  for (const std::string& name : names) {
    const Result<> removed = calls::unlink(place_in(folder, folder_path.native(), name), name);
    if (!removed.ok() && removed.error().kind() != Errc::Missing) return removed.error();
  }
  sync_folder_or_abort(folder, folder_path.native());
  return {};
}

Result<bool> remove_folder_durably(const Path& path) {
  const Path parent = folder_of(path);
  Result<Descriptor> opened = open_folder(parent);
  if (!opened.ok() && opened.error().kind() == Errc::Missing) return true;
  TRY_ASSIGN(const Descriptor folder, std::move(opened));
  const Result<> removed =
      calls::remove_folder(place_in(folder, parent.native(), path.filename().native()));
  if (!removed.ok() && removed.error().kind() == Errc::Conflict) return false;
  if (!removed.ok() && removed.error().kind() != Errc::Missing) return removed.error();
  sync_folder_or_abort(folder, parent.native());
  return true;
}

Result<bool> try_link_durably(const Path& file, const Path& name) {
  const calls::Place from{AT_FDCWD, file.native(), file.native()};
  TRY_ASSIGN(const Descriptor opened, calls::open(from, O_RDONLY));
  const Path folder_path = folder_of(name);
  TRY_ASSIGN(const Descriptor folder, open_folder(folder_path));
  TRY(calls::fsync(opened.get(), file.native(), name.filename().native()));
  TRY_ASSIGN(const bool linked,
             calls::link(from, place_in(folder, folder_path.native(), name.filename().native())));
  if (linked) sync_folder_or_abort(folder, folder_path.native());
  return linked;
}

Result<> make_folders_durably(const Path& path) {
  std::vector<Path> missing;
  Path at = path.lexically_normal();
  if (!at.has_filename()) at = at.parent_path();  // "a/b/" is "a/b"
  while (true) {
    TRY_ASSIGN(const bool is_there, path_exists(at));
    if (is_there) break;
    missing.push_back(at);
    at = folder_of(at);
  }
  TRY(sync_parent_of_existing(at));
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) TRY(make_one_folder(*next));
  TRY(open_folder(path));  // Invalid where a file has the name
  return {};
}

Result<> sync_folder(const Path& path) {
  TRY_ASSIGN(const Descriptor folder, open_folder(path));
  sync_folder_or_abort(folder, path.native());
  return {};
}

Result<int> remove_temp_files(const Path& folder_path) {
  TRY_ASSIGN(const std::vector<FolderEntry> entries, list_folder(folder_path, kEntriesMax));
  TRY_ASSIGN(const Descriptor folder, open_folder(folder_path));
  int removed = 0;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != EntryKind::File || !entry.name.starts_with(kTempPrefix)) continue;
    // Not synced: nothing names them, and the next start would remove them again.
    TRY(calls::unlink(place_in(folder, folder_path.native(), entry.name), kTempPrefix));
    ++removed;
  }
  return removed;
}

}  // namespace quern::io

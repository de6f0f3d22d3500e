#include "blob/folder_backend.h"

#include <algorithm>
#include <map>

#include "blob/place.h"
#include "io/file.h"

namespace quern::blob {
namespace {

constexpr std::size_t kFoldersMax = 1'000'000;
// A thousand and what was left of files under way.
constexpr std::size_t kFilesMax = 100'000;
constexpr std::size_t kSessionsPerList = 1000;

class FileWriter final : public PlaceWriter {
 public:
  explicit FileWriter(io::DurableFile file) : file_(std::move(file)) {}

  Result<> write(std::string_view bytes) override { return file_.write(bytes); }
  Result<> commit() override { return file_.commit(); }
  io::DurableFile& file() { return file_; }

 private:
  io::DurableFile file_;
};

class FilePlaceReader final : public PlaceReader {
 public:
  explicit FilePlaceReader(io::FileReader file) : file_(std::move(file)) {}

  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const override {
    return file_.read_at(offset, into);
  }
  std::int64_t size_bytes() const override { return file_.size_bytes(); }

 private:
  io::FileReader file_;
};

// Sorted names of folders; none where the folder itself is missing.
Result<std::vector<std::string>> folders_in(const io::Path& path) {
  auto entries = io::list_folder(path, kFoldersMax);
  if (!entries.ok() && entries.error().kind() == Errc::Missing) return std::vector<std::string>();
  TRY_ASSIGN(const std::vector<io::FolderEntry> found, std::move(entries));
  std::vector<std::string> names;
  for (const io::FolderEntry& entry : found) {
    if (entry.kind == io::EntryKind::Folder) names.push_back(entry.name);
  }
  return names;
}

}  // namespace

Result<std::unique_ptr<Backend>> FolderBackend::open(const std::filesystem::path& root) {
  TRY(io::make_folders_durably(root).with_context("opening the folder of blobs"));
  return std::unique_ptr<Backend>(new FolderBackend(root));
}

Result<std::filesystem::path> FolderBackend::folder_for(const std::string& place) {
  const std::filesystem::path folder = (root_ / place).parent_path();
  const std::scoped_lock lock(mutex_);
  if (folder != made_) {
    TRY(io::make_folders_durably(folder));
    made_ = folder;
  }
  return folder;
}

Result<std::unique_ptr<PlaceWriter>> FolderBackend::create(const std::string& place) {
  TRY_ASSIGN(const std::filesystem::path folder, folder_for(place));
  const std::string name = std::filesystem::path(place).filename().native();
  TRY_ASSIGN(io::DurableFile file, io::DurableFile::create(folder, name));
  return std::unique_ptr<PlaceWriter>(std::make_unique<FileWriter>(std::move(file)));
}

std::vector<Result<>> FolderBackend::commit(std::span<PlaceWriter* const> writers) {
  std::vector<io::DurableFile*> files;
  for (PlaceWriter* writer : writers) files.push_back(&static_cast<FileWriter*>(writer)->file());
  return io::commit_all(files);
}

Result<std::unique_ptr<PlaceReader>> FolderBackend::open(const std::string& place) const {
  TRY_ASSIGN(io::FileReader file, io::FileReader::open(root_ / place));
  return std::unique_ptr<PlaceReader>(std::make_unique<FilePlaceReader>(std::move(file)));
}

Result<> FolderBackend::remove(std::span<const std::string> places) {
  std::map<std::filesystem::path, std::vector<std::string>> by_folder;
  for (const std::string& place : places) {
    const std::filesystem::path path = root_ / place;
    by_folder[path.parent_path()].push_back(path.filename().native());
  }
  for (const auto& [folder, names] : by_folder) TRY(io::remove_names_durably(folder, names));
  return {};
}

Result<Listing> FolderBackend::list(const std::string& session, const std::string& after) const {
  TRY_ASSIGN(const std::vector<std::string> folders, folders_in(root_ / session));
  const auto folder = std::upper_bound(folders.begin(), folders.end(), after);
  Listing listing;
  if (folder == folders.end()) return listing;
  if (folder + 1 != folders.end()) listing.next = *folder;
  const std::string begin = session + "/" + *folder + "/";
  TRY_ASSIGN(const auto entries, io::list_folder(root_ / begin, kFilesMax));
  for (const io::FolderEntry& entry : entries) {
    if (entry.kind != io::EntryKind::File) continue;
    std::string place = begin + entry.name;
    // Anything else is nobody's business but its maker's.
    if (entry.name.starts_with(io::kTempPrefix))
      listing.leftovers.push_back(std::move(place));
    else if (is_place(place))
      listing.places.push_back(std::move(place));
  }
  return listing;
}

Result<> FolderBackend::tidy(const std::string& session) {
  TRY_ASSIGN(const std::vector<std::string> folders, folders_in(root_ / session));
  for (const std::string& folder : folders) {
    TRY(io::remove_folder_durably(root_ / session / folder));
  }
  TRY(io::remove_folder_durably(root_ / session));
  return {};
}

Result<std::vector<std::string>> FolderBackend::list_sessions(const std::string& after) const {
  TRY_ASSIGN(std::vector<std::string> names, folders_in(root_));
  std::erase_if(names, [&](const std::string& name) { return name <= after || !is_session(name); });
  if (names.size() > kSessionsPerList) names.resize(kSessionsPerList);
  return names;
}

std::optional<std::filesystem::path> FolderBackend::path_of(const std::string& place) const {
  return root_ / place;
}

Result<bool> FolderBackend::adopt(const std::filesystem::path& file, const std::string& place) {
  TRY(folder_for(place));
  return io::try_link_durably(file, root_ / place);
}

}  // namespace quern::blob

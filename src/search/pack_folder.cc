#include "search/pack_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/crash.h"
#include "base/log.h"
#include "blob/digest.h"
#include "io/clock.h"
#include "io/system_error.h"

namespace quern::search {
namespace {

constexpr std::string_view kSuffix = ".pack";
constexpr std::string_view kSeenSuffix = ".seen";
constexpr std::string_view kBuilding = "building-";
constexpr std::size_t kDigestLetters = 64;
constexpr std::size_t kSeenBytesMax = 200;
constexpr std::int64_t kYoungUs = 60'000'000;

std::int64_t now_us() {
  return io::system_clock().monotonic_us();
}

bool is_digest(std::string_view name) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == kDigestLetters && std::all_of(name.begin(), name.end(), is_hex);
}

// What changes whenever somebody writes to a file.
Result<std::string> identity_of(const io::Path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return io::system_error(errno, file.string());
  return fmt::format("{} {} {}.{:09} {}.{:09}", info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

Result<std::string> hash_file(const io::Path& path) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
  blob::Digest digest(blob::Digest::Kind::Sha256);
  std::string piece(1 << 20, '\0');
  std::int64_t offset = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t got, file.read_at(offset, piece));
    if (got == 0) break;
    digest.add(std::string_view(piece).substr(0, got));
    offset += static_cast<std::int64_t>(got);
  }
  return blob::hex_of(digest.finish());
}

// Where the file system has no links.
Result<> copy_durably(const io::Path& from, const io::Path& folder, const std::string& name) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(from));
  TRY_ASSIGN(io::DurableFile copy, io::DurableFile::create(folder, name));
  std::string piece(1 << 20, '\0');
  while (true) {
    TRY_ASSIGN(const std::size_t got, file.read_at(copy.bytes_written(), piece));
    if (got == 0) return copy.commit();
    TRY(copy.write(std::string_view(piece).substr(0, got)));
  }
}

// Of a process that is no more.
bool is_left_behind(std::string_view name) {
  if (!name.starts_with(kBuilding)) return false;
  const int pid = std::atoi(std::string(name.substr(kBuilding.size())).c_str());
  return pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
}

}  // namespace

Result<std::unique_ptr<PackFolder>> PackFolder::open(const io::Path& path, Owner owner) {
  TRY(io::make_folders_durably(path));
  if (owner == Owner::Only) TRY(io::remove_temp_files(path));
  std::unique_ptr<PackFolder> folder(new PackFolder(path));
  TRY_ASSIGN(const std::vector<io::FolderEntry> entries, io::list_folder(path, kPackFilesMax));
  std::vector<std::string> left;
  for (const io::FolderEntry& entry : entries) {
    const std::string_view name = entry.name;
    if (is_left_behind(name) || (owner == Owner::Only && name.starts_with(kBuilding))) {
      left.push_back(entry.name);
    }
    if (!name.ends_with(kSuffix)) continue;
    const std::string digest(name.substr(0, name.size() - kSuffix.size()));
    if (is_digest(digest)) folder->entries_[digest].since_us = now_us() - kYoungUs;
  }
  TRY(io::remove_names_durably(path, left));
  return folder;
}

bool PackFolder::has(const std::string& digest) const {
  const std::scoped_lock lock(mutex_);
  return entries_.contains(digest);
}

std::vector<std::string> PackFolder::held() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> digests;
  for (const auto& [digest, entry] : entries_) digests.push_back(digest);
  return digests;
}

Result<std::shared_ptr<const Pack>> PackFolder::find(const std::string& digest) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(digest);
    if (found == entries_.end()) {
      return Error{Errc::Missing, fmt::format("the pack {} is not on this machine", digest)};
    }
    if (found->second.pack) return found->second.pack;
  }
  Result<std::shared_ptr<const Pack>> opened = open_verified(digest);
  if (!opened.ok() && opened.error().kind() == Errc::Corrupt) {
    log_warn("search.pack_damaged", {{"digest", digest}, {"error", opened.error().message()}});
    TRY(drop(digest));
  }
  if (!opened.ok()) return opened.error();
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(digest);
  if (entry != entries_.end()) {
    // Whoever opened it at the same time was first.
    if (entry->second.pack) return entry->second.pack;
    entry->second.pack = *opened;
  }
  return *opened;
}

Result<std::shared_ptr<const Pack>> PackFolder::open_verified(const std::string& digest) {
  const io::Path file = file_of(digest);
  const io::Path seen = path_ / (digest + std::string(kSeenSuffix));
  TRY_ASSIGN(const std::string identity, identity_of(file));
  const Result<std::string> known = io::read_file(seen, kSeenBytesMax);
  if (!known.ok() || *known != identity) {
    TRY_ASSIGN(const std::string actual, hash_file(file));
    if (actual != digest) {
      return Error{Errc::Corrupt, fmt::format("{} is damaged", file.string())};
    }
    TRY(io::write_file_durably(seen, identity));
  }
  TRY_ASSIGN(std::shared_ptr<Pack> pack, Pack::open(file));
  return std::shared_ptr<const Pack>(std::move(pack));
}

io::Path PackFolder::building_path() {
  const std::scoped_lock lock(mutex_);
  return path_ / fmt::format("{}{}-{}", kBuilding, ::getpid(), ++built_);
}

Result<std::shared_ptr<const Pack>> PackFolder::adopt(const io::Path& built,
                                                      const std::string& digest) {
  if (!has(digest)) {
    TRY_ASSIGN(const bool linked, io::try_link_durably(built, file_of(digest)));
    if (!linked) TRY(copy_durably(built, path_, file_of(digest).filename().string()));
  }
  crash_point("search.pack.adopted");
  TRY(io::remove_durably(built, io::IfMissing::Fine));
  note(digest);
  return find(digest);
}

void PackFolder::note(const std::string& digest) {
  const std::scoped_lock lock(mutex_);
  entries_[digest].since_us = now_us();
}

Result<> PackFolder::drop(const std::string& digest) {
  {
    const std::scoped_lock lock(mutex_);
    entries_.erase(digest);
  }
  const std::vector<std::string> names = {digest + std::string(kSuffix),
                                          digest + std::string(kSeenSuffix)};
  return io::remove_names_durably(path_, names);
}

Result<> PackFolder::keep_only(const std::vector<std::string>& wanted) {
  const std::set<std::string> kept(wanted.begin(), wanted.end());
  std::vector<std::string> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [digest, entry] : entries_) {
      const bool young = entry.since_us > now_us() - kYoungUs;
      if (!kept.contains(digest) && !young) unwanted.push_back(digest);
    }
  }
  for (const std::string& digest : unwanted) TRY(drop(digest));
  return {};
}

}  // namespace quern::search

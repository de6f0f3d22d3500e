#include "app/source_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/utf8.h"

namespace quern::app {
namespace {

constexpr std::size_t kEntriesMax = 10'000'000;
constexpr std::size_t kLevelsMax = 1000;

// "a.txt" comes before what lies in "a/".
std::string sort_key(const io::FolderEntry& entry) {
  return entry.kind == io::EntryKind::Folder ? entry.name + "/" : entry.name;
}

// "leak/" and "." have a name of their own only when they are spelt out.
Result<std::filesystem::path> normal(const std::string& given) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::absolute(given, failed).lexically_normal();
  if (failed) return Error{Errc::Invalid, fmt::format("{}: {}", given, failed.message())};
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

}  // namespace

Result<SourceWalk> SourceWalk::open(const std::vector<std::string>& paths) {
  SourceWalk walk;
  for (const std::string& given : paths) {
    TRY_ASSIGN(const std::filesystem::path path, normal(given));
    TRY_ASSIGN(const bool there, io::path_exists(path));
    if (!there) return Error{Errc::Missing, fmt::format("{} is not there", given)};
    walk.given_.push_back(path);
  }
  return walk;
}

Result<> SourceWalk::enter(const std::filesystem::path& folder, std::string name) {
  if (levels_.size() >= kLevelsMax) {
    return over_limit("folders within folders", static_cast<std::int64_t>(levels_.size() + 1),
                      kLevelsMax, "add.levels_max");
  }
  TRY_ASSIGN(std::vector<io::FolderEntry> entries, io::list_folder(folder, kEntriesMax));
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
  levels_.push_back({folder, std::move(name), std::move(entries)});
  return {};
}

Result<std::optional<SourceFile>> SourceWalk::next() {
  while (true) {
    if (levels_.empty()) {
      if (given_at_ == given_.size()) return std::optional<SourceFile>();
      const std::filesystem::path& path = given_[given_at_++];
      std::error_code failed;
      const std::string name = path.filename().string();
      if (std::filesystem::is_directory(path, failed)) {
        TRY(enter(path, name + "/"));
        continue;
      }
      if (!std::filesystem::is_regular_file(path, failed)) {
        ++skipped_;
        continue;
      }
      return std::optional<SourceFile>({path, valid_utf8(name), index_++});
    }
    Level& level = levels_.back();
    if (level.at == level.entries.size()) {
      levels_.pop_back();
      continue;
    }
    const io::FolderEntry& entry = level.entries[level.at++];
    const std::filesystem::path path = level.folder / entry.name;
    std::string name = level.name + entry.name;
    switch (entry.kind) {
      case io::EntryKind::File:
        return std::optional<SourceFile>({path, valid_utf8(name), index_++});
      case io::EntryKind::Folder:
        TRY(enter(path, name + "/"));
        break;
      default:
        ++skipped_;
    }
  }
}

}  // namespace quern::app

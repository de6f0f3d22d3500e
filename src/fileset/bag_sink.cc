#include "fileset/bag_sink.h"

#include <fmt/format.h>
#include <zlib.h>

#include <optional>
#include <set>
#include <vector>

#include "io/file.h"
#include "io/rename.h"
#include "web/body.h"
#include "web/wacz_zip.h"

namespace quern::fileset {
namespace {

namespace fs = std::filesystem;

// What an export may have left at the top of its folder. Anything else is somebody's own.
bool is_of_export(const io::FolderEntry& entry) {
  static const std::set<std::string> ours = {"data",       "datasets",  "files",
                                             "provenance", "bagit.txt", "bag-info.txt"};
  return ours.contains(entry.name) || entry.name.starts_with("manifest-") ||
         entry.name.starts_with("tagmanifest-") || entry.name.starts_with(io::kTempPrefix);
}

constexpr std::size_t kEntriesMax = 2'000'000;

// Folders before what lies in them; removed from the end.
Result<> remove_tree(const fs::path& top) {
  std::vector<fs::path> folders{top};
  for (std::size_t at = 0; at < folders.size(); ++at) {
    const fs::path folder = folders[at];
    TRY_ASSIGN(const std::vector<io::FolderEntry> entries, io::list_folder(folder, kEntriesMax));
    std::vector<std::string> names;
    for (const io::FolderEntry& entry : entries) {
      if (entry.kind == io::EntryKind::Folder) {
        folders.push_back(folder / entry.name);
      } else {
        names.push_back(entry.name);
      }
    }
    TRY(io::remove_names_durably(folder, names));
  }
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    TRY(io::remove_folder_durably(*folder));
  }
  return {};
}

Result<> remove_former(const fs::path& part) {
  TRY_ASSIGN(const bool there, io::path_exists(part));
  if (!there) return {};
  TRY_ASSIGN(const std::vector<io::FolderEntry> entries, io::list_folder(part, kEntriesMax));
  for (const io::FolderEntry& entry : entries) {
    if (is_of_export(entry)) continue;
    return Error{Errc::Conflict,
                 fmt::format("{} is in the way, and no export made it ({}): move it away",
                             part.native(), entry.name)};
  }
  return remove_tree(part);
}

class FolderSink final : public BagSink {
 public:
  FolderSink(fs::path out, fs::path part) : out_(std::move(out)), part_(std::move(part)) {}
  ~FolderSink() override {
    file_.reset();
    // What cannot be removed is removed by the next export, or by who looks at the disk.
    if (!finished_) (void)remove_tree(part_);
  }

  Result<> begin(const std::string& path) override {
    const fs::path whole = part_ / path;
    const fs::path folder = whole.parent_path();
    if (folder != folder_) TRY(io::make_folders_durably(folder));
    folder_ = folder;
    TRY_ASSIGN(io::DurableFile file, io::DurableFile::create(folder, whole.filename().native()));
    file_.emplace(std::move(file));
    return {};
  }
  Result<> add(std::string_view bytes) override { return file_->write(bytes); }
  Result<> end() override {
    TRY(file_->commit());
    file_.reset();
    return {};
  }
  Result<> finish() override {
    TRY(io::rename_durably(part_, out_));
    finished_ = true;
    return {};
  }

 private:
  fs::path out_;
  fs::path part_;
  bool finished_ = false;
  fs::path folder_;  // the last one, which is there
  std::optional<io::DurableFile> file_;
};

class ZipSink final : public BagSink {
 public:
  ZipSink(const fs::path& out, io::DurableFile file, std::int64_t at_us)
      : top_(out.stem().native()),
        spool_(out.parent_path()),
        file_(std::move(file)),
        zip_([this](std::string_view bytes) { return file_.write(bytes); }, at_us) {}

  Result<> begin(const std::string& path) override {
    entry_ = {.name = top_ + "/" + path};
    body_.emplace(spool_);
    return {};
  }
  Result<> add(std::string_view bytes) override {
    entry_.crc = static_cast<std::uint32_t>(::crc32(
        entry_.crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
    return body_->add(bytes);
  }
  Result<> end() override {
    const web::Body body = body_->finish();
    body_.reset();
    entry_.bytes = body.size();
    TRY(zip_.begin(entry_));
    return body.read([this](std::string_view piece) { return zip_.add(piece); });
  }
  Result<> finish() override {
    TRY(zip_.finish());
    return file_.commit();
  }

 private:
  std::string top_;
  fs::path spool_;
  io::DurableFile file_;
  web::ZipWriter zip_;
  web::ZipEntry entry_;
  std::optional<web::BodyWriter> body_;
};

}  // namespace

Result<std::unique_ptr<BagSink>> open_folder_sink(const fs::path& out) {
  TRY_ASSIGN(const bool there, io::path_exists(out));
  if (there) {
    return Error{Errc::Conflict,
                 fmt::format("{} is there already: name another folder", out.native())};
  }
  fs::path part = out;
  part += ".part";
  TRY(remove_former(part));
  TRY(io::make_folders_durably(part));
  return std::unique_ptr<BagSink>(std::make_unique<FolderSink>(out, std::move(part)));
}

Result<std::unique_ptr<BagSink>> open_zip_sink(const fs::path& out, std::int64_t at_us) {
  TRY_ASSIGN(io::DurableFile file,
             io::DurableFile::create(out.parent_path(), out.filename().native()));
  return std::unique_ptr<BagSink>(std::make_unique<ZipSink>(out, std::move(file), at_us));
}

}  // namespace quern::fileset

#include "crawl/archive_sweep.h"

#include <set>
#include <vector>

#include "base/crash.h"
#include "base/log.h"
#include "crawl/capture.h"
#include "web/archive_name.h"

namespace quern::crawl {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kGone{"SELECT prefix FROM removed_archive WHERE prefix = $1",
                    "SELECT prefix FROM removed_archive WHERE prefix = ANY ($1::text[])"};

struct File {
  std::filesystem::path path;
  web::ArchiveName name;
};

Result<std::set<std::string>> list_gone(Tx& tx, const std::vector<File>& files) {
  Bulk asked;
  for (const File& file : files) asked.add(file.name.prefix);
  TRY_ASSIGN(const Rows rows, tx.bulk(kGone, asked));
  std::set<std::string> gone;
  for (const Row row : rows) gone.insert(row.get<std::string>(0));
  return gone;
}

Result<> remove_file(const SweepParts& parts, const File& file, SweptArchive& swept) {
  const std::string name = file.path.filename().string();
  TRY_ASSIGN(const std::int64_t end,
             parts.readers.run([&name](Tx& tx) { return warc_end(tx, name); }));
  if (end > 0) return {};
  parts.archives.close(file.name.prefix);
  const Result<> removed = web::Archive::cut_back(file.path, 0);
  if (!removed.ok() && removed.error().kind() == Errc::Busy) {
    ++swept.busy;
    return {};
  }
  TRY(removed);
  crash_point("crawl.warc.removed");
  ++swept.removed;
  return {};
}

Result<> sweep_some(const SweepParts& parts, std::vector<File>& files, SweptArchive& swept) {
  TRY_ASSIGN(const std::set<std::string> gone,
             parts.readers.run([&files](Tx& tx) { return list_gone(tx, files); }));
  for (const File& file : files) {
    if (gone.contains(file.name.prefix)) TRY(remove_file(parts, file, swept));
  }
  files.clear();
  return {};
}

}  // namespace

Result<SweptArchive> sweep_archive(const SweepParts& parts) {
  SweptArchive swept;
  std::vector<File> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(parts.folder, failed)) {
    const auto name = web::parse_archive_name(entry.path().filename().string());
    if (name) files.push_back({entry.path(), *name});
    if (files.size() >= kFilesSweptAtOnce) TRY(sweep_some(parts, files, swept));
  }
  if (!files.empty()) TRY(sweep_some(parts, files, swept));
  if (swept.removed > 0) log_info("crawl.archive_swept", {{"files", swept.removed}});
  return swept;
}

}  // namespace quern::crawl

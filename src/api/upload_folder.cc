#include "api/upload_folder.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "api/job_json.h"
#include "api/upload_request.h"
#include "base/log.h"
#include "io/file.h"

namespace quern::api {
namespace {

constexpr char kNodeFile[] = "node.id";
constexpr std::size_t kNodeBytesMax = 256;
constexpr int kNodeAttempts = 500;
constexpr std::chrono::milliseconds kNodePause{10};
constexpr std::size_t kPartsMax = 1'000'000;
constexpr std::size_t kPartsAtOnce = 500;

template <class Function>
auto behind(tree::ShardId shard, Function function) {
  return store::Fenced{store::Fence{shard.value, 0}, std::move(function)};
}

store::LaneKey lane_key(tree::ShardId shard) {
  return {static_cast<std::uint64_t>(shard.value)};
}

// The names of uploads of which a part file is there.
std::vector<std::string> names_of(const std::vector<io::FolderEntry>& entries,
                                  std::string_view suffix) {
  std::vector<std::string> names;
  for (const io::FolderEntry& entry : entries) {
    if (entry.kind != io::EntryKind::File || !entry.name.ends_with(suffix)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - suffix.size());
    if (is_upload_name(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

Result<std::string> UploadFolder::load_node() const {
  TRY(io::make_folders_durably(folder_));
  // Its lock keeps two processes of one folder from making two ids.
  TRY_ASSIGN(io::PartFile file, io::PartFile::open(folder_ / kNodeFile));
  TRY_ASSIGN(std::string known, io::read_file(folder_ / kNodeFile, kNodeBytesMax));
  if (!is_upload_name(known)) {
    known = random_key();
    TRY(file.write_at(0, known));
  }
  // Also where it was there: whoever wrote it may have died before the sync.
  TRY(file.sync());
  return known;
}

Result<std::string> UploadFolder::node() {
  const std::scoped_lock lock(mutex_);
  for (int attempt = 1; node_.empty(); ++attempt) {
    Result<std::string> known = load_node();
    // Another process of this folder has just begun, too.
    if (!known.ok() && known.error().kind() == Errc::Busy && attempt < kNodeAttempts) {
      std::this_thread::sleep_for(kNodePause);
      continue;
    }
    TRY_ASSIGN(node_, std::move(known));
  }
  return node_;
}

Result<std::optional<LockedUpload>> UploadFolder::lock(const Parts& parts,
                                                       const tree::Upload& upload) {
  TRY_ASSIGN(const std::string ours, node());
  if (upload.node != ours) {
    return Error{Errc::Unavailable,
                 "the bytes of this upload lie on another server: send it all by one"};
  }
  LockedUpload locked;
  const std::filesystem::path path = part_of(upload.name);
  if (upload.length > 0) {
    Result<io::PartFile> part = io::PartFile::open(path);
    if (!part.ok() && part.error().kind() == Errc::Busy) return std::optional<LockedUpload>();
    TRY_ASSIGN(io::PartFile opened, std::move(part));
    locked.part = std::make_shared<io::PartFile>(std::move(opened));
  }
  // Only now nobody else goes on with it.
  Result<tree::Upload> again =
      parts.readers.run([&upload](store::Tx& tx) { return tree::load_upload(tx, upload.name); });
  const bool gone = !again.ok() && again.error().kind() == Errc::Missing;
  if (locked.part && (gone || (again.ok() && again->done))) {
    TRY(io::remove_durably(path, io::IfMissing::Fine));  // perhaps we have just made it
    locked.part.reset();
  }
  TRY_ASSIGN(locked.upload, std::move(again));
  if (locked.part && locked.part->size_bytes() < locked.upload.bytes) {
    log_error("upload.lost", {{"upload", upload.name}, {"bytes", locked.part->size_bytes()}});
    return Error{Errc::Corrupt, "bytes of this upload were lost: begin again"};
  }
  return std::optional(std::move(locked));
}

Result<blob::Put> UploadFolder::put_of(const Parts& parts, const tree::Upload& upload) const {
  if (upload.length > 0) return parts.blobs.adopt_file(part_of(upload.name));
  blob::Spool nothing(parts.blobs);
  return nothing.finish();
}

Result<> UploadFolder::finish(const Parts& parts, const LockedUpload& locked,
                              const step::Pipeline::Decision& decision) const {
  const tree::Upload& upload = locked.upload;
  if (upload.done) return {};
  CHECK(upload.complete());
  TRY_ASSIGN(const blob::Put put, put_of(parts, upload));
  if (put.bytes != upload.length) {
    parts.blobs.discard(put.place);
    return Error{Errc::Corrupt, "the part file of upload " + upload.name +
                                    " is not as long as it was when it was synced"};
  }
  const tree::CompleteUpload order{upload, put, decision.step, decision.failure};
  auto complete = [&order](store::Tx& tx) { return tree::complete_upload(tx, order); };
  const Result<tree::AddedFile> written =
      parts.writer.run(lane_key(upload.shard), behind(upload.shard, std::move(complete)));
  if (!written.ok()) {
    // Stale: the job was deleted. In both cases it is known that nothing names the put.
    const Errc kind = written.error().kind();
    if (kind != Errc::Missing && kind != Errc::Stale) return written.error();
    parts.blobs.discard(put.place);
    return Error{Errc::Missing, "the upload has gone"};
  }
  for (const std::string& place : written->orphans) parts.blobs.discard(place);
  if (upload.length == 0) return {};
  // What is left of it is swept at the next start.
  const Result<> removed = io::remove_durably(part_of(upload.name), io::IfMissing::Fine);
  if (!removed.ok()) log_warn("upload.part_left", {{"error", removed.error().message()}});
  return {};
}

Result<bool> UploadFolder::drop(const Parts& parts, const tree::Upload& upload,
                                tree::Drop why) const {
  auto drop_it = [&upload, why](store::Tx& tx) { return tree::drop_upload(tx, upload, why); };
  Result<bool> dropped =
      parts.writer.run(lane_key(upload.shard), behind(upload.shard, std::move(drop_it)));
  // There is no such shard any more.
  if (!dropped.ok() && dropped.error().kind() == Errc::Stale) {
    auto forget = [&upload](store::Tx& tx) { return tree::forget_upload(tx, upload.id); };
    dropped = parts.writer.run({}, std::move(forget));
  }
  if (dropped.ok() && *dropped) {
    TRY(io::remove_durably(part_of(upload.name), io::IfMissing::Fine));
  }
  return dropped;
}

Result<> UploadFolder::sweep(const Parts& parts) {
  TRY(node());
  TRY(sweep_expired(parts));
  TRY(sweep_parts(parts));
  return seal_deserted(parts);
}

Result<> UploadFolder::sweep_expired(const Parts& parts) const {
  for (std::int64_t dropped = 1; dropped > 0;) {
    TRY_ASSIGN(const std::vector<tree::Upload> expired,
               parts.readers.run(tree::list_expired_uploads));
    dropped = 0;
    for (const tree::Upload& upload : expired) {
      TRY_ASSIGN(const bool gone, drop(parts, upload, tree::Drop::Expired));
      if (gone) ++dropped;
    }
    if (dropped > 0) log_info("upload.expired", {{"uploads", dropped}});
  }
  return {};
}

Result<> UploadFolder::sweep_parts(const Parts& parts) const {
  TRY_ASSIGN(const auto entries, io::list_folder(folder_, kPartsMax));
  const std::vector<std::string> names = names_of(entries, kPartSuffix);
  for (std::size_t at = 0; at < names.size(); at += kPartsAtOnce) {
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<std::string> some(
        first, first + static_cast<std::ptrdiff_t>(std::min(kPartsAtOnce, names.size() - at)));
    // Asked after the look at the folder: a row is there before its file, and what has ended never
    // begins again.
    TRY_ASSIGN(const std::vector<std::string> open, parts.readers.run([&some](store::Tx& tx) {
      return tree::find_open_uploads(tx, some);
    }));
    std::vector<std::string> left;
    for (const std::string& name : some) {
      const bool is_open = std::find(open.begin(), open.end(), name) != open.end();
      if (!is_open) left.push_back(name + std::string(kPartSuffix));
    }
    if (left.empty()) continue;
    TRY(io::remove_names_durably(folder_, left));
    log_info("upload.swept", {{"files", left.size()}});
  }
  return {};
}

Result<> UploadFolder::seal_deserted(const Parts& parts) {
  TRY_ASSIGN(const std::vector<tree::JobId> jobs, parts.readers.run(tree::list_deserted_jobs));
  for (const tree::JobId job : jobs) {
    TRY(parts.writer.run({}, [job](store::Tx& tx) { return tree::seal_job(tx, job, 0); }));
  }
  return {};
}

}  // namespace quern::api

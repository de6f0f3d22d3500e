#include "web/archive.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <condition_variable>
#include <mutex>

#include "base/crash.h"
#include "blob/digest.h"
#include "io/file.h"
#include "io/part_file.h"
#include "web/body.h"

namespace quern::web {
namespace {

constexpr std::size_t kRandomBytes = 6;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

std::string random_hex() {
  std::array<unsigned char, kRandomBytes> bytes{};
  CHECK(::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return blob::hex_of({reinterpret_cast<char*>(bytes.data()), bytes.size()});
}

// The members of a capture, as they will lie in the file.
struct Packed {
  Body bytes;
  std::int64_t response_bytes = 0;
  std::string payload_digest;
};

Result<Packed> pack(const CaptureOrder& order, const std::filesystem::path& spool) {
  Packed packed;
  BodyWriter writer(spool);
  const auto keep = [&writer](std::string_view bytes) { return writer.add(bytes); };
  TRY_ASSIGN(packed.response_bytes, write_capture(order, keep, &packed.payload_digest));
  packed.bytes = writer.finish();
  return packed;
}

// A file that records are appended to. All but `file` and `name` is guarded by the core's mutex.
struct Volume {
  Volume(io::PartFile opened, std::string named)
      : file(std::move(opened)), name(std::move(named)) {}

  io::PartFile file;
  const std::string name;
  std::int64_t opened_us = 0;  // monotonic
  std::int64_t first = 0;      // behind its warcinfo
  std::int64_t end = 0;        // behind what was written
  std::int64_t synced = 0;     // behind what is durable
  bool syncing = false;
  std::optional<Error> broken;  // nothing is written to it any more
};

Result<> write_body(io::PartFile& file, std::int64_t offset, const Body& body) {
  return body.read([&](std::string_view piece) -> Result<> {
    TRY(file.write_at(offset, piece));
    offset += static_cast<std::int64_t>(piece.size());
    return {};
  });
}

// Behind the first record, where that is a warcinfo; 0 else.
std::int64_t warcinfo_end(const std::filesystem::path& file) {
  auto reader = Archive::read_at(file, 0);
  if (!reader.ok()) return 0;
  const auto record = (*reader)->next();
  if (!record.ok() || !*record || (*record)->type != "warcinfo") return 0;
  const auto behind = (*reader)->next();  // passes the content
  return behind.ok() && *behind ? (*behind)->offset : (*reader)->position();
}

}  // namespace

class Archive::Core {
 public:
  explicit Core(ArchiveOptions options) : options_(std::move(options)) {}

  const ArchiveOptions& options() const { return options_; }
  Result<ArchiveEntry> append(const Packed& packed);
  void rotate() {
    const std::scoped_lock lock(mutex_);
    current_.reset();
  }

 private:
  Result<> ensure_volume(std::int64_t bytes);
  Result<std::shared_ptr<Volume>> open_volume() const;
  Result<> write(Volume& volume, const Body& body);
  Result<> wait_until_synced(const std::shared_ptr<Volume>& volume, std::int64_t end,
                             std::unique_lock<std::mutex>& lock);
  void give_up(Volume& volume, Error error);

  const ArchiveOptions options_;
  std::mutex mutex_;
  std::condition_variable synced_;
  std::shared_ptr<Volume> current_;
};

Result<std::shared_ptr<Volume>> Archive::Core::open_volume() const {
  const std::int64_t now_us = options_.clock->now_us();
  const std::string name =
      fmt::format("{}-{}-{}.warc.gz", options_.prefix, timestamp14(now_us), random_hex());
  // Syncs the folder: the name is durable before the first record is.
  TRY_ASSIGN(io::PartFile file, io::PartFile::open(options_.folder / name));
  auto volume = std::make_shared<Volume>(std::move(file), name);
  const std::string info = warcinfo_record(name, now_us, options_.software);
  const Result<> written = volume->file.write_at(0, info);
  if (!written.ok()) {
    // Where that fails, too, it is left, and goes with its job.
    (void)io::remove_durably(options_.folder / name, io::IfMissing::Fine);
    return written.error();
  }
  volume->opened_us = options_.clock->monotonic_us();
  volume->first = volume->end = static_cast<std::int64_t>(info.size());
  crash_point("archive.opened");
  return volume;
}

Result<> Archive::Core::ensure_volume(std::int64_t bytes) {
  if (current_) {
    const bool full = current_->end > current_->first && current_->end + bytes > options_.bytes_max;
    const std::int64_t age_us = options_.clock->monotonic_us() - current_->opened_us;
    if (full || age_us > options_.age_ms_max * 1000) current_.reset();
  }
  if (current_) return {};
  TRY_ASSIGN(current_, open_volume());
  return {};
}

// Whoever noted nothing has lost nothing: the records from `synced` on were promised to nobody.
void Archive::Core::give_up(Volume& volume, Error error) {
  volume.broken = std::move(error);
  // Where this fails too, cut_back() of the next start does it.
  (void)volume.file.cut(std::max(volume.synced, volume.first));
  if (current_.get() == &volume) current_.reset();
  synced_.notify_all();
}

Result<> Archive::Core::write(Volume& volume, const Body& body) {
  const Result<> written = write_body(volume.file, volume.end, body);
  if (written.ok()) {
    volume.end += body.size();
    return {};
  }
  // Those before us may still be waiting for their sync: only our bytes go.
  if (!volume.file.cut(volume.end).ok() && current_.get() == &volume) current_.reset();
  return written.error();
}

// One of those who wait syncs for all whose bytes are there by then.
Result<> Archive::Core::wait_until_synced(const std::shared_ptr<Volume>& volume, std::int64_t end,
                                          std::unique_lock<std::mutex>& lock) {
  while (volume->synced < end && !volume->broken) {
    if (volume->syncing) {
      synced_.wait(lock);
      continue;
    }
    volume->syncing = true;
    const std::int64_t reached = volume->end;
    lock.unlock();
    const Result<> done = volume->file.sync();
    lock.lock();
    volume->syncing = false;
    if (done.ok()) {
      volume->synced = std::max(volume->synced, reached);
      synced_.notify_all();
    } else {
      give_up(*volume, done.error());
    }
  }
  if (volume->synced >= end) return {};
  return *volume->broken;
}

Result<ArchiveEntry> Archive::Core::append(const Packed& packed) {
  std::unique_lock lock(mutex_);
  TRY(ensure_volume(packed.bytes.size()));
  const std::shared_ptr<Volume> volume = current_;
  ArchiveEntry entry;
  entry.filename = volume->name;
  entry.offset = volume->end;
  entry.length = packed.response_bytes;
  entry.payload_digest = packed.payload_digest;
  TRY(write(*volume, packed.bytes));
  entry.end = volume->end;
  crash_point("archive.appended");
  TRY(wait_until_synced(volume, entry.end, lock));
  crash_point("archive.synced");
  return entry;
}

Archive::Archive(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Archive::~Archive() = default;

Result<std::unique_ptr<Archive>> Archive::open(ArchiveOptions options) {
  if (options.prefix.empty() ||
      options.prefix.find_first_not_of(kNameCharacters) != std::string::npos) {
    return Error{Errc::Invalid,
                 "the names of archives begin with letters, digits, \"-\" and \"_\""};
  }
  TRY(io::make_folders_durably(options.folder));
  return std::unique_ptr<Archive>(new Archive(std::make_unique<Core>(std::move(options))));
}

Result<ArchiveEntry> Archive::append(const CaptureOrder& order) {
  TRY_ASSIGN(const Packed packed, pack(order, folder()));
  return core_->append(packed);
}

Result<> Archive::rotate() {
  core_->rotate();
  return {};
}

const std::filesystem::path& Archive::folder() const {
  return core_->options().folder;
}

Result<> Archive::cut_back(const std::filesystem::path& file, std::int64_t known_end) {
  TRY_ASSIGN(const bool there, io::path_exists(file));
  if (!there && known_end <= 0) return {};
  if (!there) return Error{Errc::Missing, "an archive is gone: " + file.native()};
  TRY_ASSIGN(io::PartFile part, io::PartFile::open(file));
  if (part.size_bytes() < known_end) {
    return Error{Errc::Corrupt, fmt::format("{} has {} bytes; records up to {} are known",
                                            file.native(), part.size_bytes(), known_end)};
  }
  if (known_end <= 0) return io::remove_durably(file, io::IfMissing::Fine);
  const std::int64_t end = std::max(known_end, warcinfo_end(file));
  if (part.size_bytes() <= end) return {};
  TRY(part.cut(end));
  return part.sync();
}

Result<std::unique_ptr<WarcReader>> Archive::read_at(const std::filesystem::path& file,
                                                     std::int64_t offset) {
  if (offset < 0) return Error{Errc::Invalid, "a record lies at an offset of 0 or more"};
  TRY_ASSIGN(io::FileReader opened, io::FileReader::open(file));
  auto shared = std::make_shared<io::FileReader>(std::move(opened));
  auto source = [shared, at = offset](char* to, std::size_t size) mutable -> Result<std::size_t> {
    TRY_ASSIGN(const std::size_t got, shared->read_at(at, std::span(to, size)));
    at += static_cast<std::int64_t>(got);
    return got;
  };
  return std::make_unique<WarcReader>(std::move(source), offset);
}

}  // namespace quern::web

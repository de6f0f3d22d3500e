#include "fileset/download_part.h"

#include "base/crash.h"

namespace quern::fileset {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

// Nothing where there is none that counts.
Result<std::optional<PartNote>> read_note(const std::filesystem::path& path,
                                          const std::string& url) {
  TRY_ASSIGN(const bool there, io::path_exists(path));
  if (!there) return std::optional<PartNote>();
  Result<std::string> text = io::read_file(path, kPartNoteBytesMax);
  if (!text.ok() && text.error().kind() == Errc::TooLarge) return std::optional<PartNote>();
  TRY_ASSIGN(const std::string read, std::move(text));
  Result<PartNote> note = parse_part_note(read);
  if (!note.ok() || note->url != url) return std::optional<PartNote>();
  return std::optional<PartNote>(*std::move(note));
}

}  // namespace

Result<std::shared_ptr<DownloadPart>> DownloadPart::open(std::filesystem::path path,
                                                         std::string url) {
  TRY_ASSIGN(const bool there, io::path_exists(path.parent_path()));
  if (!there) TRY(io::make_folders_durably(path.parent_path()));
  TRY_ASSIGN(io::PartFile file, io::PartFile::open(path));
  std::shared_ptr<DownloadPart> part(new DownloadPart(std::move(file), std::move(path)));
  TRY(part->take_up(std::move(url)));
  return part;
}

Result<> DownloadPart::take_up(std::string url) {
  const std::filesystem::path at = note_path(path_);
  TRY_ASSIGN(noted_, io::path_exists(at));
  TRY_ASSIGN(std::optional<PartNote> note, read_note(at, url));
  if (note && note->synced > file_->size_bytes()) note.reset();
  if (!note) {
    note_.url = std::move(url);
    TRY(drop_note());
  } else {
    note_ = *std::move(note);
  }
  // Nobody knows what a crash has left behind the synced bytes.
  if (file_->size_bytes() > note_.synced) TRY(file_->cut(note_.synced));
  return read_again(note_.synced);
}

Result<> DownloadPart::read_again(std::int64_t bytes) {
  if (bytes == 0) return {};
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(path_));
  std::string buffer(kReadBytes, '\0');
  while (size_ < bytes) {
    TRY_ASSIGN(const std::size_t n, reader.read_at(size_, buffer));
    if (n == 0) return Error{Errc::Corrupt, path_.native() + " ends before its size"};
    sums_.add(std::string_view(buffer).substr(0, n));
    size_ += static_cast<std::int64_t>(n);
  }
  return {};
}

Result<> DownloadPart::drop_note() {
  if (noted_) TRY(io::remove_durably(note_path(path_), io::IfMissing::Fine));
  noted_ = false;
  return {};
}

std::int64_t DownloadPart::size() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

PartNote DownloadPart::note() const {
  const std::scoped_lock lock(mutex_);
  return note_;
}

std::int64_t DownloadPart::unsynced() const {
  const std::scoped_lock lock(mutex_);
  return size_ - note_.synced;
}

void DownloadPart::begin_answer() {
  const std::scoped_lock lock(mutex_);
  ++note_.answers;
}

Result<> DownloadPart::restart(PartNote note) {
  const std::scoped_lock syncing(sync_mutex_);
  TRY(drop_note());
  TRY(file_->cut(0));
  sums_ = Sums();
  const std::scoped_lock lock(mutex_);
  note.url = note_.url;
  note.synced = 0;
  note.complete = false;
  note.answers = 1;
  note_ = std::move(note);
  size_ = 0;
  return {};
}

Result<> DownloadPart::append(std::string_view bytes) {
  const std::int64_t at = size();
  TRY(file_->write_at(at, bytes));
  sums_.add(bytes);
  const std::scoped_lock lock(mutex_);
  size_ = at + static_cast<std::int64_t>(bytes.size());
  return {};
}

Result<> DownloadPart::sync_and_note(State state) {
  const std::scoped_lock syncing(sync_mutex_);
  if (!file_) return {};
  PartNote note;
  {
    const std::scoped_lock lock(mutex_);
    note = note_;
    note.synced = size_;
    note.complete = state == State::Complete;
    if (noted_ && note.synced == note_.synced && note.complete == note_.complete) return {};
  }
  TRY(file_->sync());
  crash_point("fileset.part.synced");
  TRY(io::write_file_durably(note_path(path_), to_text(note)));
  crash_point("fileset.part.noted");
  const std::scoped_lock lock(mutex_);
  noted_ = true;
  note_.synced = note.synced;
  note_.complete = note.complete;
  return {};
}

Digests DownloadPart::digests() const {
  return replaced_ ? *replaced_ : sums_.digests();
}

// Without a note between the two: what lies there then is no longer what it speaks of.
Result<> DownloadPart::replace(io::DurableFile file, Digests digests) {
  const std::scoped_lock syncing(sync_mutex_);
  TRY(drop_note());
  const std::int64_t bytes = file.bytes_written();
  TRY(file.commit());
  const std::scoped_lock lock(mutex_);
  size_ = bytes;
  note_.total = bytes;
  note_.synced = bytes;
  note_.complete = true;
  note_.encoding.clear();
  replaced_ = std::move(digests);
  TRY(io::write_file_durably(note_path(path_), to_text(note_)));
  noted_ = true;
  return {};
}

void DownloadPart::close() {
  const std::scoped_lock syncing(sync_mutex_);
  file_.reset();
}

}  // namespace quern::fileset

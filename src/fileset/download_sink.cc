#include "fileset/download_sink.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fileset/hops.h"

namespace quern::fileset {
namespace {

// Small enough to stay in a core's cache while three sums read it.
constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::size_t kSparesMax = 8;
// A job gives others their turn after so much.
constexpr std::size_t kJobBytes = 8 * 1024 * 1024;

}  // namespace

web::BodySink::Begin DownloadSink::begin(const web::Fetched& head) {
  const std::scoped_lock lock(mutex_);
  judged_ = judge_answer(expected_, head.status, head.headers);
  const bool begins = judged_.verdict == Judged::Verdict::Begin;
  if (!begins && judged_.verdict != Judged::Verdict::Append) {
    const bool odd = judged_.verdict == Judged::Verdict::Odd;
    return odd || judged_.verdict == Judged::Verdict::TooLarge ? Begin::Refuse : Begin::Keep;
  }
  const std::int64_t have = begins ? 0 : expected_.have;
  std::int64_t end = expected_.bytes_max;
  if (judged_.total) {
    end = *judged_.total;
  } else if (expected_.size && encoding_of(head.headers).empty()) {
    end = *expected_.size;
  }
  length_known_ = end != expected_.bytes_max;
  room_ = end - have;
  if (!begins) {
    parts_.part->begin_answer();
    return Begin::Take;
  }
  PartNote note;
  note.total = judged_.total;
  note.etag = web::find_header(head.headers, "ETag");
  note.last_modified = web::find_header(head.headers, "Last-Modified");
  note.encoding = encoding_of(head.headers);
  note.terminal_url = url_;
  note.headers = head.headers;
  note.request_head = without_secrets(head.request_head);
  note.address = head.address;
  note.began_us = head.began_us;
  anew_ = std::move(note);
  return Begin::Take;
}

web::BodySink::Take DownloadSink::take(std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || error_) return Take::Stop;
  if (static_cast<std::int64_t>(bytes.size()) > room_) {
    too_long_ = true;
    return Take::Stop;
  }
  if (pending_bytes_ + bytes.size() > kSinkBytesMax) {
    waiting_ = true;
    return Take::Wait;
  }
  if (pending_.empty() || pending_.back().size() + bytes.size() > kPieceBytes) {
    if (spare_.empty()) {
      pending_.emplace_back();
    } else {
      pending_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  pending_.back() += bytes;
  pending_bytes_ += bytes.size();
  room_ -= static_cast<std::int64_t>(bytes.size());
  taken_ += static_cast<std::int64_t>(bytes.size());
  if (!draining_ && pending_bytes_ >= kPieceBytes) schedule();
  return Take::Taken;
}

bool DownloadSink::has_room() {
  const std::scoped_lock lock(mutex_);
  return stopped_ || error_ || pending_bytes_ <= kSinkBytesMax / 2;
}

void DownloadSink::set_url(const std::string& url) {
  const std::scoped_lock lock(mutex_);
  url_ = url;
}

void DownloadSink::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  parts_.fetcher.look_again();
}

void DownloadSink::finish(Done drained) {
  std::unique_lock lock(mutex_);
  if (!draining_ && !error_ && (anew_ || !pending_.empty())) schedule();
  if (draining_) {
    drained_ = std::move(drained);
    return;
  }
  const std::optional<Error> error = error_;
  lock.unlock();
  drained(error ? Result<>(*error) : Result<>());
}

void DownloadSink::schedule() {
  io::Pool::Job job = [self = shared_from_this()](io::Pool::Call call) { self->drain(call); };
  draining_ = parts_.writers->try_push(job);
  if (!draining_) error_ = Error{Errc::Canceled, "the server is stopping"};
}

void DownloadSink::drain(io::Pool::Call call) {
  Result<> written = call == io::Pool::Call::Run
                         ? write_some()
                         : Result<>(Error{Errc::Canceled, "the server is stopping"});
  if (!written.ok()) fail(std::move(written).error());
  sync_beside();
  Done drained;
  std::optional<Error> error;
  {
    const std::scoped_lock lock(mutex_);
    draining_ = false;
    if (!pending_.empty() && !error_) schedule();
    if (draining_) return;
    pending_.clear();
    pending_bytes_ = 0;
    drained = std::exchange(drained_, {});
    error = error_;
  }
  if (error) parts_.fetcher.look_again();  // a server that waits is told to stop
  if (drained) drained(error ? Result<>(*error) : Result<>());
}

Result<> DownloadSink::write_some() {
  TRY(begin_anew());
  for (std::size_t done = 0; done < kJobBytes;) {
    std::string piece;
    {
      const std::scoped_lock lock(mutex_);
      if (pending_.empty()) return {};
      piece = std::move(pending_.front());
      pending_.pop_front();
    }
    TRY(parts_.part->append(piece));
    done += piece.size();
    bool wake = false;
    {
      const std::scoped_lock lock(mutex_);
      pending_bytes_ -= piece.size();
      piece.clear();
      if (spare_.size() < kSparesMax) spare_.push_back(std::move(piece));
      wake = waiting_ && pending_bytes_ <= kSinkBytesMax / 2;
      if (wake) waiting_ = false;
    }
    if (wake) parts_.fetcher.look_again();
  }
  return {};
}

Result<> DownloadSink::begin_anew() {
  std::optional<PartNote> note;
  {
    const std::scoped_lock lock(mutex_);
    note = std::exchange(anew_, {});
  }
  return note ? parts_.part->restart(*std::move(note)) : Result<>();
}

void DownloadSink::fail(Error error) {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::move(error);
}

// Where the pool is full it is tried again with the next bytes.
void DownloadSink::sync_beside() {
  {
    const std::scoped_lock lock(mutex_);
    if (syncing_ || error_ || parts_.part->unsynced() < parts_.sync_bytes) return;
    syncing_ = true;
  }
  io::Pool::Job job = [self = shared_from_this()](io::Pool::Call call) {
    Result<> synced;
    if (call == io::Pool::Call::Run) {
      synced = self->parts_.part->sync_and_note(DownloadPart::State::Growing);
    }
    if (!synced.ok()) self->fail(std::move(synced).error());
    const std::scoped_lock lock(self->mutex_);
    self->syncing_ = false;
  };
  if (parts_.pool.try_push(job)) return;
  const std::scoped_lock lock(mutex_);
  syncing_ = false;
}

Judged DownloadSink::judged() const {
  const std::scoped_lock lock(mutex_);
  return judged_;
}

bool DownloadSink::is_too_long() const {
  const std::scoped_lock lock(mutex_);
  return too_long_ && length_known_;
}

bool DownloadSink::is_too_large() const {
  const std::scoped_lock lock(mutex_);
  return too_long_ && !length_known_;
}

std::int64_t DownloadSink::taken() const {
  const std::scoped_lock lock(mutex_);
  return taken_;
}

}  // namespace quern::fileset

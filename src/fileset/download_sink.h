// DownloadSink: between the network and the disk: takes the bytes of one answer from the fetcher's
// thread, and has them written and hashed by a pool.
//
// Guarantee: bytes reach the part in order, and only those of an answer that was judged to be the
// file's. Never more than kSinkBytesMax wait here: the server waits then. Every sync_bytes the part
// is synced, beside the writing.
//
// Threads: BodySink's on the fetcher's; the rest from any.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fileset/download_part.h"
#include "fileset/judge.h"
#include "io/pool.h"
#include "web/fetcher.h"

namespace quern::fileset {

inline constexpr std::size_t kSinkBytesMax = 8 * 1024 * 1024;

struct SinkParts {
  std::shared_ptr<DownloadPart> part;
  web::Fetcher& fetcher;
  // Takes a job of each sink at any time. Its owner stops it before it lets go of it.
  std::shared_ptr<io::Pool> writers;
  io::Pool& pool;  // for syncs
  std::int64_t sync_bytes = kPartSyncBytes;
};

class DownloadSink final : public web::BodySink, public std::enable_shared_from_this<DownloadSink> {
 public:
  DownloadSink(SinkParts parts, Expected expected)
      : parts_(std::move(parts)), expected_(std::move(expected)) {}

  Begin begin(const web::Fetched& head) override;
  Take take(std::string_view bytes) override;
  bool has_room() override;

  // The address that is asked next.
  void set_url(const std::string& url);
  // Takes nothing more.
  void stop();
  // After the fetch: calls, on any thread, once all that came is written.
  void finish(std::function<void(Result<>)> drained);

  // After that.
  Judged judged() const;
  bool is_too_long() const;   // more came than the file has,
  bool is_too_large() const;  // or than a file may have
  std::int64_t taken() const;

 private:
  using Done = std::function<void(Result<>)>;

  void schedule();  // under the mutex
  void drain(io::Pool::Call call);
  Result<> write_some();
  Result<> begin_anew();
  void fail(Error error);
  void sync_beside();

  SinkParts parts_;
  const Expected expected_;
  mutable std::mutex mutex_;  // guards what follows
  std::string url_;
  Judged judged_;
  std::optional<PartNote> anew_;  // the part is to be begun with this
  std::int64_t room_ = 0;         // so many bytes may still come
  std::int64_t taken_ = 0;
  bool too_long_ = false;
  bool length_known_ = false;
  bool stopped_ = false;
  bool waiting_ = false;   // the server
  bool draining_ = false;  // a job is queued or runs
  bool syncing_ = false;
  std::optional<Error> error_;
  std::deque<std::string> pending_;
  std::size_t pending_bytes_ = 0;
  std::vector<std::string> spare_;  // buffers to use again
  Done drained_;
};

}  // namespace quern::fileset

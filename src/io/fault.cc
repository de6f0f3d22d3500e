#include "io/fault.h"

#include <mutex>

#include "base/check.h"

namespace quern::io {
namespace {

struct Watch {
  std::mutex mutex;
  std::optional<FaultOrder> fault;
  int calls = 0;  // counted by the fault
  bool recording = false;
  std::vector<FileOperation> operations;

  void update_flag() { internal::file_calls_watched = fault.has_value() || recording; }
};

Watch& watch() {
  static Watch* const the_watch = new Watch;  // never destroyed: threads may write at exit
  return *the_watch;
}

}  // namespace

std::string_view to_string(FileCall call) {
  switch (call) {
    case FileCall::Open:
      return "open";
    case FileCall::Read:
      return "read";
    case FileCall::Write:
      return "write";
    case FileCall::Fsync:
      return "fsync";
    case FileCall::Rename:
      return "rename";
    case FileCall::SyncFolder:
      return "sync_folder";
    case FileCall::Unlink:
      return "unlink";
    case FileCall::MakeFolder:
      return "make_folder";
    case FileCall::Link:
      return "link";
    case FileCall::Truncate:
      return "truncate";
  }
  return "unknown";
}

ScopedFault::ScopedFault(const FaultOrder& order) {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  CHECK(!w.fault.has_value());
  CHECK(order.nth > 0 && order.times > 0);
  w.fault = order;
  w.calls = 0;
  w.update_flag();
}

ScopedFault::~ScopedFault() {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  w.fault.reset();
  w.update_flag();
}

bool ScopedFault::fired() const {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  return w.calls >= w.fault->nth;
}

FileRecorder::FileRecorder() {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  CHECK(!w.recording);
  w.recording = true;
  w.operations.clear();
  w.update_flag();
}

FileRecorder::~FileRecorder() {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  w.recording = false;
  w.update_flag();
}

std::vector<FileOperation> FileRecorder::operations() const {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  return w.operations;
}

internal::Verdict internal::judge_file_call(FileCall call) {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  if (!w.fault || (w.fault->call && *w.fault->call != call)) return {};
  ++w.calls;
  const FaultOrder& order = *w.fault;
  if (w.calls < order.nth || w.calls - order.nth >= order.times) return {};
  return {order.error_number, order.bytes_max};
}

void internal::record_file_call(FileOperation operation) {
  Watch& w = watch();
  const std::scoped_lock lock(w.mutex);
  if (!w.recording) return;
  CHECK(w.operations.size() < kRecordedOperationsMax);
  w.operations.push_back(std::move(operation));
}

}  // namespace quern::io

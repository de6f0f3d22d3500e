// Faults and a recorder for the file calls of io: how tests make disks fail, and see in which order
// files become durable.
//
// Every file call of io goes through one seam that costs one relaxed load when nothing watches. A
// kill keeps the page cache, so kills prove the order of writes but not that they were synced; the
// recorder proves that. One fault and one recorder at a time, for the whole process. Tests only;
// safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::io {

enum class FileCall {
  Open,
  Read,
  Write,
  Fsync,
  Rename,
  SyncFolder,
  Unlink,
  MakeFolder,
  Link,
  Truncate
};
std::string_view to_string(FileCall call);

struct FaultOrder {
  std::optional<FileCall> call;  // absent: calls of every kind are counted
  int nth = 1;                   // from 1
  int times = 1;                 // how many in a row; a full disk stays full
  int error_number = 0;          // 0: the call is made, a write or read only of bytes_max
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};

// Armed while it lives.
class ScopedFault {
 public:
  explicit ScopedFault(const FaultOrder& order);
  ~ScopedFault();
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;

  // Whether the N-th call has come. A loop over N ends at the first N for which it has not.
  bool fired() const;
};

// A call that succeeded.
struct FileOperation {
  FileCall call;
  std::string path;
  std::string to;           // Rename and Link only
  std::int64_t offset = 0;  // Read, Write
  std::int64_t bytes = 0;
};

inline constexpr std::size_t kRecordedOperationsMax = 100'000;

// Records while it lives.
class FileRecorder {
 public:
  FileRecorder();
  ~FileRecorder();
  FileRecorder(const FileRecorder&) = delete;
  FileRecorder& operator=(const FileRecorder&) = delete;

  std::vector<FileOperation> operations() const;
};

namespace internal {
inline std::atomic<bool> file_calls_watched{false};

struct Verdict {
  int error_number = 0;
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};
Verdict judge_file_call(FileCall call);
void record_file_call(FileOperation operation);

inline bool file_calls_are_watched() {
  return file_calls_watched.load(std::memory_order_relaxed);
}
}  // namespace internal

}  // namespace quern::io

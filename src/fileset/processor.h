// FilesetProcessor: the processor of datasets' partitions. A request has one partition, and passes
// its gates:
//
//   0 resolve: what is there to be kept?  1 one item for each file  2 finish: the result
//
// Guarantee: a death at any instant repeats at most what was not durable, and the result is the
// same: each step writes all that it found in one transaction behind the partition's fence, and an
// item that comes again after that only ends. A job that is canceled, by whichever server, ends
// within about kCancelLookMs: what is under way is stopped, and what came of it stays as a part.
//
// Threads: the loop's; disk on a pool. Lifetime: until the engine has stopped.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "blob/blob.h"
#include "fileset/conclude.h"
#include "fileset/keep_step.h"
#include "fileset/resolve.h"
#include "io/pool.h"
#include "net/event.h"
#include "queue/processor.h"
#include "tree/child.h"

namespace quern::fileset {

inline constexpr std::int64_t kGateResolve = 0;
inline constexpr std::int64_t kGateFiles = 1;
inline constexpr std::int64_t kGateFinish = 2;
inline constexpr std::int64_t kCancelLookMs = 500;
inline constexpr std::int64_t kStopMsMax = 5000;

// Which step takes a type, or why none does.
struct TypeDecision {
  std::string step;
  std::optional<tree::Failure> failure;
};

// Whose tools are wanted. What our own archive writes is gathered in `records`, and noted with what
// was found out.
struct ToolOrder {
  std::string archive;  // prefix of the request's WARC files (web/archive_name.h)
  bool strict = false;
  std::shared_ptr<std::vector<OwnRecord>> records;
  Outside& outside;  // through which they ask
};

struct ProcessorParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  Outside& outside;
  std::filesystem::path folder;  // of part files
  std::function<Tools(const ToolOrder&)> tools;
  std::function<TypeDecision(const std::string& type)> decide;
  StrategyLimits limits;
  std::string topic_prefix;
  std::int64_t at_once = 6;    // steps under way, of all requests
  std::int64_t tries_max = 3;  // of what may pass
  std::int64_t file_bytes_max = 64LL << 30;
  // On the loop: something of the request has changed; roots were added, or the job was sealed.
  std::function<void(tree::JobId)> changed;
  std::function<void(tree::JobId)> poke_job;
};

class FilesetProcessor final : public queue::Processor,
                               public std::enable_shared_from_this<FilesetProcessor> {
 public:
  explicit FilesetProcessor(ProcessorParts parts)
      : parts_(std::move(parts)), room_(parts_.loop), wake_(parts_.loop), ended_(parts_.loop) {}

  void process(queue::Work work, queue::Answered answered) override;
  void cancel() override;
  // Stops what is under way of a request, and waits for its end, for kStopMsMax at most.
  net::Task<> stop_job(tree::JobId job);
  std::int64_t running() const { return running_; }

 private:
  struct Step;
  class UnderWay;

  static net::Task<> run(std::shared_ptr<FilesetProcessor> self, queue::Work work,
                         queue::Answered answered);
  // While anything is under way: sets the marks of what was canceled.
  static net::Task<> watch(std::shared_ptr<FilesetProcessor> self);
  void set_marks(tree::JobId job);
  net::Task<Result<queue::Outcome>> work_on(queue::Work work);
  net::Task<Result<queue::Outcome>> resolve_request(Step& step);
  net::Task<Result<queue::Outcome>> keep_file(Step& step);
  net::Task<Result<queue::Outcome>> finish(Step& step);
  net::Task<Result<queue::Outcome>> begin_keeping(Step& step, Resolution resolution);
  net::Task<Result<queue::Outcome>> store_file(Step& step, KeepEnd kept);
  net::Task<Result<queue::Outcome>> conclude_with(Step& step, Conclusion conclusion);
  Result<> add_root(store::Tx& tx, const RequestRow& row, const FileRow& file) const;
  std::filesystem::path folder_of(tree::JobId job) const;
  std::filesystem::path part_of(tree::JobId job, std::int64_t number) const;
  bool may_try_again(const Step& step) const;

  ProcessorParts parts_;
  net::Event room_;
  net::Event wake_;   // the watch
  net::Event ended_;  // a step
  std::multimap<tree::JobId, web::StopMark> under_way_;
  std::int64_t running_ = 0;
  bool watching_ = false;
  bool stopping_ = false;
};

// The partition of a request, and its first item. Behind its lock.
Result<> open_partition(store::Tx& tx, queue::PartitionId id, tree::JobId job,
                        std::int64_t at_once);

// The names of part files of a request that nobody needs: those of files that left one for a retry
// are not among them. Blocks.
Result<std::vector<std::string>> list_stale_parts(const std::filesystem::path& folder,
                                                  std::span<const FileRow> files);
// Removes the part files of a request, but those of files that left one for a retry. Blocks.
Result<> remove_parts(const std::filesystem::path& folder, std::span<const FileRow> files);

}  // namespace quern::fileset

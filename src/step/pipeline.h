// Pipeline: turns written files into trees of documents and errors, with the hands of workers.
//
//   shard (a claimed partition) -> window of waiting files per step -> lent to a polling worker ->
//   fragments -> children and ends, stored behind the shard's fence -> ingested, up the tree
//
// Guarantee: what a worker was told to be stored is stored; a file is lent to one worker at a time;
// a shard that is no longer ours is not written to. Memory is a window: per shard and step at most
// window_files are in memory, and of a POST one buffer and kPendingMax children; the rest is rows.
// Fair: of the jobs that wait for a step, each is served in turn; within one the deepest file goes
// first. A step without workers holds up nobody: steps share nothing but the writer.
//
// Threads: the loop's. Lifetime: stop() before the loop, the writer, the readers,
// the pool and the blobs go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "io/pool.h"
#include "net/exchange.h"
#include "net/loop.h"
#include "queue/processor.h"
#include "step/lent.h"
#include "step/options.h"
#include "step/worker_book.h"
#include "store/readers.h"
#include "store/writer.h"
#include "tree/ingest.h"

namespace quern::step {

// The kind of an import's partitions.
inline constexpr char kImportKind[] = "quern:import";
// The step that shows a web page on paper.
inline constexpr model::StepId kRenderStep = model::StepId::Html;
inline constexpr std::size_t kPendingMax = 256;
inline constexpr std::int64_t kPendingBytesMax = 1024 * 1024;
inline constexpr std::size_t kTasksPerPollMax = 64;

struct PipelineParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
};

// For people, for metrics and for whoever starts workers.
struct StepStats {
  std::int64_t waiting = 0;  // files, of the shards that are held here
  std::int64_t running = 0;  // tasks
  std::int64_t polling = 0;  // workers that wait for one
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  std::int64_t longest_wait_ms = 0;  // of the job that has waited longest for this step
  std::int64_t busy_ms = 0;          // of workers, since the start
  std::string box_lacks;             // what a worker said last of its box, where it is not full
};

// What others are told. On the loop.
struct PipelineEvents {
  std::function<void(tree::JobId, const std::vector<tree::IngestedFile>&)> ingested;
  std::function<void(tree::JobId)> changed;    // its sums, or its state
  std::function<void(model::StepId)> waiting;  // work came for a step
  std::function<void(const WorkerKey&, WorkerState)> worker;
};

// A file, or a batch of them for Detect, in the hands of a worker. For people.
struct TaskView {
  tree::FileId file;  // the first of a batch
  tree::JobId job;
  std::string filename;
  std::int64_t files = 1;
  WorkerKey worker;
  std::int64_t ms = 0;  // since it was lent
  double progress = 0;  // 0 to 1
};

struct PollOrder {
  model::StepId step = model::StepId::Text;
  std::size_t tasks = 1;
  std::string worker;
  std::string version;
  std::string box;  // "full", what is missing of it, or "" where the worker does not say
  std::string base_url;
};

class Pipeline final : public queue::Processor {
 public:
  Pipeline(PipelineParts parts, PipelineOptions options, PipelineEvents events);
  ~Pipeline() override;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // A shard became ours: queue::Processor.
  void process(queue::Work work, queue::Answered answered) override;
  void cancel() override;
  // Ends every shard's work here; what was lent is interrupted, and counts for nothing.
  void stop();

  // A job was sealed, canceled, or got roots.
  void poke(tree::JobId job);
  // What becomes of a file of this type: the step that takes it, or why none does.
  struct Decision {
    std::string step;  // "Detect" where only the bytes can tell
    std::optional<tree::Failure> failure;
  };
  Decision decide(std::string_view type, model::Ocr ocr) const;
  Decision decide_detected(std::string_view type, model::Ocr ocr) const;

  // -- for the worker protocol --
  // Tasks, at least one, or none if the deadline passed or the peer has gone. A Detect task may
  // have many files.
  net::Task<std::vector<LentPtr>> lend(net::Exchange& exchange, PollOrder order);
  // Null where it is over, canceled or another step's.
  LentPtr find(model::StepId step, const std::string& id);
  // The worker whom it was given to has not got it.
  void take_back(const LentPtr& lent);
  void touch(const LentPtr& lent);
  // The end of a task, whoever says so. False where it had ended before.
  net::Task<Result<bool>> finish(LentPtr lent, std::optional<tree::Failure> failure);
  // An end that the box saw, or a protocol error: counted; lent again unless it was the last.
  net::Task<Result<>> fail_attempt(LentPtr lent, tree::Failure why);
  net::Task<Result<>> set_types(LentPtr lent, DetectedTypes types);
  // Hands a child to the writer; waits only while too many are under way.
  net::Task<> store_child(LentPtr lent, tree::NewFile file, std::int64_t index);
  net::Task<> stored(LentPtr lent);  // until none is under way

  // Shows a file on paper. `ended` is called once, on the loop; its caller bounds how many there
  // are at once.
  void render(tree::Waiting waiting, std::function<void(Rendered)> ended);

  // A worker of ours has died: what it had is lent again at once.
  void worker_gone(const std::string& worker);

  std::map<model::StepId, StepStats> stats() const;
  // Of a job's weight, what tasks under way have done; beside what is stored.
  double progress_in_flight(tree::JobId job) const;
  std::size_t shards() const;
  // Whether nothing waits or is lent, nor can be.
  bool is_idle() const;
  // What is lent from here, the longest first: of a job, or all.
  std::vector<TaskView> tasks(std::optional<tree::JobId> job) const;
  // Who polled lately or has a task.
  std::map<WorkerKey, KnownWorker> workers() const;
  // For `quern explain`: the task of a file, if it is lent from here.
  LentPtr find_file(tree::FileId file) const;
  const PipelineParts& parts() const;
  const PipelineOptions& options() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::step

// The inside of a Pipeline (step/pipeline.h): the shards that are ours, their windows, and what is
// lent. On the loop.
#pragma once

#include <deque>
#include <list>
#include <mutex>
#include <set>

#include "net/event.h"
#include "queue/await.h"
#include "queue/submit.h"
#include "step/pipeline.h"
#include "tree/finish.h"
#include "tree/ingest.h"

namespace quern::step {

using model::StepId;

// Files that wait for a step, the next ones of a shard.
struct Window {
  std::deque<tree::Waiting> files;
  bool more = true;  // the store may have others
  bool loading = false;
  std::set<tree::FileId> let_go;  // while loading: what was read of them may be old
};

struct Shard {
  explicit Shard(net::Loop& loop) : wake(loop) {}

  tree::ShardId id;
  tree::JobId job;
  std::int64_t token = 0;
  queue::Answered answered;
  bool alive = true;  // ours, as far as we know
  bool sealed = false;
  bool canceled = false;
  bool roots_left = true;
  bool ingest_wanted = true;
  bool refreshing = false;
  net::Instant count_at{};  // not before
  std::map<StepId, Window> windows;
  std::map<StepId, std::int64_t> waiting;  // files, lent ones among them; as last counted
  std::map<StepId, net::Instant> served;   // since when it has waited in vain
  std::set<tree::FileId> in_hand;          // lent, or their end is being stored
  std::set<tree::FileId> singly;           // their batch failed: each is detected alone
  std::set<LentPtr> lent;
  net::Event wake;
};
using ShardPtr = std::shared_ptr<Shard>;

class Pipeline::Core : public std::enable_shared_from_this<Pipeline::Core> {
 public:
  Core(PipelineParts parts, PipelineOptions options, PipelineEvents events);

  // pipeline.cc: shards.
  void process(queue::Work work, queue::Answered answered);
  void stop();
  void poke(tree::JobId job);

  // lending.cc
  net::Task<std::vector<LentPtr>> lend(net::Exchange& exchange, PollOrder order);
  LentPtr find(StepId step, const std::string& id);
  void take_back(const LentPtr& lent);

  // storing.cc
  net::Task<Result<bool>> finish(LentPtr lent, std::optional<tree::Failure> failure);
  net::Task<Result<>> fail_attempt(LentPtr lent, tree::Failure why);
  net::Task<Result<>> set_types(LentPtr lent, DetectedTypes types);
  net::Task<> store_child(LentPtr lent, tree::NewFile file, std::int64_t index);
  net::Task<> stored(LentPtr lent);

  // rendering.cc
  void render(tree::Waiting waiting, std::function<void(Rendered)> ended);
  bool has_work() const;

  Decision decide(std::string_view type, model::Ocr ocr) const;
  Decision decide_detected(std::string_view type, model::Ocr ocr) const;
  std::map<StepId, StepStats> stats() const;
  double progress_in_flight(tree::JobId job) const;
  LentPtr find_file(tree::FileId file) const;
  void worker_gone(const std::string& worker);
  std::vector<TaskView> tasks(std::optional<tree::JobId> job) const;

 private:
  friend class Pipeline;
  using Self = std::shared_ptr<Core>;

  static net::Task<> run_shard(Self self, ShardPtr shard);
  net::Task<Result<>> begin(ShardPtr shard);
  net::Task<Result<bool>> work_once(ShardPtr shard);
  net::Task<Result<>> cancel_files(ShardPtr shard);
  net::Task<Result<>> ingest(ShardPtr shard);
  net::Task<Result<bool>> try_to_end(ShardPtr shard);
  void drop(const ShardPtr& shard, std::optional<queue::Outcome> outcome);
  static net::Task<> watch_flags(Self self);
  net::Task<> look_at_flags();
  void adopt_flags(const tree::ShardInfo& info);
  void refresh(const ShardPtr& shard);
  static net::Task<> refresh_counts(Self self, ShardPtr shard);
  void adopt_counts(const ShardPtr& shard, const std::vector<tree::WaitingCount>& counts);

  void refill(const ShardPtr& shard, StepId step);
  static net::Task<> load_window(Self self, ShardPtr shard, StepId step);
  std::optional<tree::Waiting> next_of(const ShardPtr& shard, StepId step);
  std::vector<LentPtr> take(const PollOrder& order);
  LentPtr lend_one(const ShardPtr& shard, tree::Waiting waiting, const PollOrder& order);
  LentPtr lend_batch(const ShardPtr& shard, const PollOrder& order);
  std::size_t fair_tasks(const PollOrder& order) const;
  LentPtr make_lent(tree::Waiting waiting, const PollOrder& order);
  LentPtr take_rendering(const PollOrder& order);
  void keep_rendered(const LentPtr& lent, tree::NewFile file, std::int64_t index);
  Result<bool> finish_rendering(const LentPtr& lent, std::optional<tree::Failure> failure);
  void end_rendering(const LentPtr& lent, Rendered rendered);
  void put_back_rendering(const LentPtr& lent);
  void stop_renderings();
  void count_renderings(std::map<StepId, StepStats>& stats) const;
  void watch();
  static net::Task<> watch_lent(Self self);
  void expire();
  void mark_lent();
  void interrupt(const LentPtr& lent, const std::string& why);
  void end(const LentPtr& lent);
  void put_back(const ShardPtr& shard, StepId step, const std::vector<tree::FileId>& files);
  static void let_go(const ShardPtr& shard, tree::FileId file);
  void offer(StepId step, std::size_t files);
  std::vector<tree::FileId> files_of(const LentPtr& lent) const;

  void child_stored(const LentPtr& lent, const Result<tree::AddedFile>& added, std::int64_t bytes,
                    const std::string& step);
  std::vector<tree::SetType> type_ops(const Lent& lent, const DetectedTypes& types) const;
  void type_set(const ShardPtr& shard, tree::FileId file, const std::string& step);
  void came(const ShardPtr& shard, StepId step);
  void processed(const ShardPtr& shard);
  void lose(const ShardPtr& shard, const Error& why);
  bool is_served(StepId step) const;

  template <class Function>
  auto fenced(const ShardPtr& shard, Function function) {
    return store::Fenced{store::Fence{shard->id.value, shard->token}, std::move(function)};
  }
  store::Lane& lane_of(const ShardPtr& shard) {
    return parts_.writer.lane({static_cast<std::uint64_t>(shard->id.value)});
  }

  PipelineParts parts_;
  const PipelineOptions options_;
  const PipelineEvents events_;
  std::map<tree::ShardId, ShardPtr> shards_;
  std::map<tree::JobId, std::list<ShardPtr>> jobs_;
  std::map<StepId, tree::JobId> last_job_;  // that was served
  std::map<std::string, LentPtr> lents_;
  std::deque<std::shared_ptr<RenderOrder>> renderings_;  // that wait for a worker
  std::int64_t renderings_lent_ = 0;
  bool rendered_last_ = false;  // the last task for Html was a rendering
  bool watching_ = false;
  std::map<StepId, std::unique_ptr<net::Event>> work_;  // something came for a step
  std::map<StepId, net::Instant> polled_;               // when a worker last asked
  net::Event flags_event_;
  net::Event stopped_;
  bool flags_wanted_ = false;
  bool stopping_ = false;
  mutable std::map<StepId, StepStats> stats_;
  WorkerBook workers_;
};

// 128 random bits in the form of a UUID: whoever knows it may work on the task.
std::string make_task_id();

}  // namespace quern::step

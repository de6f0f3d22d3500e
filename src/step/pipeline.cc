#include "step/pipeline.h"

#include <boost/json.hpp>

#include "base/log.h"
#include "step/pipeline_core.h"

namespace quern::step {
namespace {

constexpr std::int64_t kRetryMs = 200;
constexpr std::int64_t kCountMax = 10'000;  // beyond, "many" is enough
constexpr int kCountPause = 20;             // times what counting took
constexpr std::int64_t kCountPauseMsMax = 1000;
// Pages of a crawl come by the hundred in a second: what is new is looked at for many of them.
constexpr std::int64_t kFlagsPauseMs = 20;

}  // namespace

Pipeline::Core::Core(PipelineParts parts, PipelineOptions options, PipelineEvents events)
    : parts_(parts),
      options_(std::move(options)),
      events_(std::move(events)),
      flags_event_(parts.loop),
      stopped_(parts.loop),
      workers_(events_.worker) {
  for (const StepId step : model::kSteps) {
    work_[step] = std::make_unique<net::Event>(parts_.loop);
    stats_[step] = {};
  }
}

void Pipeline::Core::process(queue::Work work, queue::Answered answered) {
  boost::system::error_code failed;
  const boost::json::value data = boost::json::parse(work.item.data, failed);
  const auto* object = failed ? nullptr : data.if_object();
  const auto* job = object == nullptr ? nullptr : object->if_contains("job");
  if (stopping_) return answered({.kind = queue::Outcome::Kind::Canceled});
  if (job == nullptr || !job->is_int64()) {
    queue::Outcome bad = queue::Outcome::failed("the item names no job");
    bad.no_retry = true;
    return answered(std::move(bad));
  }
  auto shard = std::make_shared<Shard>(parts_.loop);
  shard->id = {work.partition.value};
  shard->job = {job->get_int64()};
  shard->token = work.token;
  shard->answered = std::move(answered);
  // The engine lost it and got it again: what we knew of it is old.
  if (const auto old = shards_.find(shard->id); old != shards_.end()) drop(old->second, {});
  shards_[shard->id] = shard;
  jobs_[shard->job].push_back(shard);
  parts_.loop.spawn("step.shard", run_shard(shared_from_this(), shard));
  if (shards_.size() == 1) parts_.loop.spawn("step.flags", watch_flags(shared_from_this()));
  watch();
}

void Pipeline::Core::stop() {
  stopping_ = true;
  std::vector<ShardPtr> all;
  for (const auto& [id, shard] : shards_) all.push_back(shard);
  for (const ShardPtr& shard : all) {
    drop(shard, queue::Outcome{.kind = queue::Outcome::Kind::Canceled});
  }
  stop_renderings();
  flags_event_.notify_all();
  stopped_.notify_all();
}

// Forgets a shard; whoever has a task of it finds it over.
void Pipeline::Core::drop(const ShardPtr& shard, std::optional<queue::Outcome> outcome) {
  if (!shard->alive) return;
  shard->alive = false;
  const std::set<LentPtr> lent = shard->lent;
  for (const LentPtr& task : lent) end(task);
  shards_.erase(shard->id);
  auto& siblings = jobs_[shard->job];
  siblings.remove(shard);
  if (siblings.empty()) jobs_.erase(shard->job);
  shard->wake.notify_all();
  if (shards_.empty()) {
    flags_event_.notify_all();
    stopped_.notify_all();
  }
  if (outcome) std::exchange(shard->answered, nullptr)(*std::move(outcome));
}

void Pipeline::Core::lose(const ShardPtr& shard, const Error& why) {
  if (!shard->alive) return;
  log_warn("step.shard_lost", {{"shard", shard->id.value}, {"error", why.message()}});
  // The engine gives it up. Where it has it again already, under another token, this says nothing.
  drop(shard, queue::Outcome{.kind = queue::Outcome::Kind::Canceled});
}

net::Task<> Pipeline::Core::run_shard(Self self, ShardPtr shard) {
  bool begun = false;
  while (shard->alive) {
    Result<bool> ended = false;
    if (!begun) {
      const Result<> result = co_await self->begin(shard);
      begun = result.ok();
      if (!result.ok()) ended = result.error();
    } else {
      ended = co_await self->work_once(shard);
    }
    if (!shard->alive) co_return;
    if (!ended.ok()) {
      const Errc kind = ended.error().kind();
      if (kind == Errc::Stale || kind == Errc::Missing || kind == Errc::Canceled) {
        self->lose(shard, ended.error());
        co_return;
      }
      log_warn("step.shard_trouble",
               {{"shard", shard->id.value}, {"error", ended.error().message()}});
      co_await self->parts_.loop.sleep_until(net::in_ms(kRetryMs));
    } else if (*ended) {
      const tree::JobId job = shard->job;
      self->drop(shard, queue::Outcome::complete());
      if (self->events_.changed) self->events_.changed(job);
      co_return;
    }
  }
}

// What a former owner left: tasks that its workers had for long are interrupted.
net::Task<Result<>> Pipeline::Core::begin(ShardPtr shard) {
  const tree::ShardId id = shard->id;
  auto interrupted = fenced(shard, [id](store::Tx& tx) { return tree::interrupt_lent(tx, id); });
  CO_TRY(co_await queue::write(parts_.loop, lane_of(shard), interrupted));
  auto load = [id](store::Tx& tx) { return tree::load_shard(tx, id); };
  CO_TRY_ASSIGN(const tree::ShardInfo info,
                co_await queue::read(parts_.loop, parts_.readers, std::move(load)));
  adopt_flags(info);
  refresh(shard);
  co_return Result<>();
}

// One thing after the other; true when nothing is left for ever.
net::Task<Result<bool>> Pipeline::Core::work_once(ShardPtr shard) {
  if (shard->canceled) CO_TRY(co_await cancel_files(shard));
  if (shard->ingest_wanted) {
    CO_TRY(co_await ingest(shard));
    co_return false;
  }
  if (shard->sealed && !shard->roots_left) {
    CO_TRY_ASSIGN(const bool ended, co_await try_to_end(shard));
    if (ended) co_return true;
    shard->roots_left = true;
  }
  if (!shard->ingest_wanted && shard->alive) co_await shard->wake.wait(net::in_ms(60'000));
  co_return false;
}

net::Task<Result<>> Pipeline::Core::cancel_files(ShardPtr shard) {
  const std::set<LentPtr> lent = shard->lent;
  for (const LentPtr& task : lent) end(task);
  for (auto& [step, window] : shard->windows) window.files.clear();
  const tree::ShardId id = shard->id;
  std::int64_t canceled = tree::kCanceledAtOnce;
  while (canceled == tree::kCanceledAtOnce && shard->alive) {
    auto some = fenced(shard, [id](store::Tx& tx) { return tree::cancel_waiting(tx, id); });
    CO_TRY_ASSIGN(canceled, co_await queue::write(parts_.loop, lane_of(shard), some));
    if (canceled > 0) shard->ingest_wanted = true;
  }
  shard->waiting.clear();
  co_return Result<>();
}

net::Task<Result<>> Pipeline::Core::ingest(ShardPtr shard) {
  shard->ingest_wanted = false;  // what is processed from now on asks again
  tree::Ingest op{shard->id, shard->token};
  Result<tree::Ingest::Reply> reply = co_await queue::write(parts_.loop, lane_of(shard), op);
  if (!reply.ok()) {
    shard->ingest_wanted = true;
    co_return reply.error();
  }
  shard->roots_left = reply->roots_left;
  if (reply->files.empty()) co_return Result<>();
  shard->ingest_wanted = true;  // their parents may be next
  if (events_.ingested) events_.ingested(shard->job, reply->files);
  if (events_.changed) events_.changed(shard->job);
  co_return Result<>();
}

net::Task<Result<bool>> Pipeline::Core::try_to_end(ShardPtr shard) {
  const tree::ShardId id = shard->id;
  auto end_it = fenced(shard, [id](store::Tx& tx) { return tree::finish_shard(tx, id); });
  co_return co_await queue::write(parts_.loop, lane_of(shard), end_it);
}

net::Task<> Pipeline::Core::watch_flags(Self self) {
  while (!self->shards_.empty() && !self->stopping_) {
    if (!self->flags_wanted_) {
      co_await self->flags_event_.wait(net::in_ms(self->options_.flags_ms));
    }
    if (self->shards_.empty() || self->stopping_) co_return;
    self->flags_wanted_ = false;
    co_await self->look_at_flags();
    co_await self->stopped_.wait(net::in_ms(kFlagsPauseMs));
  }
}

net::Task<> Pipeline::Core::look_at_flags() {
  std::vector<tree::ShardId> ids;
  for (const auto& [id, shard] : shards_) ids.push_back(id);
  auto load = [ids](store::Tx& tx) { return tree::load_flags(tx, ids); };
  const Result<std::vector<tree::ShardInfo>> infos =
      co_await queue::read(parts_.loop, parts_.readers, std::move(load));
  if (!infos.ok()) co_return;  // the next look will do
  std::set<tree::ShardId> there;
  for (const tree::ShardInfo& info : *infos) {
    there.insert(info.id);
    adopt_flags(info);
  }
  for (const tree::ShardId id : ids) {
    const auto found = shards_.find(id);
    if (found == shards_.end() || there.contains(id)) continue;
    lose(ShardPtr(found->second), Error{Errc::Missing, "its job was deleted"});
  }
  std::vector<ShardPtr> all;
  for (const auto& [id, shard] : shards_) all.push_back(shard);
  for (const ShardPtr& shard : all) refresh(shard);
}

void Pipeline::Core::adopt_flags(const tree::ShardInfo& info) {
  const auto found = shards_.find(info.id);
  if (found == shards_.end()) return;
  const ShardPtr& shard = found->second;
  const bool canceled = info.canceled || info.deleting;
  const bool news = (info.sealed && !shard->sealed) || (canceled && !shard->canceled);
  // A root that came with no bytes to lend (an error at once) has to be ingested too.
  if (!shard->sealed) shard->ingest_wanted = true;
  shard->sealed = info.sealed;
  shard->canceled = canceled;
  // What was read may be older than what the ingester has told: it can only say that none is left.
  if (info.sums.roots == info.sums.roots_ingested) shard->roots_left = false;
  const bool ends = shard->sealed && !shard->roots_left;
  if (news || ends || !shard->sealed || shard->canceled) shard->wake.notify_all();
}

void Pipeline::Core::poke(tree::JobId job) {
  if (!jobs_.contains(job)) return;
  flags_wanted_ = true;
  flags_event_.notify_all();
}

void Pipeline::Core::refresh(const ShardPtr& shard) {
  if (shard->canceled) return;
  if (shard->refreshing || net::in_ms(0) < shard->count_at) {
    flags_wanted_ = true;  // not now, but soon
    return;
  }
  shard->refreshing = true;
  parts_.loop.spawn("step.refresh", refresh_counts(shared_from_this(), shard));
}

// Counts anew what waits, and lets windows look again: roots come through other servers too. Where
// there is much to count, that is done less often.
net::Task<> Pipeline::Core::refresh_counts(Self self, ShardPtr shard) {
  const tree::ShardId id = shard->id;
  const net::Instant began = net::in_ms(0);
  auto count = [id](store::Tx& tx) { return tree::count_waiting(tx, id, kCountMax); };
  const Result<std::vector<tree::WaitingCount>> counts =
      co_await queue::read(self->parts_.loop, self->parts_.readers, std::move(count));
  shard->refreshing = false;
  const net::Instant now = net::in_ms(0);
  shard->count_at = std::min(now + kCountPause * (now - began), net::in_ms(kCountPauseMsMax));
  if (!shard->alive || !counts.ok()) co_return;
  self->adopt_counts(shard, *counts);
}

void Pipeline::Core::adopt_counts(const ShardPtr& shard,
                                  const std::vector<tree::WaitingCount>& counts) {
  shard->waiting.clear();
  for (const tree::WaitingCount& count : counts) {
    const std::optional<StepId> step = model::parse_step(count.step);
    if (!step) continue;
    shard->waiting[*step] = count.files;
    shard->served.try_emplace(*step, net::in_ms(0));
    shard->windows[*step].more = true;
    if (events_.waiting) events_.waiting(*step);
    if (work_[*step]->waiters() > 0) refill(shard, *step);
  }
  std::erase_if(shard->served, [&](const auto& entry) { return shard->waiting[entry.first] == 0; });
}

Pipeline::Pipeline(PipelineParts parts, PipelineOptions options, PipelineEvents events)
    : core_(std::make_shared<Core>(parts, std::move(options), std::move(events))) {}
Pipeline::~Pipeline() {
  core_->stop();
}
void Pipeline::process(queue::Work work, queue::Answered answered) {
  core_->process(std::move(work), std::move(answered));
}
void Pipeline::cancel() {
  core_->stop();
}
void Pipeline::stop() {
  core_->stop();
}
void Pipeline::poke(tree::JobId job) {
  core_->poke(job);
}
Pipeline::Decision Pipeline::decide(std::string_view type, model::Ocr ocr) const {
  return core_->decide(type, ocr);
}
Pipeline::Decision Pipeline::decide_detected(std::string_view type, model::Ocr ocr) const {
  return core_->decide_detected(type, ocr);
}
net::Task<std::vector<LentPtr>> Pipeline::lend(net::Exchange& exchange, PollOrder order) {
  return core_->lend(exchange, std::move(order));
}
LentPtr Pipeline::find(model::StepId step, const std::string& id) {
  return core_->find(step, id);
}
void Pipeline::take_back(const LentPtr& lent) {
  core_->take_back(lent);
}
void Pipeline::touch(const LentPtr& lent) {
  lent->touched = net::in_ms(0);
}
net::Task<Result<bool>> Pipeline::finish(LentPtr lent, std::optional<tree::Failure> failure) {
  return core_->finish(std::move(lent), std::move(failure));
}
net::Task<Result<>> Pipeline::fail_attempt(LentPtr lent, tree::Failure why) {
  return core_->fail_attempt(std::move(lent), std::move(why));
}
net::Task<Result<>> Pipeline::set_types(LentPtr lent, DetectedTypes types) {
  return core_->set_types(std::move(lent), std::move(types));
}
net::Task<> Pipeline::store_child(LentPtr lent, tree::NewFile file, std::int64_t index) {
  return core_->store_child(std::move(lent), std::move(file), index);
}
net::Task<> Pipeline::stored(LentPtr lent) {
  return core_->stored(std::move(lent));
}
void Pipeline::worker_gone(const std::string& worker) {
  core_->worker_gone(worker);
}
std::map<model::StepId, StepStats> Pipeline::stats() const {
  return core_->stats();
}
double Pipeline::progress_in_flight(tree::JobId job) const {
  return core_->progress_in_flight(job);
}
std::size_t Pipeline::shards() const {
  return core_->shards_.size();
}
bool Pipeline::is_idle() const {
  return !core_->has_work();
}
void Pipeline::render(tree::Waiting waiting, std::function<void(Rendered)> ended) {
  core_->render(std::move(waiting), std::move(ended));
}
std::vector<TaskView> Pipeline::tasks(std::optional<tree::JobId> job) const {
  return core_->tasks(job);
}
std::map<WorkerKey, KnownWorker> Pipeline::workers() const {
  core_->workers_.forget();
  return core_->workers_.all();
}
LentPtr Pipeline::find_file(tree::FileId file) const {
  return core_->find_file(file);
}
const PipelineParts& Pipeline::parts() const {
  return core_->parts_;
}
const PipelineOptions& Pipeline::options() const {
  return core_->options_;
}

}  // namespace quern::step

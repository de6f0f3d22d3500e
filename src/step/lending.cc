// Lending: windows over the store, fair picking, and tasks whose worker is silent.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>

#include "base/log.h"
#include "step/pipeline_core.h"

namespace quern::step {
namespace {

constexpr std::int64_t kServedMs = 60'000;  // a worker that asked so lately is expected back
constexpr int kChecksPerIdle = 10;
constexpr std::string_view kFullBox = "full";

std::int64_t ms_since(net::Instant then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(net::in_ms(0) - then).count();
}

// The book knows of a poll while it waits, however it ends.
class Polling {
 public:
  // The owner of the book lives as long as the poll: a request may end after a server's last.
  Polling(std::shared_ptr<void> owner, WorkerBook& book, const PollOrder& order)
      : owner_(std::move(owner)), book_(book), key_(worker_key(order.worker, order.step)) {
    book_.poll_began(key_, order.version, order.box);
  }
  ~Polling() { book_.poll_ended(key_); }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

 private:
  std::shared_ptr<void> owner_;
  WorkerBook& book_;
  WorkerKey key_;
};

TaskView view_of(const Lent& lent) {
  const bool batch = lent.step == StepId::Detect && !lent.batch.empty();
  const tree::File& file = batch ? lent.batch.front().file : lent.waiting.file;
  TaskView view;
  view.file = file.id;
  view.job = file.job;
  view.filename = file.filename;
  view.files = batch ? static_cast<std::int64_t>(lent.batch.size()) : 1;
  view.worker = worker_key(lent.report.worker, lent.step);
  view.ms = ms_since(lent.lent_at);
  view.progress = lent.fraction;
  return view;
}

}  // namespace

std::string make_task_id() {
  unsigned char bits[16];
  CHECK(::getrandom(bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits));
  std::string id;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += fmt::format("{:02x}", bits[i]);
  }
  return id;
}

bool Pipeline::Core::is_served(StepId step) const {
  if (options_.waits_for_workers || options_.installed.contains(step)) return true;
  const auto polled = polled_.find(step);
  return work_.at(step)->waiters() > 0 ||
         (polled != polled_.end() && ms_since(polled->second) < kServedMs);
}

Pipeline::Decision Pipeline::Core::decide(std::string_view type, model::Ocr ocr) const {
  if (model::needs_detection(type)) return {std::string(model::to_string(StepId::Detect)), {}};
  return decide_detected(type, ocr);
}

Pipeline::Decision Pipeline::Core::decide_detected(std::string_view type, model::Ocr ocr) const {
  const std::optional<StepId> step = model::step_for_type(type, ocr);
  if (!step) return {"", tree::Failure{model::ErrorKind::Unhandled, "unhandled"}};
  const std::string name(model::to_string(*step));
  if (is_served(*step)) return {name, {}};
  return {name, tree::Failure{model::ErrorKind::Unsupported,
                              fmt::format("no worker for {} is installed", name)}};
}

void Pipeline::Core::offer(StepId step, std::size_t files) {
  net::Event& event = *work_[step];
  for (std::size_t i = 0; i < files && event.notify_one(); ++i) {
  }
}

void Pipeline::Core::refill(const ShardPtr& shard, StepId step) {
  Window& window = shard->windows[step];
  if (window.loading || !window.more || !shard->alive || shard->canceled) return;
  window.loading = true;
  parts_.loop.spawn("step.window", load_window(shared_from_this(), shard, step));
}

net::Task<> Pipeline::Core::load_window(Self self, ShardPtr shard, StepId step) {
  shard->windows[step].more = false;  // what comes from now on says so again
  const tree::ShardId id = shard->id;
  // Those in hand still wait as far as the store knows.
  const std::int64_t limit =
      self->options_.window_files + static_cast<std::int64_t>(shard->in_hand.size());
  const std::string name(model::to_string(step));
  auto load = [id, name, limit](store::Tx& tx) { return tree::load_waiting(tx, id, name, limit); };
  Result<std::vector<tree::Waiting>> loaded =
      co_await queue::read(self->parts_.loop, self->parts_.readers, std::move(load));
  Window& window = shard->windows[step];
  window.loading = false;
  const std::set<tree::FileId> let_go = std::exchange(window.let_go, {});
  if (!shard->alive || shard->canceled) co_return;
  if (!loaded.ok()) {
    window.more = true;  // the next poll or look tries again
    co_return;
  }
  if (static_cast<std::int64_t>(loaded->size()) == limit) window.more = true;
  window.files.clear();
  for (tree::Waiting& waiting : *loaded) {
    if (shard->in_hand.contains(waiting.file.id)) continue;
    if (let_go.contains(waiting.file.id)) continue;
    window.files.push_back(std::move(waiting));
  }
  if (!window.files.empty()) shard->served.try_emplace(step, net::in_ms(0));
  self->offer(step, window.files.size());
  // Something came while we were reading, and somebody waits for it.
  if (window.files.size() < self->work_[step]->waiters()) self->refill(shard, step);
}

// The next file of a shard, and a fresh window when this one runs low.
std::optional<tree::Waiting> Pipeline::Core::next_of(const ShardPtr& shard, StepId step) {
  if (!shard->alive || shard->canceled) return std::nullopt;
  Window& window = shard->windows[step];
  std::optional<tree::Waiting> next;
  for (auto at = window.files.begin(); at != window.files.end(); ++at) {
    // One that took everything down so often is lent when nothing else is.
    if (at->file.interruptions >= tree::kInterruptionsAlone && !lents_.empty()) continue;
    next = std::move(*at);
    window.files.erase(at);
    break;
  }
  if (static_cast<std::int64_t>(window.files.size()) < options_.window_files / 4) {
    refill(shard, step);
  }
  if (next) shard->in_hand.insert(next->file.id);
  return next;
}

// A worker does not get a heap while others would go without.
std::size_t Pipeline::Core::fair_tasks(const PollOrder& order) const {
  std::int64_t waiting = 0;
  for (const auto& [id, shard] : shards_) {
    const auto found = shard->windows.find(order.step);
    if (found != shard->windows.end()) {
      waiting += static_cast<std::int64_t>(found->second.files.size());
    }
  }
  const auto others = static_cast<std::int64_t>(work_.at(order.step)->waiters()) + 1;
  const std::int64_t share = std::max<std::int64_t>(waiting / (2 * others), 1);
  return std::min(order.tasks, static_cast<std::size_t>(share));
}

LentPtr Pipeline::Core::make_lent(tree::Waiting waiting, const PollOrder& order) {
  auto lent = std::make_shared<Lent>();
  lent->id = make_task_id();
  // A task may outlive us, held by a request; then the next sweep removes what it had.
  lent->discard = [weak = weak_from_this()](const std::string& place) {
    const auto core = weak.lock();
    if (core && !core->stopping_ && !place.empty()) core->parts_.blobs.discard(place);
  };
  lent->settled = std::make_shared<net::Event>(parts_.loop);
  lent->step = order.step;
  lent->waiting = std::move(waiting);
  lent->base_url = order.base_url;
  lent->report.worker = order.worker;
  lent->report.step_version = order.version;
  lent->lent_at = lent->touched = net::in_ms(0);
  lents_[lent->id] = lent;
  ++stats_[order.step].running;
  workers_.lent(worker_key(order.worker, order.step));
  log_debug("step.lent", {{"step", model::to_string(order.step)}, {"worker", order.worker}});
  return lent;
}

LentPtr Pipeline::Core::lend_one(const ShardPtr& shard, tree::Waiting waiting,
                                 const PollOrder& order) {
  LentPtr lent = make_lent(std::move(waiting), order);
  lent->shard = shard;
  shard->lent.insert(lent);
  shard->served[order.step] = lent->lent_at;
  return lent;
}

// Detection takes many files of one shard; one whose batch failed goes alone.
LentPtr Pipeline::Core::lend_batch(const ShardPtr& shard, const PollOrder& order) {
  std::optional<tree::Waiting> first = next_of(shard, order.step);
  if (!first) return nullptr;
  const bool alone = shard->singly.contains(first->file.id);
  LentPtr lent = lend_one(shard, {}, order);
  lent->batch.push_back(*std::move(first));
  while (!alone && lent->batch.size() < order.tasks) {
    const auto& files = shard->windows[order.step].files;
    if (files.empty() || shard->singly.contains(files.front().file.id)) break;
    std::optional<tree::Waiting> next = next_of(shard, order.step);
    if (!next) break;
    lent->batch.push_back(*std::move(next));
  }
  return lent;
}

// Jobs in turn, beginning behind the one that was served last.
std::vector<LentPtr> Pipeline::Core::take(const PollOrder& order) {
  std::vector<LentPtr> taken;
  // A person waits for a rendering; yet imports have every other turn.
  if (!rendered_last_) {
    if (LentPtr rendering = take_rendering(order)) return {std::move(rendering)};
  }
  const std::size_t wanted = order.step == StepId::Detect ? 1 : fair_tasks(order);
  std::size_t in_vain = 0;
  while (taken.size() < wanted && in_vain < jobs_.size()) {
    auto job = jobs_.upper_bound(last_job_[order.step]);
    if (job == jobs_.end()) job = jobs_.begin();
    last_job_[order.step] = job->first;
    ++in_vain;
    std::list<ShardPtr>& shards = job->second;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const ShardPtr shard = shards.front();
      shards.splice(shards.end(), shards, shards.begin());
      LentPtr lent;
      if (order.step == StepId::Detect) {
        lent = lend_batch(shard, order);
      } else if (std::optional<tree::Waiting> next = next_of(shard, order.step)) {
        lent = lend_one(shard, *std::move(next), order);
      }
      if (!lent) continue;
      taken.push_back(std::move(lent));
      in_vain = 0;
      break;
    }
  }
  if (taken.empty() && rendered_last_) {
    if (LentPtr rendering = take_rendering(order)) return {std::move(rendering)};
  }
  if (order.step == kRenderStep) rendered_last_ = false;
  return taken;
}

net::Task<std::vector<LentPtr>> Pipeline::Core::lend(net::Exchange& exchange, PollOrder order) {
  const net::Instant deadline = net::in_ms(options_.poll_hold_ms);
  polled_[order.step] = net::in_ms(0);
  if (!order.box.empty()) stats_[order.step].box_lacks = order.box == kFullBox ? "" : order.box;
  const Polling polling(shared_from_this(), workers_, order);
  while (true) {
    std::vector<LentPtr> taken = stopping_ ? std::vector<LentPtr>() : take(order);
    if (!taken.empty()) co_return taken;
    const net::WaitEnd end = co_await exchange.wait(*work_[order.step], deadline);
    polled_[order.step] = net::in_ms(0);
    if (end != net::WaitEnd::Notified) co_return std::vector<LentPtr>();
  }
}

LentPtr Pipeline::Core::find(StepId step, const std::string& id) {
  const auto found = lents_.find(id);
  if (found == lents_.end() || found->second->step != step) return nullptr;
  return found->second;
}

LentPtr Pipeline::Core::find_file(tree::FileId file) const {
  for (const auto& [id, lent] : lents_) {
    if (lent->rendering) continue;  // nothing becomes of the file
    for (const tree::FileId held : files_of(lent)) {
      if (held == file) return lent;
    }
  }
  return nullptr;
}

std::vector<tree::FileId> Pipeline::Core::files_of(const LentPtr& lent) const {
  if (lent->step != StepId::Detect) return {lent->waiting.file.id};
  std::vector<tree::FileId> files;
  for (const tree::Waiting& waiting : lent->batch) files.push_back(waiting.file.id);
  return files;
}

// From here on its address is unknown. What it held stays in hand until that is stored or put back.
void Pipeline::Core::end(const LentPtr& lent) {
  if (lent->over) return;
  lent->over = true;
  lents_.erase(lent->id);
  if (lent->rendering) --renderings_lent_;
  if (lent->shard) lent->shard->lent.erase(lent);
  --stats_[lent->step].running;
  const std::int64_t busy_ms = ms_since(lent->lent_at);
  stats_[lent->step].busy_ms += busy_ms;
  workers_.ended(worker_key(lent->report.worker, lent->step), busy_ms);
}

// A window that is being read may still show the file as waiting.
void Pipeline::Core::let_go(const ShardPtr& shard, tree::FileId file) {
  shard->in_hand.erase(file);
  for (auto& [step, window] : shard->windows) {
    if (window.loading) window.let_go.insert(file);
  }
}

void Pipeline::Core::put_back(const ShardPtr& shard, StepId step,
                              const std::vector<tree::FileId>& files) {
  for (const tree::FileId file : files) let_go(shard, file);
  if (!shard->alive) return;
  shard->windows[step].more = true;
  refill(shard, step);
}

// Nobody had it: it counts for nothing.
void Pipeline::Core::take_back(const LentPtr& lent) {
  if (lent->over) return;
  end(lent);
  if (lent->rendering) return put_back_rendering(lent);
  put_back(lent->shard, lent->step, files_of(lent));
}

void Pipeline::Core::interrupt(const LentPtr& lent, const std::string& why) {
  log_info("step.task_lost", {{"step", model::to_string(lent->step)},
                              {"file", lent->waiting.file.id.value},
                              {"worker", lent->report.worker},
                              {"why", why}});
  if (lent->rendering) {
    return end_rendering(lent, {Rendered::End::Attempt, {}, {model::ErrorKind::Crash, why}});
  }
  end(lent);
  const ShardPtr shard = lent->shard;
  for (const tree::FileId file : files_of(lent)) {
    tree::CountEnd count{shard->id, shard->token, file, tree::CountEnd::Kind::Interruption};
    count.why = {model::ErrorKind::Crash,
                 fmt::format("its worker or its server ended {} times while working on it ({})",
                             tree::kInterruptionsMax, why)};
    count.report.worker = lent->report.worker;
    count.report.note = why;
    const StepId step = lent->step;
    queue::submit(
        parts_.loop, lane_of(shard), std::move(count),
        [self = shared_from_this(), shard, step, file](const Result<tree::CountEnd::Reply>& reply) {
          if (!reply.ok() && reply.error().kind() == Errc::Stale) {
            return self->lose(shard, reply.error());
          }
          self->put_back(shard, step, {file});
          if (reply.ok() && reply->failed) self->processed(shard);
        });
  }
}

void Pipeline::Core::worker_gone(const std::string& worker) {
  std::vector<LentPtr> gone;
  for (const auto& [id, lent] : lents_) {
    if (lent->report.worker == worker) gone.push_back(lent);
  }
  for (const LentPtr& lent : gone) interrupt(lent, "the worker has died");
  workers_.gone(worker);
}

void Pipeline::Core::expire() {
  std::vector<LentPtr> silent;
  for (const auto& [id, lent] : lents_) {
    if (lent->posting || lent->reading > 0) continue;
    if (ms_since(lent->touched) > options_.task_idle_ms) silent.push_back(lent);
  }
  for (const LentPtr& lent : silent) interrupt(lent, "the worker was silent for too long");
}

// Should this process die, the long ones count as interrupted. Short ones cost no write.
void Pipeline::Core::mark_lent() {
  std::map<ShardPtr, std::vector<tree::FileId>> marked;
  for (const auto& [id, lent] : lents_) {
    if (lent->marked || lent->rendering || ms_since(lent->lent_at) < options_.lent_mark_ms)
      continue;
    lent->marked = true;
    for (const tree::FileId file : files_of(lent)) marked[lent->shard].push_back(file);
  }
  for (const auto& [shard, files] : marked) {
    auto mark = fenced(shard, [files = files](store::Tx& tx) -> Result<bool> {
      TRY(tree::mark_lent(tx, files));
      return true;
    });
    queue::submit(parts_.loop, lane_of(shard), std::move(mark), [](const Result<bool>&) {});
  }
}

void Pipeline::Core::watch() {
  if (watching_) return;
  watching_ = true;
  parts_.loop.spawn("step.lent", watch_lent(shared_from_this()));
}

net::Task<> Pipeline::Core::watch_lent(Self self) {
  const std::int64_t pause_ms =
      std::max<std::int64_t>(self->options_.task_idle_ms / kChecksPerIdle, 1);
  while (self->has_work() && !self->stopping_) {
    co_await self->stopped_.wait(net::in_ms(pause_ms));
    if (self->stopping_) break;
    self->expire();
    self->mark_lent();
  }
  self->watching_ = false;
}

std::map<StepId, StepStats> Pipeline::Core::stats() const {
  std::map<StepId, StepStats> stats = stats_;
  for (auto& [step, of_step] : stats) {
    of_step.polling = static_cast<std::int64_t>(work_.at(step)->waiters());
    for (const auto& [id, shard] : shards_) {
      const auto waiting = shard->waiting.find(step);
      if (waiting != shard->waiting.end()) of_step.waiting += waiting->second;
      const auto served = shard->served.find(step);
      if (served != shard->served.end() && waiting != shard->waiting.end() && waiting->second > 0) {
        of_step.longest_wait_ms = std::max(of_step.longest_wait_ms, ms_since(served->second));
      }
    }
    const std::int64_t renderings = step == kRenderStep ? renderings_lent_ : 0;
    of_step.waiting = std::max<std::int64_t>(of_step.waiting - (of_step.running - renderings), 0);
  }
  count_renderings(stats);
  for (const auto& [id, lent] : lents_) stats[lent->step].busy_ms += ms_since(lent->lent_at);
  return stats;
}

std::vector<TaskView> Pipeline::Core::tasks(std::optional<tree::JobId> job) const {
  std::vector<TaskView> views;
  for (const auto& [id, lent] : lents_) {
    if (!job || (lent->shard && lent->shard->job == *job)) views.push_back(view_of(*lent));
  }
  std::ranges::sort(views, std::greater<>(), &TaskView::ms);
  return views;
}

double Pipeline::Core::progress_in_flight(tree::JobId job) const {
  double sum = 0;
  for (const auto& [id, lent] : lents_) {
    const tree::File& file = lent->waiting.file;
    if (lent->step == StepId::Detect || lent->rendering || file.job != job) continue;
    sum += lent->fraction * model::progress_weight(lent->step) *
           (file.progress_end - file.progress_begin);
  }
  return sum;
}

}  // namespace quern::step

#include "step/worker_book.h"

namespace quern::step {
namespace {

bool has_nothing(const KnownWorker& worker) {
  return worker.polling == 0 && worker.running == 0;
}

}  // namespace

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::Came:
      return "came";
    case WorkerState::Gone:
      return "gone";
    case WorkerState::Busy:
      return "busy";
    case WorkerState::Idle:
      return "idle";
  }
  return "";
}

WorkerKey worker_key(const std::string& name, model::StepId step) {
  return {name.empty() ? kUnnamedWorker : name, step};
}

KnownWorker* WorkerBook::find(const WorkerKey& key) {
  const auto found = workers_.find(key);
  return found == workers_.end() ? nullptr : &found->second;
}

void WorkerBook::tell(const WorkerKey& key, WorkerState state) const {
  if (told_) told_(key, state);
}

bool WorkerBook::make_room() {
  if (workers_.size() < kWorkersKnownMax) return true;
  auto oldest = workers_.end();
  for (auto at = workers_.begin(); at != workers_.end(); ++at) {
    if (!has_nothing(at->second)) continue;
    if (oldest == workers_.end() || at->second.seen < oldest->second.seen) oldest = at;
  }
  if (oldest == workers_.end()) return false;
  const WorkerKey key = oldest->first;
  workers_.erase(oldest);
  tell(key, WorkerState::Gone);
  return true;
}

void WorkerBook::poll_began(const WorkerKey& key, const std::string& version,
                            const std::string& box) {
  forget();
  KnownWorker* worker = find(key);
  if (worker == nullptr) {
    if (!make_room()) return;
    worker = &workers_[key];
    tell(key, WorkerState::Came);
  }
  worker->version = version;
  worker->box = box;
  worker->seen = now_();
  ++worker->polling;
}

// One that was forgotten meanwhile, and came back, has fewer in hand than end.
void WorkerBook::poll_ended(const WorkerKey& key) {
  KnownWorker* worker = find(key);
  if (worker == nullptr) return;
  worker->seen = now_();
  if (worker->polling > 0) --worker->polling;
}

void WorkerBook::lent(const WorkerKey& key) {
  KnownWorker* worker = find(key);
  if (worker == nullptr) return;
  worker->seen = now_();
  if (++worker->running == 1) tell(key, WorkerState::Busy);
}

void WorkerBook::ended(const WorkerKey& key, std::int64_t busy_ms) {
  KnownWorker* worker = find(key);
  if (worker == nullptr || worker->running == 0) return;
  worker->seen = now_();
  worker->busy_ms += busy_ms;
  if (--worker->running == 0) tell(key, WorkerState::Idle);
}

void WorkerBook::count(const WorkerKey& key, How how) {
  KnownWorker* worker = find(key);
  if (worker != nullptr) ++(how == How::Finished ? worker->finished : worker->failed);
}

void WorkerBook::gone(const std::string& name) {
  if (name.empty()) return;
  std::vector<WorkerKey> keys;
  for (const auto& [key, worker] : workers_) {
    if (key.worker == name) keys.push_back(key);
  }
  for (const WorkerKey& key : keys) {
    workers_.erase(key);
    tell(key, WorkerState::Gone);
  }
}

void WorkerBook::forget() {
  const net::Instant oldest = now_() - std::chrono::milliseconds(kWorkerKeptMs);
  std::vector<WorkerKey> silent;
  for (const auto& [key, worker] : workers_) {
    if (has_nothing(worker) && worker.seen < oldest) silent.push_back(key);
  }
  for (const WorkerKey& key : silent) {
    workers_.erase(key);
    tell(key, WorkerState::Gone);
  }
}

}  // namespace quern::step

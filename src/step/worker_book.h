// WorkerBook: who works for us, as far as polls tell. For people only: nothing is decided by it.
//
// A worker is a name and a step; those that give no name are one worker for each step. It is known
// from its first poll until it has been silent for kWorkerKeptMs with nothing in hand, or its
// process was seen to die. At most kWorkersKnownMax are remembered; when there are more, the one
// that was silent longest is forgotten, and where all are busy a new one is not noted.
//
// On the loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/steps.h"
#include "net/event.h"

namespace quern::step {

inline constexpr std::size_t kWorkersKnownMax = 1000;
inline constexpr std::int64_t kWorkerKeptMs = 60'000;
inline constexpr char kUnnamedWorker[] = "unnamed";

enum class WorkerState { Came, Gone, Busy, Idle };
std::string_view to_string(WorkerState state);

struct WorkerKey {
  std::string worker;  // kUnnamedWorker where it gives none
  model::StepId step = model::StepId::Text;
  auto operator<=>(const WorkerKey&) const = default;
};
WorkerKey worker_key(const std::string& name, model::StepId step);

struct KnownWorker {
  std::string version;
  std::string box;
  std::int64_t polling = 0;  // requests that wait
  std::int64_t running = 0;  // tasks in its hands
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  std::int64_t busy_ms = 0;  // of tasks that are over
  net::Instant seen;
};

class WorkerBook {
 public:
  using Told = std::function<void(const WorkerKey&, WorkerState)>;
  using Now = std::function<net::Instant()>;

  explicit WorkerBook(
      Told told, Now now = [] { return net::in_ms(0); })
      : told_(std::move(told)), now_(std::move(now)) {}

  void poll_began(const WorkerKey& key, const std::string& version, const std::string& box);
  void poll_ended(const WorkerKey& key);
  void lent(const WorkerKey& key);
  void ended(const WorkerKey& key, std::int64_t busy_ms);
  enum class How { Finished, Failed };
  void count(const WorkerKey& key, How how);
  // The process of that name has died.
  void gone(const std::string& name);
  // Forgets who is silent.
  void forget();

  const std::map<WorkerKey, KnownWorker>& all() const { return workers_; }

 private:
  KnownWorker* find(const WorkerKey& key);
  bool make_room();
  void tell(const WorkerKey& key, WorkerState state) const;

  Told told_;
  Now now_;
  std::map<WorkerKey, KnownWorker> workers_;
};

}  // namespace quern::step

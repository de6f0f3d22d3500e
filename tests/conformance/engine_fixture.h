// What the engine's tests share: engines at work on a loop of their own thread, over a store of
// either kind whose time is real.
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>

#include "conformance/store_fixture.h"
#include "net/loop.h"
#include "queue/engine.h"
#include "queue/event.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"

namespace quern::queue {

inline constexpr std::chrono::seconds kPatience{120};

// Waits for a condition that other threads bring about.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// A loop that runs on a thread of its own.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.run(); }) {}
  ~LoopThread() {
    loop_.stop();
    thread_.join();
  }
  net::Loop& loop() { return loop_; }
  // Runs a function on the loop and waits for it.
  template <class Function>
  void run(Function function) {
    std::promise<void> done;
    loop_.post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  void run_task(std::function<net::Task<>()> make) {
    std::promise<void> done;
    loop_.post([&] { loop_.spawn("test", keep(make, &done)); });
    done.get_future().wait();
  }

 private:
  static net::Task<> keep(std::function<net::Task<>()> make, std::promise<void>* done) {
    co_await make();
    done->set_value();
  }

  net::Loop loop_;
  std::thread thread_;
};

// Counts calls by item, and answers as a test says.
class Recorder final : public Processor {
 public:
  using Script = std::function<Outcome(const Work&)>;
  explicit Recorder(Script script) : script_(std::move(script)) {}

  void process(Work work, Answered answered) override {
    {
      const std::scoped_lock lock(mutex_);
      ++calls_[work.item.name];
      ++total_;
      order_.push_back(work.item.name);
      if (holding_) {
        held_.push_back([this, work, answered] { answered(script_(work)); });
        return;
      }
    }
    answered(script_(work));
  }
  void cancel() override { canceled_ = true; }

  // Answers wait until they are released.
  void hold() {
    const std::scoped_lock lock(mutex_);
    holding_ = true;
  }
  void release() {
    std::vector<std::function<void()>> held;
    {
      const std::scoped_lock lock(mutex_);
      holding_ = false;
      held.swap(held_);
    }
    for (const auto& answer : held) answer();
  }
  int calls(const std::string& item) const {
    const std::scoped_lock lock(mutex_);
    const auto found = calls_.find(item);
    return found == calls_.end() ? 0 : found->second;
  }
  int total() const {
    const std::scoped_lock lock(mutex_);
    return total_;
  }
  std::vector<std::string> order() const {
    const std::scoped_lock lock(mutex_);
    return order_;
  }
  bool canceled() const { return canceled_; }

 private:
  const Script script_;
  mutable std::mutex mutex_;
  std::map<std::string, int> calls_;
  std::vector<std::string> order_;
  std::vector<std::function<void()>> held_;
  int total_ = 0;
  bool holding_ = false;
  std::atomic<bool> canceled_{false};
};

inline std::shared_ptr<Recorder> record(Recorder::Script script) {
  return std::make_shared<Recorder>(std::move(script));
}

class EngineTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    ASSERT_NO_FATAL_FAILURE(open_queue());
  }
  void TearDown() override {
    for (auto& engine : engines_) stop(engine);
    loop_.reset();
    readers_.reset();
    close();
  }
  void open_queue() {
    store::WriterOptions options;
    options.guard = std::make_shared<PartitionGuard>();
    ASSERT_NO_FATAL_FAILURE(open(options));
    auto readers = store::Readers::open(*database_, {});
    ASSERT_TRUE(readers.ok()) << readers.error().message();
    readers_ = *std::move(readers);
    loop_ = std::make_unique<LoopThread>();
  }

  static EngineOptions quick() { return {.lease_ms = 2000, .scan_ms = 50}; }
  Engine& start(std::shared_ptr<Processor> processor, EngineOptions options = quick()) {
    Processors processors{{"test", std::move(processor)}};
    loop_->run([&] {
      engines_.push_back(std::make_unique<Engine>(loop_->loop(), *writer_, processors, options));
      engines_.back()->start();
    });
    return *engines_.back();
  }
  void stop(std::unique_ptr<Engine>& engine, std::int64_t grace_ms = 5000) {
    if (!engine) return;
    loop_->run_task([&]() -> net::Task<> { return engine->stop(grace_ms); });
    loop_->run([&] { engine.reset(); });
  }

  PartitionId make(const std::string& name, PartitionConfig config = {}) {
    config.kind = "test";
    const auto id = ensure_partition(*writer_, *readers_, name);
    CHECK_OK(id);
    CHECK_OK(put(*id, config));
    return *id;
  }
  Result<Partition> put(PartitionId id, const PartitionConfig& config) {
    return writer_->run(lane_of(id), change_partition(id, [id, config](store::Tx& tx) {
                          return put_partition(tx, id, {config});
                        }));
  }
  template <class Function>
  auto change(PartitionId id, Function function) {
    return writer_->run(lane_of(id), change_partition(id, std::move(function)));
  }
  Result<PutItems::Reply> add(PartitionId id, std::vector<NewItem> items) {
    auto reply = writer_->run(lane_of(id), PutItems{id, std::move(items)});
    for (auto& engine : engines_) {
      if (engine) engine->poke(id);
    }
    return reply;
  }
  std::vector<NewItem> some(int count, std::int64_t gate = 0, const std::string& prefix = "i") {
    std::vector<NewItem> items;
    for (int i = 0; i < count; ++i) items.push_back({prefix + std::to_string(i), gate, "{}"});
    return items;
  }
  Partition load(const std::string& name) {
    auto loaded = readers_->run([&](store::Tx& tx) { return load_partition(tx, name); });
    CHECK_OK(loaded);
    return *std::move(loaded);
  }
  Item load_one(PartitionId id, const std::string& name) {
    auto loaded = readers_->run([&](store::Tx& tx) { return load_item(tx, id, name); });
    CHECK_OK(loaded);
    return *std::move(loaded);
  }
  std::vector<Item> items(PartitionId id, ItemFilter filter = {.limit = 1000}) {
    auto loaded = readers_->run([&](store::Tx& tx) { return list_items(tx, id, filter); });
    CHECK_OK(loaded);
    return *std::move(loaded);
  }
  std::vector<Event> events(PartitionId id) {
    auto loaded = readers_->run([&](store::Tx& tx) { return list_events(tx, id, 0, 1000); });
    CHECK_OK(loaded);
    return *std::move(loaded);
  }
  bool reaches(const std::string& name, Status status) {
    return eventually([&] { return load(name).status == status; });
  }

  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<LoopThread> loop_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace quern::queue

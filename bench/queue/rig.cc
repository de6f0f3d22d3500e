#include "bench/queue/rig.h"

#include <fmt/format.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "queue/locked_partitions.h"

namespace quern::bench {
namespace {

using queue::PartitionId;
using store::Row;
using store::Sql;
using store::Tx;

constexpr std::chrono::minutes kHung{10};

constexpr Sql kComplete{"SELECT CAST(coalesce(sum(complete_items), 0) AS BIGINT) FROM partition"};
constexpr Sql kOwners{"SELECT count(*) FROM owner"};
constexpr Sql kHolding{"SELECT count(DISTINCT owner) FROM partition WHERE owner IS NOT NULL"};
constexpr Sql kHeld{"SELECT count(*) FROM partition WHERE owner IS NOT NULL"};
constexpr Sql kHolders{
    "SELECT partition.id, owner.name FROM partition JOIN owner ON owner.id = partition.owner"
    " LIMIT 10000"};

// Puts whose answers came, for the one thread that submits.
class Answered {
 public:
  void add(std::size_t chain) {
    {
      const std::scoped_lock lock(mutex_);
      chains_.push_back(chain);
    }
    changed_.notify_one();
  }
  std::vector<std::size_t> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !chains_.empty(); });
    return std::exchange(chains_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> chains_;
};

}  // namespace

std::string item_name(std::int64_t number) {
  return fmt::format("item-{:010}", number);
}

void wait_until(const std::function<bool()>& condition, std::chrono::microseconds step) {
  const Instant deadline = now() + kHung;
  while (!condition()) {
    CHECK(now() < deadline);
    std::this_thread::sleep_for(step);
  }
}

Rig::Rig(const RigOptions& options) {
  auto url = store::DatabaseUrl::parse(options.url);
  CHECK_OK(url);
  auto database = store::Database::open(*url, {});
  CHECK_OK(database);
  database_ = *std::move(database);
  store::WriterOptions writer_options;
  writer_options.lanes = options.lanes;
  writer_options.batch_ops_max = options.batch_ops_max;
  writer_options.guard = std::make_shared<queue::PartitionGuard>();
  auto writer = store::Writer::open(*database_, writer_options);
  CHECK_OK(writer);
  writer_ = *std::move(writer);
  auto readers = store::Readers::open(*database_, {.threads = 1});
  CHECK_OK(readers);
  readers_ = *std::move(readers);
  thread_ = std::thread([this] { loop_.run(); });
}

Rig::~Rig() {
  stop_engines();
  loop_.stop();
  thread_.join();
  readers_.reset();
  writer_.reset();
}

void Rig::script(const std::string& sql) {
  auto session = database_->connect_writer();
  CHECK_OK(session);
  if (database_->kind() == store::StoreKind::Postgres) {
    CHECK_OK((*session)->script("SET statement_timeout = 0"));
  }
  const Result<> done = (*session)->script(sql);
  CHECK_OK(done);
}

template <class Function>
void Rig::on_loop(Function function) {
  std::promise<void> done;
  loop_.post([&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

PartitionId Rig::make(const std::string& name, queue::PartitionConfig config) {
  const auto id = queue::ensure_partition(*writer_, *readers_, name);
  CHECK_OK(id);
  const auto put =
      writer_->run(queue::lane_of(*id), queue::change_partition(*id, [id = *id, config](Tx& tx) {
                     return queue::put_partition(tx, id, {config});
                   }));
  CHECK_OK(put);
  return *id;
}

queue::Engine& Rig::start_engine(queue::Processors processors, queue::EngineOptions options) {
  if (options.name.empty()) options.name = fmt::format("bench-{}", engines_.size());
  on_loop([&] {
    engines_.push_back(
        std::make_unique<queue::Engine>(loop_, *writer_, std::move(processors), options));
    engines_.back()->start();
  });
  return *engines_.back();
}

void Rig::stop_engines() {
  holders_.clear();
  for (auto& engine : engines_) {
    std::promise<void> stopped;
    auto stop = [](queue::Engine* stopping, std::promise<void>* done) -> net::Task<> {
      co_await stopping->stop(1000);
      done->set_value();
    };
    loop_.post([&] { loop_.spawn("bench.stop", stop(engine.get(), &stopped)); });
    stopped.get_future().wait();
    on_loop([&] { engine.reset(); });
  }
  engines_.clear();
}

void Rig::put(PartitionId id, std::vector<queue::NewItem> items) {
  const auto reply = writer_->run(queue::lane_of(id), queue::PutItems{id, std::move(items)});
  CHECK_OK(reply);
  poke(id);
}

void Rig::find_holders() {
  std::map<std::string, queue::Engine*> by_name;
  for (auto& engine : engines_) by_name.emplace(engine->stats().owner, engine.get());
  auto rows = readers_->run([](Tx& tx) { return tx.query(kHolders); });
  CHECK_OK(rows);
  for (const Row row : *rows) {
    const auto engine = by_name.find(row.get<std::string>(1));
    if (engine != by_name.end()) holders_[row.get<PartitionId>(0)] = engine->second;
  }
}

void Rig::poke(PartitionId id) {
  const auto holder = holders_.find(id);
  if (holder != holders_.end()) return holder->second->poke(id);
  if (engines_.size() == 1) engines_.front()->poke(id);
}

std::int64_t Rig::count(const Sql& sql) {
  const auto count = readers_->run([&sql](Tx& tx) { return tx.value<std::int64_t>(sql); });
  CHECK_OK(count);
  return *count;
}

std::int64_t Rig::complete_items() {
  return count(kComplete);
}

std::int64_t Rig::owners() {
  return count(kOwners);
}

std::int64_t Rig::holding_owners() {
  return count(kHolding);
}

std::int64_t Rig::held() {
  return count(kHeld);
}

std::int64_t Rig::commits() const {
  std::int64_t total = 0;
  for (const store::LaneStats& lane : writer_->stats()) total += lane.commits;
  return total;
}

void put_all(Rig& rig, const PutPlan& plan) {
  Answered answered;
  std::int64_t next = 0;
  std::size_t open = 0;
  const auto submit = [&](std::size_t chain) {
    const PartitionId id = plan.partitions[chain];
    queue::PutItems put{id, {}};
    for (int i = 0; i < plan.per_put && next < plan.items; ++i) {
      put.items.push_back({item_name(plan.first_number + next++), 0, kItemData});
    }
    auto operation = store::make_operation(
        std::move(put), [&answered, chain](Result<queue::PutItems::Reply> reply) {
          CHECK_OK(reply);
          answered.add(chain);
        });
    CHECK(rig.writer().lane(queue::lane_of(id)).try_push(operation) == store::Lane::Push::Taken);
    ++open;
  };
  for (std::size_t chain = 0; chain < plan.partitions.size() && next < plan.items; ++chain) {
    submit(chain);
  }
  while (open > 0) {
    for (const std::size_t chain : answered.take()) {
      --open;
      rig.poke(plan.partitions[chain]);
      if (next < plan.items) submit(chain);
    }
  }
}

}  // namespace quern::bench

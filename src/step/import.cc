#include "step/import.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"
#include "step/pipeline.h"

namespace quern::step {
namespace {

constexpr char kItem[] = "run";

queue::PartitionConfig shard_config() {
  queue::PartitionConfig config;
  config.kind = kImportKind;
  config.auto_close = true;
  config.max_retries = -1;  // a shard is worked on until it is done, whoever dies
  config.concurrency = 1;
  return config;
}

Result<> open_shard(store::Writer& writer, store::Readers& readers, tree::JobId job,
                    std::int64_t number, const Poke& poke) {
  const std::string name = shard_name(job, number);
  TRY_ASSIGN(const queue::PartitionId id, queue::ensure_partition(writer, readers, name));
  const tree::ShardId shard{id.value};
  const auto known = readers.run([shard](store::Tx& tx) { return tree::load_shard(tx, shard); });
  if (known.ok()) return {};
  if (known.error().kind() != Errc::Missing) return known.error();
  queue::NewItem item;
  item.name = kItem;
  item.data = fmt::format(R"({{"job":{},"shard":{}}})", job, number);
  TRY(writer.run(queue::lane_of(id), queue::PutItems{id, {item}}));
  crash_point("step.shard.item_put");
  auto declare = [id, shard, job, number](store::Tx& tx) -> Result<bool> {
    TRY(queue::put_partition(tx, id, {shard_config(), {}, {}}));
    TRY(tree::ensure_shard(tx, job, shard, number));
    return true;
  };
  TRY(writer.run(queue::lane_of(id), queue::change_partition(id, declare)));
  poke(id);
  return {};
}

}  // namespace

std::string shard_name(tree::JobId job, std::int64_t number) {
  return fmt::format("quern:import:{}:{}", job, number);
}

Result<tree::Job> open_import(store::Writer& writer, store::Readers& readers,
                              const tree::NewJob& order, const Poke& poke) {
  TRY(tree::validate(order));
  TRY_ASSIGN(const tree::Job job,
             writer.run({}, [&order](store::Tx& tx) { return tree::ensure_job(tx, order); }));
  crash_point("step.job.made");
  if (job.state != tree::JobState::Running) return job;
  for (std::int64_t number = 0; number < job.shards; ++number) {
    TRY(open_shard(writer, readers, job.id, number, poke));
  }
  return job;
}

Result<tree::ShardId> shard_of_root(store::Readers& readers, tree::JobId job, std::int64_t index) {
  TRY_ASSIGN(const std::vector<tree::ShardId> shards,
             readers.run([job](store::Tx& tx) { return tree::list_shards(tx, job); }));
  if (shards.empty()) return Error{Errc::Missing, fmt::format("there is no job {}", job)};
  return shards[static_cast<std::size_t>(index) % shards.size()];
}

}  // namespace quern::step

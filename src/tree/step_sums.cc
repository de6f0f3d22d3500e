#include "tree/step_sums.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_ADD_STEPS                                   \
  " ON CONFLICT (partition, step) DO UPDATE"              \
  " SET entered = shard_step.entered + excluded.entered," \
  " ended = shard_step.ended + excluded.ended,"           \
  " failed = shard_step.failed + excluded.failed,"        \
  " wall_ms = shard_step.wall_ms + excluded.wall_ms,"     \
  " cpu_ms = shard_step.cpu_ms + excluded.cpu_ms"
constexpr Sql kAdd{
    "INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)" QUERN_ADD_STEPS,
    "INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)"
    " SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],"
    " $6::bigint[], $7::bigint[])" QUERN_ADD_STEPS};
constexpr Sql kLoad{
    "SELECT s.partition, s.step, s.entered, s.ended, s.failed, s.wall_ms, s.cpu_ms"
    " FROM shard AS h JOIN shard_step AS s ON s.partition = h.partition WHERE h.job = $1"};
constexpr Sql kRemove{
    "DELETE FROM shard_step WHERE partition IN (SELECT partition FROM shard WHERE job = $1)"};

}  // namespace

StepSum& StepSum::operator+=(const StepSum& more) {
  entered += more.entered;
  ended += more.ended;
  failed += more.failed;
  wall_ms += more.wall_ms;
  cpu_ms += more.cpu_ms;
  return *this;
}

Result<> add_to_steps(Tx& tx, const std::map<ShardId, StepSums>& sums) {
  Bulk bulk;
  for (const auto& [shard, steps] : sums) {
    for (const auto& [step, sum] : steps) {
      bulk.add(shard, step, sum.entered, sum.ended, sum.failed, sum.wall_ms, sum.cpu_ms);
    }
  }
  TRY(tx.bulk(kAdd, bulk));
  return {};
}

Result<std::map<ShardId, StepSums>> load_shard_steps(Tx& tx, JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, job));
  std::map<ShardId, StepSums> sums;
  for (const Row row : rows) {
    sums[row.get<ShardId>(0)][row.get<std::string>(1)] = {
        row.get<std::int64_t>(2), row.get<std::int64_t>(3), row.get<std::int64_t>(4),
        row.get<std::int64_t>(5), row.get<std::int64_t>(6)};
  }
  return sums;
}

Result<StepSums> load_steps(Tx& tx, JobId job) {
  TRY_ASSIGN(const auto shards, load_shard_steps(tx, job));
  StepSums all;
  for (const auto& [shard, steps] : shards) {
    for (const auto& [step, sum] : steps) all[step] += sum;
  }
  return all;
}

Result<> remove_steps(Tx& tx, JobId job) {
  TRY(tx.exec(kRemove, job));
  return {};
}

}  // namespace quern::tree

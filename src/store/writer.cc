#include "store/writer.h"

namespace quern::store {

Result<std::unique_ptr<Writer>> Writer::open(Database& database, const WriterOptions& options) {
  CHECK(options.lanes > 0 && options.batch_ops_max > 0 && options.queue_ops_max > 0);
  std::unique_ptr<Writer> writer(new Writer);
  const bool sqlite = database.kind() == StoreKind::Sqlite;
  writer->lanes_by_key_ = static_cast<std::size_t>(sqlite ? 1 : options.lanes);
  const int lanes = sqlite ? 1 : options.lanes + 1;  // the last one is control()
  for (int i = 0; i < lanes; ++i) {
    TRY_ASSIGN(std::unique_ptr<Session> session, database.connect_writer());
    writer->lanes_.push_back(std::make_unique<Lane>(std::move(session), database.clock(), options));
  }
  return writer;
}

void Writer::stop() {
  for (const auto& lane : lanes_) lane->stop();
}

std::vector<LaneStats> Writer::stats() const {
  std::vector<LaneStats> all;
  for (const auto& lane : lanes_) all.push_back(lane->stats());
  return all;
}

}  // namespace quern::store

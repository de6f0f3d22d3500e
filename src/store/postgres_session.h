// The PostgreSQL driver: libpq, prepared statements, binary values, pipelined round trips.
//
// BEGIN travels with the first statement of a transaction, so a transaction of one statement costs
// two round trips. A writer's session owns a row of writer_lane; each of its transactions stores a
// new sequence number there before anything else, and only then is a COMMIT ever sent. So the row's
// lock is held by a commit whose answer was lost, and its number tells whether that commit
// happened.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "store/postgres_wire.h"
#include "store/session.h"

struct pg_conn;  // PGconn

namespace quern::store {

struct PostgresOptions {
  std::string url;
  int connect_seconds_max = 5;
  int statement_ms_max = 4000;  // below a third of a lease
  int lock_ms_max = 3000;
  int idle_in_transaction_ms_max = 4000;
  int read_ms_max = 1000;
  // The server keeps the limits above by itself; one that hangs keeps none. So long over them, and
  // we take the connection for lost.
  int answer_margin_ms = 5000;
  // Tests move the database's time by this.
  const std::atomic<std::int64_t>* offset_us = nullptr;
};

class PostgresSession final : public Session {
 public:
  // Plain: migrations; no lane, no time-outs.
  enum class Access { Write, Read, Plain };

  static Result<std::unique_ptr<PostgresSession>> open(const PostgresOptions& options,
                                                       Access access,
                                                       std::atomic<std::int64_t>* high_water_us);
  ~PostgresSession() override;

  StoreKind kind() const override { return StoreKind::Postgres; }
  Result<Rows> run(const Sql& sql, std::span<const Param> params) override;
  Result<Rows> run_bulk(const Sql& sql, const Bulk& bulk) override;
  Result<> script(const std::string& sql) override;
  Result<> begin_read() override;
  Result<> begin_write() override;
  Result<> commit() override;
  void rollback() override;
  bool in_transaction() const override;
  Result<> savepoint() override;
  Result<> release_savepoint() override;
  Result<> rollback_to_savepoint() override;
  Result<std::int64_t> now_us() override;
  bool lost() const override { return lost_; }
  Result<> reconnect() override;
  Result<bool> last_commit_happened() override;

 private:
  enum class Begin { None, Read, Write };
  struct Prepared {
    std::string name;
    std::vector<Oid> types;
  };
  // What was sent since the last sync, in order.
  struct Sent {
    const char* text;
    bool prepares;
  };
  struct ResultDeleter {
    void operator()(pg_result* result) const;
  };
  using ResultPtr = std::unique_ptr<pg_result, ResultDeleter>;

  PostgresSession(PostgresOptions options, Access access, std::atomic<std::int64_t>* high_water_us)
      : options_(std::move(options)), access_(access), high_water_us_(high_water_us) {}

  Result<> connect();
  Result<> configure();
  Result<> register_lane();
  Result<Rows> execute(const char* text, const WireParams& params);
  Result<> send_begin();
  Result<> send(const char* text, const WireParams& params);
  Result<Rows> receive_all();
  Result<Rows> receive(const char* text, const pg_result* result);
  ResultPtr next_result();
  bool await_answer();
  Error failure(const pg_result* result, const char* text);
  Error connection_failure();
  void note_time(std::int64_t database_us);

  PostgresOptions options_;
  Access access_;
  std::atomic<std::int64_t>* high_water_us_;
  pg_conn* connection_ = nullptr;
  bool lost_ = false;
  Begin pending_begin_ = Begin::None;  // to be sent with the next statement
  std::unordered_map<const char*, Prepared> prepared_;
  int statements_ = 0;  // names given so far
  std::vector<Sent> sent_;
  std::int64_t lane_ = 0;  // row of writer_lane; 0: none yet
  std::int64_t sequence_ = 0;
  std::int64_t now_us_ = 0;  // of the transaction; 0: not asked yet
  int answer_ms_max_ = 0;    // 0: as long as it takes
};

}  // namespace quern::store

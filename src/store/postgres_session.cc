#include "store/postgres_session.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/log.h"

namespace quern::store {
namespace {

#define QUERN_DATABASE_US "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

constexpr char kBeginRead[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr char kBeginWrite[] = "BEGIN";
constexpr char kAdvanceLane[] =
    "UPDATE writer_lane SET sequence = $2, touched_us = " QUERN_DATABASE_US
    " WHERE id = $1 RETURNING touched_us";
constexpr char kCommit[] = "COMMIT";
constexpr char kRollback[] = "ROLLBACK";
constexpr char kSavepoint[] = "SAVEPOINT operation";
constexpr char kRelease[] = "RELEASE operation";
constexpr char kRollbackTo[] = "ROLLBACK TO operation";
constexpr char kNow[] = "SELECT " QUERN_DATABASE_US;
// A new row never has the number of a commit that is in doubt: that one would have kept its own
// row.
constexpr char kAddLane[] =
    "INSERT INTO writer_lane (sequence, touched_us) VALUES (-1, " QUERN_DATABASE_US
    ") RETURNING id";
// Waits for a former connection that still holds the row, that is: one that is in its COMMIT.
constexpr char kLastSequence[] = "SELECT sequence FROM writer_lane WHERE id = $1 FOR UPDATE";
constexpr char kForgetOldLanes[] =
    "DELETE FROM writer_lane WHERE touched_us < " QUERN_DATABASE_US " - 7 * 86400000000";

Errc kind_of(std::string_view state) {
  if (state.starts_with("23")) return Errc::Conflict;
  // A table or type of that name exists: another session created it just now.
  if (state == "42P07" || state == "42710") return Errc::Conflict;
  if (state == "40001" || state == "40P01" || state == "55P03") return Errc::Busy;
  if (state == "53100") return Errc::Full;
  if (state == "57014") return Errc::Timeout;
  if (state.starts_with("08") || state.starts_with("57P") || state.starts_with("53")) {
    return Errc::Unavailable;
  }
  if (state.starts_with("54")) return Errc::TooLarge;
  if (state.starts_with("22")) return Errc::Invalid;
  if (state.starts_with("28") || state == "42501") return Errc::Denied;
  if (state == "XX001" || state == "XX002") return Errc::Corrupt;
  return Errc::Internal;
}

std::string one_line(const char* text) {
  std::string line(text == nullptr ? "" : text);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

const WireParams kNoParams{std::span<const Param>{}};

}  // namespace

Result<std::unique_ptr<PostgresSession>> PostgresSession::open(
    const PostgresOptions& options, Access access, std::atomic<std::int64_t>* high_water_us) {
  std::unique_ptr<PostgresSession> session(new PostgresSession(options, access, high_water_us));
  TRY(session->connect());
  return session;
}

void PostgresSession::ResultDeleter::operator()(pg_result* result) const {
  PQclear(result);
}

PostgresSession::~PostgresSession() {
  PQfinish(connection_);
}

Result<> PostgresSession::connect() {
  const std::string seconds = std::to_string(options_.connect_seconds_max);
  const std::string unacknowledged_ms = std::to_string(options_.statement_ms_max);
  // The URL stands last, so that what it says wins. Without a limit on unacknowledged bytes a black
  // hole in the network would hold the writer for minutes.
  const char* const keywords[] = {
      "connect_timeout",  "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
      "keepalives_count", "application_name", "dbname",          nullptr};
  const char* const values[] = {seconds.c_str(), unacknowledged_ms.c_str(), "10",   "3", "3",
                                "quern",         options_.url.c_str(),      nullptr};
  PQfinish(connection_);
  prepared_.clear();
  pending_begin_ = Begin::None;
  connection_ = PQconnectdbParams(keywords, values, /*expand_dbname=*/1);
  lost_ = PQstatus(connection_) != CONNECTION_OK;
  if (lost_) return connection_failure();
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  Result<> ready = configure();
  // Half a set-up is none.
  if (!ready.ok()) lost_ = true;
  return ready;
}

Result<> PostgresSession::configure() {
  const int statement_ms = access_ == Access::Read    ? options_.read_ms_max
                           : access_ == Access::Write ? options_.statement_ms_max
                                                      : 0;
  answer_ms_max_ = statement_ms == 0 ? 0 : statement_ms + options_.answer_margin_ms;
  TRY(
      script(fmt::format("SET statement_timeout = {}; SET lock_timeout = {};"
                         "SET idle_in_transaction_session_timeout = {};"
                         "SET synchronous_commit = on; SET client_encoding = 'UTF8'",
                         statement_ms, access_ == Access::Plain ? 0 : options_.lock_ms_max,
                         access_ == Access::Plain ? 0 : options_.idle_in_transaction_ms_max)));
  CHECK(PQenterPipelineMode(connection_) == 1);
  return access_ == Access::Write ? register_lane() : Result<>{};
}

// A lane keeps its row over reconnects; one that was away for long may have lost it.
Result<> PostgresSession::register_lane() {
  if (lane_ != 0) {
    const Param id[] = {lane_};
    TRY_ASSIGN(const Rows rows, execute(kLastSequence, WireParams(id)));
    if (!rows.empty()) return {};
  }
  TRY(execute(kForgetOldLanes, kNoParams));
  TRY_ASSIGN(const Rows rows, execute(kAddLane, kNoParams));
  CHECK(rows.size() == 1);
  lane_ = rows[0].get<std::int64_t>(0);
  return {};
}

Result<> PostgresSession::reconnect() {
  return connect();
}

Result<bool> PostgresSession::last_commit_happened() {
  const Param id[] = {lane_};
  TRY_ASSIGN(const Rows rows, execute(kLastSequence, WireParams(id)));
  CHECK(rows.size() == 1);
  return rows[0].get<std::int64_t>(0) == sequence_;
}

Result<Rows> PostgresSession::run(const Sql& sql, std::span<const Param> params) {
  return execute(sql.text(StoreKind::Postgres), WireParams(params));
}

Result<Rows> PostgresSession::run_bulk(const Sql& sql, const Bulk& bulk) {
  CHECK(bulk.rows() > 0);
  return execute(sql.text(StoreKind::Postgres), WireParams(bulk));
}

Result<Rows> PostgresSession::execute(const char* text, const WireParams& params) {
  if (lost_) return Error{Errc::Unavailable, "the connection to PostgreSQL is gone"};
  sent_.clear();
  if (pending_begin_ != Begin::None) TRY(send_begin());
  TRY(send(text, params));
  if (PQpipelineSync(connection_) != 1) return connection_failure();
  return receive_all();
}

Result<> PostgresSession::send_begin() {
  const Begin kind = std::exchange(pending_begin_, Begin::None);
  if (kind == Begin::Read) return send(kBeginRead, kNoParams);
  TRY(send(kBeginWrite, kNoParams));
  const Param lane[] = {lane_, ++sequence_};
  return send(kAdvanceLane, WireParams(lane));
}

// Prepares on first use, in the same round trip.
Result<> PostgresSession::send(const char* text, const WireParams& params) {
  auto [found, added] = prepared_.try_emplace(text);
  Prepared& prepared = found->second;
  if (added) {
    prepared.name = "s" + std::to_string(++statements_);
    prepared.types.assign(params.types(), params.types() + params.count());
    sent_.push_back({text, true});
    if (PQsendPrepare(connection_, prepared.name.c_str(), text, params.count(), params.types()) !=
        1) {
      return connection_failure();
    }
  }
  CHECK(std::equal(prepared.types.begin(), prepared.types.end(), params.types(),
                   params.types() + params.count()));
  sent_.push_back({text, false});
  if (PQsendQueryPrepared(connection_, prepared.name.c_str(), params.count(), params.values(),
                          params.lengths(), params.formats(), /*resultFormat=*/1) != 1) {
    return connection_failure();
  }
  return {};
}

// The rows of the last statement sent, or the first error; what follows an error was not run.
Result<Rows> PostgresSession::receive_all() {
  Result<Rows> outcome = Rows();
  for (const Sent& sent : sent_) {
    const ResultPtr result = next_result();
    const ExecStatusType status = PQresultStatus(result.get());
    const bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (sent.prepares && !done) prepared_.erase(sent.text);
    if (lost_) return connection_failure();
    if (!outcome.ok()) continue;
    if (!done) {
      outcome = failure(result.get(), sent.text);
    } else if (!sent.prepares) {
      outcome = receive(sent.text, result.get());
    }
  }
  if (await_answer()) {
    const ResultPtr synced(PQgetResult(connection_));
    if (PQresultStatus(synced.get()) != PGRES_PIPELINE_SYNC) lost_ = true;
  }
  if (lost_ && outcome.ok()) return connection_failure();
  return outcome;
}

Result<Rows> PostgresSession::receive(const char* text, const PGresult* result) {
  Rows rows;
  TRY(append_rows(result, rows));
  rows.count(std::strtoll(PQcmdTuples(const_cast<PGresult*>(result)), nullptr, 10));
  if (!std::string_view(text).starts_with("SELECT")) rows.mark_written();
  if (text == kAdvanceLane) {
    if (rows.empty()) {
      lost_ = true;  // reconnect() registers the lane anew
      return Error{Errc::Unavailable, "this writer was away for so long that its row is gone"};
    }
    note_time(rows[0].get<std::int64_t>(0));
  }
  // COMMIT of a failed transaction succeeds by rolling back.
  if (text == kCommit && std::string_view(PQcmdStatus(const_cast<PGresult*>(result))) != "COMMIT") {
    return Error{Errc::Internal, "the transaction had failed and was rolled back"};
  }
  return rows;
}

// Waits until a result can be had without blocking, for as long as the server may take and a
// margin.
bool PostgresSession::await_answer() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(answer_ms_max_);
  while (!lost_ && PQisBusy(connection_) == 1) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{PQsocket(connection_), POLLIN, 0};
    const int wait_ms =
        answer_ms_max_ == 0 ? -1 : static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int polled = ::poll(&ready, 1, wait_ms);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0 || PQconsumeInput(connection_) != 1) lost_ = true;
  }
  return !lost_;
}

// One statement's result, with the null that ends it.
PostgresSession::ResultPtr PostgresSession::next_result() {
  if (!await_answer()) return nullptr;
  ResultPtr result(PQgetResult(connection_));
  if (result == nullptr || PQstatus(connection_) == CONNECTION_BAD) {
    lost_ = true;
    return result;
  }
  if (!await_answer()) return result;
  const ResultPtr end(PQgetResult(connection_));
  if (end != nullptr) lost_ = true;
  return result;
}

Error PostgresSession::failure(const PGresult* result, const char* text) {
  if (lost_ || PQstatus(connection_) == CONNECTION_BAD || result == nullptr)
    return connection_failure();
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const Errc kind = kind_of(state == nullptr ? "" : state);
  // A server that is shutting down has ended this connection, or is about to.
  if (kind == Errc::Unavailable) lost_ = true;
  return Error{kind, fmt::format("{} ({}) in '{}'",
                                 one_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY)),
                                 state == nullptr ? "?" : state, text)};
}

Error PostgresSession::connection_failure() {
  lost_ = true;
  const std::string reason = one_line(PQerrorMessage(connection_));
  return Error{Errc::Unavailable,
               fmt::format("PostgreSQL: {}", reason.empty() ? "it does not answer" : reason)};
}

Result<> PostgresSession::script(const std::string& sql) {
  const bool pipelined = PQpipelineStatus(connection_) != PQ_PIPELINE_OFF;
  if (pipelined) CHECK(PQexitPipelineMode(connection_) == 1);
  const ResultPtr result(PQexec(connection_, sql.c_str()));
  Result<> outcome;
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    outcome = failure(result.get(), "script");
  if (pipelined && !lost_) CHECK(PQenterPipelineMode(connection_) == 1);
  return outcome;
}

Result<> PostgresSession::begin_read() {
  now_us_ = 0;
  pending_begin_ = Begin::Read;
  return {};
}

Result<> PostgresSession::begin_write() {
  CHECK(access_ == Access::Write);
  if (lost_) return Error{Errc::Unavailable, "the connection to PostgreSQL is gone"};
  now_us_ = 0;
  pending_begin_ = Begin::Write;
  return {};
}

Result<> PostgresSession::commit() {
  if (pending_begin_ != Begin::None) {
    pending_begin_ = Begin::None;  // nothing was asked of it
    return {};
  }
  TRY(execute(kCommit, kNoParams));
  return {};
}

void PostgresSession::rollback() {
  pending_begin_ = Begin::None;
  if (lost_ || !in_transaction()) return;
  const Result<Rows> done = execute(kRollback, kNoParams);
  if (!done.ok()) lost_ = true;
}

bool PostgresSession::in_transaction() const {
  if (pending_begin_ != Begin::None) return true;
  const PGTransactionStatusType status = PQtransactionStatus(connection_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

Result<> PostgresSession::savepoint() {
  TRY(execute(kSavepoint, kNoParams));
  return {};
}

Result<> PostgresSession::release_savepoint() {
  TRY(execute(kRelease, kNoParams));
  return {};
}

Result<> PostgresSession::rollback_to_savepoint() {
  TRY(execute(kRollbackTo, kNoParams));
  return release_savepoint();
}

void PostgresSession::note_time(std::int64_t database_us) {
  if (options_.offset_us != nullptr) database_us += options_.offset_us->load();
  std::int64_t seen = high_water_us_->load();
  while (seen < database_us && !high_water_us_->compare_exchange_weak(seen, database_us)) {
  }
  now_us_ = std::max(seen, database_us);
}

Result<std::int64_t> PostgresSession::now_us() {
  if (now_us_ == 0) {
    TRY_ASSIGN(const Rows rows, execute(kNow, kNoParams));
    if (now_us_ == 0) note_time(rows[0].get<std::int64_t>(0));
  }
  return now_us_;
}

}  // namespace quern::store

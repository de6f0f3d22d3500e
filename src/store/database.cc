#include "store/database.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>

#include "base/crash.h"
#include "io/file.h"

namespace quern::store {
namespace {

constexpr Sql kIdentity{"SELECT id FROM store_identity"};
// Of several that open a new database together, the first one names it.
constexpr Sql kGiveIdentity{
    "INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING"};
constexpr Sql kStoredTime{"SELECT now_us FROM store_clock"};

template <class Derived>
Result<std::unique_ptr<Session>> as_session(Result<std::unique_ptr<Derived>> opened) {
  if (!opened.ok()) return std::move(opened).error();
  return std::unique_ptr<Session>(*std::move(opened));
}

}  // namespace

Database::Database(DatabaseUrl url, const DatabaseOptions& options)
    : url_(std::move(url)),
      clock_(options.clock != nullptr ? options.clock : &io::system_clock()),
      postgres_(options.postgres) {
  sqlite_.path = url_.location;
  sqlite_.clock = clock_;
  sqlite_.page_count_max = options.sqlite_page_count_max;
  postgres_.url = url_.location;
}

Result<std::unique_ptr<Database>> Database::open(const DatabaseUrl& url,
                                                 const DatabaseOptions& options) {
  std::unique_ptr<Database> database(new Database(url, options));
  Result<> prepared = database->prepare(options.migrate);
  if (!prepared.ok()) return std::move(prepared).error().with_context("opening " + url.redacted());
  return database;
}

Result<> Database::prepare(MigratePolicy policy) {
  if (kind() == StoreKind::Postgres) {
    TRY_ASSIGN(const auto session,
               PostgresSession::open(postgres_, PostgresSession::Access::Plain, &high_water_us_));
    TRY(migrate(*session, postgres_migrations(), policy, clock_->now_us()));
    return load_identity(*session);
  }
  // SQLite gives its log the mode of the file; by itself it would make both readable for everybody.
  TRY(io::make_private_file(sqlite_.path));
  TRY_ASSIGN(const auto session,
             SqliteSession::open(sqlite_, SqliteSession::Access::Write, &high_water_us_));
  TRY(migrate(*session, sqlite_migrations(), policy, clock_->now_us()));
  TRY_ASSIGN(const Rows stored, session->run(kStoredTime, {}));
  CHECK(stored.size() == 1);
  high_water_us_ = stored[0].get<std::int64_t>(0);
  return load_identity(*session);
}

Result<> Database::load_identity(Session& session) {
  TRY_ASSIGN(Rows found, session.run(kIdentity, {}));
  if (found.empty()) {
    std::array<unsigned char, 16> random;
    CHECK(RAND_bytes(random.data(), random.size()) == 1);
    const std::string id = fmt::format("{:02x}", fmt::join(random, ""));
    const Param param[] = {id};
    const DurableWrite write("commit", "identity");
    TRY(session.run(kGiveIdentity, param));
    TRY_ASSIGN(found, session.run(kIdentity, {}));
  }
  CHECK(found.size() == 1);
  identity_ = found[0].get<std::string>(0);
  return {};
}

Result<std::unique_ptr<Session>> Database::connect_writer() {
  if (kind() == StoreKind::Postgres) {
    return as_session(
        PostgresSession::open(postgres_, PostgresSession::Access::Write, &high_water_us_));
  }
  return as_session(SqliteSession::open(sqlite_, SqliteSession::Access::Write, &high_water_us_));
}

Result<std::unique_ptr<Session>> Database::connect_reader() {
  if (kind() == StoreKind::Postgres) {
    return as_session(
        PostgresSession::open(postgres_, PostgresSession::Access::Read, &high_water_us_));
  }
  return as_session(SqliteSession::open(sqlite_, SqliteSession::Access::Read, &high_water_us_));
}

}  // namespace quern::store

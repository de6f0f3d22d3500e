// Question: what does the writer cost over the bare store, for 1 to 512 callers that each wait for
// their commit, with bulk operations and with closures? Expect: a single caller pays little over
// one commit per row; many callers share commits, so that bulk operations come near the rate of raw
// inserts in groups of 100. Goals: bulk at 0.5 of raw or better; a single caller at 0.8 of the
// store's one-row commit rate.
//
// A single caller is a thread that waits; many callers are not threads: each submits its next
// operation when the last one was answered, as coroutines on the event loop do. Rows are of 200
// bytes; durability is full everywhere. Rounds of all cases are interleaved, and the median is
// reported, because the disk of a virtual machine has moods.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "bench/store/raw.h"
#include "store/database.h"
#include "store/writer.h"
#include "support/postgres.h"
#include "support/temp_folder.h"

namespace quern::bench {

using store::Answer;
using store::Bulk;
using store::Sql;
using store::Tx;

const std::string kText(200, 'x');

constexpr Sql kAddRows{
    "INSERT INTO bench (key, text) VALUES ($1, $2)",
    "INSERT INTO bench (key, text) SELECT * FROM unnest($1::bigint[], $2::text[])"};
constexpr Sql kAddRow{"INSERT INTO bench (key, text) VALUES ($1, $2)"};

struct AddRow {
  std::int64_t key;
  using Reply = int;
};

std::vector<Result<int>> apply(Tx& tx, std::span<const AddRow> batch) {
  Bulk rows;
  for (const AddRow& row : batch) rows.add(row.key, kText);
  const auto added = tx.bulk(kAddRows, rows);
  if (!added.ok()) return store::fail_all<int>(batch.size(), added.error());
  return std::vector<Result<int>>(batch.size(), Result<int>(0));
}

namespace {

using Seconds = std::chrono::duration<double>;

double rate(int operations, std::chrono::steady_clock::time_point begin) {
  return operations / Seconds(std::chrono::steady_clock::now() - begin).count();
}

// Answers gathered for the one thread that submits.
class Answers {
 public:
  void add() {
    {
      const std::scoped_lock lock(mutex_);
      ++count_;
    }
    changed_.notify_one();
  }
  int take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    return std::exchange(count_, 0);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// A single caller is a thread that waits.
template <class MakeOp>
double run_blocking(store::Writer& writer, int operations, MakeOp make_op) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < operations; ++i) CHECK_OK(writer.run({}, make_op()));
  return rate(operations, begin);
}

template <class MakeOp>
double run_callers(store::Writer& writer, int callers, int operations, MakeOp make_op) {
  if (callers == 1) return run_blocking(writer, operations, make_op);
  const auto begin = std::chrono::steady_clock::now();
  Answers answers;
  int submitted = 0;
  const auto submit = [&] {
    auto op = make_op();
    using Op = decltype(op);
    auto operation = store::make_operation(std::move(op), [&answers](Result<Answer<Op>> result) {
      CHECK_OK(result);
      answers.add();
    });
    const store::LaneKey key{static_cast<std::uint64_t>(submitted++)};
    CHECK(writer.lane(key).try_push(operation) == store::Lane::Push::Taken);
  };
  while (submitted < std::min(callers, operations)) submit();
  for (int answered = 0; answered < operations;) {
    const int count = answers.take();
    answered += count;
    for (int i = 0; i < count && submitted < operations; ++i) submit();
  }
  return rate(operations, begin);
}

struct Case {
  std::string name;
  std::string against;  // the raw case it is compared with
  std::function<double()> run;
  std::vector<double> rates;
  double median() {
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
  }
};

class StoreBench {
 public:
  StoreBench(std::string name, const std::string& url, std::unique_ptr<RawStore> raw, int scale)
      : name_(std::move(name)), raw_(std::move(raw)), scale_(scale) {
    database_ = *store::Database::open(*store::DatabaseUrl::parse(url), {});
    CHECK_OK((*database_->connect_writer())
                 ->script("CREATE TABLE bench (key BIGINT PRIMARY KEY, text TEXT NOT NULL)"));
    writer_ = *store::Writer::open(*database_, {});
    add_cases();
  }

  void round() {
    for (Case& one : cases_) one.rates.push_back(one.run());
  }

  void print(bool json) {
    for (Case& one : cases_) {
      const auto raw = std::find_if(cases_.begin(), cases_.end(),
                                    [&](const Case& other) { return other.name == one.against; });
      const double ratio = one.median() / raw->median();
      fmt::print(fmt::runtime(json ? "{{\"store\":\"{}\",\"case\":\"{}\",\"per_second\":{:.0f},"
                                     "\"against\":\"{}\",\"ratio\":{:.2f}}}\n"
                                   : "{:<9} {:<22} {:>10.0f}/s   of {:<18} {:>5.2f}\n"),
                 name_, one.name, one.median(), one.against, ratio);
    }
  }

 private:
  void add_cases() {
    add("raw one row a commit", "raw one row a commit", [this] { return raw(1, 600 * scale_); });
    add("raw groups of 100", "raw groups of 100", [this] { return raw(100, 10'000 * scale_); });
    for (const int callers : {1, 8, 64, 512}) {
      const std::string against = callers == 1 ? "raw one row a commit" : "raw groups of 100";
      const int operations = scale_ * (callers == 1 ? 600 : callers == 8 ? 3000 : 10'000);
      add(fmt::format("bulk, {} callers", callers), against, [=, this] {
        return run_callers(*writer_, callers, operations, [this] { return AddRow{next_key_++}; });
      });
      add(fmt::format("closure, {} callers", callers), against, [=, this] {
        return run_callers(*writer_, callers, operations, [this] {
          return [key = next_key_++](Tx& tx) { return tx.exec(kAddRow, key, kText); };
        });
      });
    }
  }
  void add(std::string name, std::string against, std::function<double()> run) {
    cases_.push_back({std::move(name), std::move(against), std::move(run), {}});
  }
  double raw(int group, int rows) {
    const auto begin = std::chrono::steady_clock::now();
    for (int done = 0; done < rows; done += group, next_key_ += group) {
      raw_->insert(next_key_, group, kText);
    }
    return rate(rows, begin);
  }

  std::string name_;
  std::unique_ptr<RawStore> raw_;
  int scale_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::int64_t next_key_ = 1;
  std::vector<Case> cases_;
};

int run(bool smoke, bool json) {
  const support::TempFolder folder;
  support::Postgres postgres;
  const std::string sqlite = (folder / "bench.db").string();
  const std::string url = postgres.create_database();
  const int scale = smoke ? 1 : 5;
  StoreBench on_sqlite("sqlite", "sqlite:" + sqlite, open_raw_sqlite((folder / "raw.db").string()),
                       scale);
  StoreBench on_postgres("postgres", url, open_raw_postgres(url), scale);
  for (int i = 0; i < (smoke ? 1 : 5); ++i) {
    on_sqlite.round();
    on_postgres.round();
  }
  on_sqlite.print(json);
  on_postgres.print(json);
  return 0;
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  const std::vector<std::string_view> flags(argv + 1, argv + argc);
  const auto has = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  return quern::bench::run(has("--smoke"), has("--json"));
}

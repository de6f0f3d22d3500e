// Goal: whoever puts, inherits, deletes and sweeps at the same time, whatever is referred to can be
// read, and whatever is not goes.
// Method: each actor is a list of steps with a connection of its own, and all orders in which the
// steps of two or three actors can follow one another are run. On PostgreSQL the steps lie inside
// transactions; one that waits for another's lock is left waiting and the others go on. On SQLite,
// where only one transaction is open at a time, each is one step.
#include <condition_variable>
#include <deque>
#include <functional>
#include <numeric>
#include <thread>

#include "blob/judgement.h"
#include "blob/session.h"
#include "conformance/blob_fixture.h"

namespace quern::blob {
namespace {

constexpr std::size_t kLarge = kInlineBytesMax + 1;

using Step = std::function<Result<>(Tx&)>;

// Runs steps one after the other on a thread and a connection of its own.
class Actor {
 public:
  explicit Actor(store::Database& database) {
    auto session = database.connect_writer();
    CHECK_OK(session);
    session_ = *std::move(session);
    if (session_->kind() == StoreKind::Postgres) {
      static constexpr Sql kPid{"SELECT pg_backend_pid()"};
      pid_ = (*session_->run(kPid, {}))[0].get<std::int64_t>(0);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~Actor() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // A new scene: the connection is kept.
  void forget() {
    const std::scoped_lock lock(mutex_);
    CHECK(done_ == allowed_);
    steps_.clear();
    allowed_ = done_ = 0;
    result_ = {};
  }
  // The steps of one transaction, and one for its end and what its process does then.
  void transaction(std::vector<Step> steps, std::function<Result<>()> afterwards = {}) {
    std::vector<std::function<Result<>()>> all;
    for (Step& step : steps) {
      const bool is_first = all.empty();
      all.emplace_back([this, is_first, step = std::move(step)]() -> Result<> {
        if (is_first) TRY(session_->begin_write());
        Tx tx(*session_);
        return step(tx);
      });
    }
    all.emplace_back([this, afterwards = std::move(afterwards)]() -> Result<> {
      TRY(session_->commit());
      return afterwards ? afterwards() : Result<>();
    });
    if (session_->kind() == StoreKind::Postgres) {
      steps_.insert(steps_.end(), all.begin(), all.end());
      return;
    }
    steps_.emplace_back([all]() -> Result<> {
      for (const auto& step : all) TRY(step());
      return {};
    });
  }
  void step(std::function<Result<>()> outside) { steps_.push_back(std::move(outside)); }
  std::size_t steps() const { return steps_.size(); }
  std::int64_t pid() const { return pid_; }

  // The next step; it begins when those before are done.
  void go() {
    const std::scoped_lock lock(mutex_);
    ++allowed_;
    changed_.notify_all();
  }
  bool is_idle() {
    const std::scoped_lock lock(mutex_);
    return done_ == allowed_;
  }
  // Of the first step that failed; what would have followed was left out.
  Result<> result() {
    const std::scoped_lock lock(mutex_);
    return result_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || done_ < allowed_; });
      if (done_ == allowed_) return;
      if (result_.ok()) {
        lock.unlock();
        Result<> result = steps_[done_]();
        if (!result.ok()) session_->rollback();
        lock.lock();
        result_ = std::move(result);
      }
      ++done_;
    }
  }

  std::unique_ptr<store::Session> session_;
  std::int64_t pid_ = 0;
  std::vector<std::function<Result<>()>> steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t allowed_ = 0;
  std::size_t done_ = 0;
  Result<> result_;
  bool stopping_ = false;
  std::thread thread_;
};

class BlobInterleavingTest : public BlobTest {
 protected:
  void SetUp() override {
    BlobTest::SetUp();
    auto watcher = database_->connect_reader();
    CHECK_OK(watcher);
    watcher_ = *std::move(watcher);
  }
  void TearDown() override {
    actors_.clear();
    watcher_.reset();
    BlobTest::TearDown();
  }

  bool waits_for_a_lock(const Actor& actor) {
    if (actor.pid() == 0) return false;
    static constexpr Sql kWaits{"SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1"};
    const store::Param pid[] = {actor.pid()};
    const Result<Rows> rows = watcher_->run(kWaits, pid);
    CHECK_OK(rows);
    return (*rows)[0].get<std::int64_t>(0) > 0;
  }
  void settle(Actor& actor) {
    while (!actor.is_idle() && !waits_for_a_lock(actor)) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  void run(std::span<Actor* const> actors, const std::vector<int>& order) {
    for (const int who : order) {
      actors[static_cast<std::size_t>(who)]->go();
      settle(*actors[static_cast<std::size_t>(who)]);
    }
    for (Actor* actor : actors) {
      while (!actor->is_idle()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  // What a run of actors has: a blob that holder 1 refers to, and a put of the same bytes.
  struct Scene {
    std::string bytes;
    BlobId id;
    Put put;
    Judgement judgement;
    bool inherited = true;
  };
  using Cast = std::function<void(Scene&)>;

  void add_putter(Scene& scene, Actor& actor) {
    auto stored = std::make_shared<Stored>();
    auto discard = [this, &scene, stored]() -> Result<> {
      if (!stored->adopted) return {};
      return blobs_->backend().remove(std::span(&scene.put.place, 1));
    };
    actor.transaction({[&scene, stored](Tx& tx) -> Result<> {
                         const Put* one = &scene.put;
                         TRY_ASSIGN(const auto all, store_blobs(tx, std::span(&one, 1)));
                         *stored = all[0];
                         return {};
                       },
                       [stored](Tx& tx) -> Result<> {
                         TRY(tx.exec(kHold, 2, stored->id));
                         return {};
                       }},
                      discard);
  }
  void add_inheritor(Scene& scene, Actor& actor) {
    actor.transaction({[&scene](Tx& tx) -> Result<> {
                         const Result<> kept = keep_blobs(tx, std::span(&scene.id, 1));
                         if (!kept.ok() && kept.error().kind() == Errc::Missing) {
                           scene.inherited = false;
                           return {};
                         }
                         return kept;
                       },
                       [&scene](Tx& tx) -> Result<> {
                         if (scene.inherited) TRY(tx.exec(kHold, 3, scene.id));
                         return {};
                       }});
  }
  void add_deleter(Actor& actor) {
    actor.transaction({[](Tx& tx) { return release(tx, 1); }});
  }
  void add_sweeper(Scene& scene, Actor& actor) {
    Judgement& judgement = scene.judgement;
    actor.transaction({[&](Tx& tx) { return judgement.read(tx); },
                       [&](Tx& tx) { return judgement.lock(tx); },
                       [&](Tx& tx) { return judgement.remove(tx, kDeleteUnreferenced); },
                       [&](Tx& tx) { return judgement.note(tx); }});
    actor.step([this]() -> Result<> {
      TRY(sweep(*blobs_, kDeleteUnreferenced));
      return {};
    });
  }

  // Runs every order of the actors' steps, or every n-th.
  void run_all(const Cast& cast, int every = 1) {
    std::vector<int> order;
    int number = 0;
    do {
      Scene scene;
      scene.bytes = bytes_of(kLarge, static_cast<std::uint64_t>(number));
      scene.id = put_and_hold(1, scene.bytes).id;
      scene.put = put(scene.bytes);
      on_stage_ = 0;
      cast(scene);
      std::vector<Actor*> actors;
      for (std::size_t i = 0; i < on_stage_; ++i) actors.push_back(actors_[i].get());
      if (order.empty()) {
        for (std::size_t i = 0; i < actors.size(); ++i) {
          order.insert(order.end(), actors[i]->steps(), static_cast<int>(i));
        }
      }
      run(actors, order);
      std::string trace;
      for (const int who : order) trace += static_cast<char>('0' + who);
      for (std::size_t i = 0; i < actors.size(); ++i) {
        const Result<> result = actors[i]->result();
        ASSERT_TRUE(result.ok()) << trace << ": actor " << i << ": " << result.error().message();
      }
      ASSERT_NO_FATAL_FAILURE(expect_sound(scene, trace));
      ++number;
    } while (advance(order, every));
    RecordProperty("orders", number);
    EXPECT_GE(number, 2);
  }
  static bool advance(std::vector<int>& order, int steps) {
    for (int i = 0; i < steps; ++i) {
      if (!std::next_permutation(order.begin(), order.end())) return false;
    }
    return true;
  }

  // What is referred to can be read; when nothing refers to it any more, everything goes.
  void expect_sound(const Scene& scene, const std::string& trace) {
    std::vector<std::int64_t> holders;
    for (const std::int64_t key : {1, 2, 3}) {
      const auto held = readers_->run([key](Tx& tx) { return tx.find_value<BlobId>(kHeld, key); });
      ASSERT_TRUE(held.ok());
      if (*held) holders.push_back(key);
    }
    sweep_all();
    for (const std::int64_t key : holders) {
      ASSERT_TRUE(contents(blob_of(key)) == scene.bytes) << trace << ": holder " << key;
      release_holder(key);
    }
    // A put that nobody stored would stay until its session is dead.
    sweep_all();
    ASSERT_EQ(rows(), 0) << trace;
    std::vector<std::string> left = files();
    std::erase(left, scene.put.place);
    ASSERT_TRUE(left.empty()) << trace << ": " << left[0];
    CHECK_OK(blobs_->backend().remove(std::span(&scene.put.place, 1)));
  }

  Actor& add() {
    if (on_stage_ == actors_.size()) actors_.push_back(std::make_unique<Actor>(*database_));
    Actor& actor = *actors_[on_stage_++];
    actor.forget();
    return actor;
  }

  std::vector<std::unique_ptr<Actor>> actors_;
  std::size_t on_stage_ = 0;
  std::unique_ptr<store::Session> watcher_;
};

TEST_P(BlobInterleavingTest, ADeleterAndASweeper) {
  run_all([&](Scene& scene) {
    add_deleter(add());
    add_sweeper(scene, add());
  });
}

TEST_P(BlobInterleavingTest, APutterOfTheSameBytesAndASweeper) {
  run_all([&](Scene& scene) {
    release_holder(1);
    add_putter(scene, add());
    add_sweeper(scene, add());
  });
}

TEST_P(BlobInterleavingTest, APutterOfTheSameBytesAndADeleter) {
  run_all([&](Scene& scene) {
    add_putter(scene, add());
    add_deleter(add());
  });
}

TEST_P(BlobInterleavingTest, AnInheritorAndASweeper) {
  run_all([&](Scene& scene) {
    release_holder(1);
    add_inheritor(scene, add());
    add_sweeper(scene, add());
  });
}

TEST_P(BlobInterleavingTest, APutterADeleterAndASweeper) {
  const int every = GetParam() == StoreKind::Sqlite ? 1 : 61;
  run_all(
      [&](Scene& scene) {
        add_putter(scene, add());
        add_deleter(add());
        add_sweeper(scene, add());
      },
      every);
}

TEST_P(BlobInterleavingTest, AnInheritorADeleterAndASweeper) {
  const int every = GetParam() == StoreKind::Sqlite ? 1 : 61;
  run_all(
      [&](Scene& scene) {
        add_inheritor(scene, add());
        add_deleter(add());
        add_sweeper(scene, add());
      },
      every);
}

// A process that was stopped for long goes on while others take its session for dead.
TEST_P(BlobInterleavingTest, APutterOfAnExpiredSessionAndASweeper) {
  std::vector<int> order;
  int named = 0;
  int refused = 0;
  do {
    const std::string bytes = bytes_of(kLarge, static_cast<std::uint64_t>(named + refused));
    Scene scene;
    scene.put = put(bytes);
    end_session(scene.put.session);
    on_stage_ = 0;
    add_putter(scene, add());
    Actor& sweeper = add();
    sweeper.transaction({[](Tx& tx) { return end_expired_sessions(tx); }});
    sweeper.step([this]() -> Result<> {
      TRY(sweep(*blobs_, kDeleteUnreferenced));
      return {};
    });
    if (order.empty()) {
      order.insert(order.end(), actors_[0]->steps(), 0);
      order.insert(order.end(), actors_[1]->steps(), 1);
    }
    Actor* const actors[] = {actors_[0].get(), actors_[1].get()};
    run(actors, order);
    ASSERT_TRUE(actors[1]->result().ok());
    const Result<> putter = actors[0]->result();
    sweep_all();
    if (putter.ok()) {
      ASSERT_TRUE(contents(blob_of(2)) == bytes);
      release_holder(2);
      ++named;
    } else {
      ASSERT_EQ(putter.error().kind(), Errc::Stale) << putter.error().message();
      ++refused;
    }
    sweep_all();
    ASSERT_TRUE(files().empty()) << files()[0];
    ASSERT_EQ(rows(), 0);
    (void)blobs_->renew();  // learns that it is dead; the next put begins another
  } while (advance(order, 1));
  EXPECT_GT(named, 0);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, BlobInterleavingTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::blob

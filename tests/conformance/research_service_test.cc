// The service on every store: polls that wait, runs of the assigner, reports as they come.
#include <gmock/gmock.h>

#include "conformance/engine_fixture.h"
#include "conformance/research_fixture.h"
#include "research/service.h"

namespace quern::research {
namespace {

using testing::SizeIs;

// Real time: nothing here waits for a lease.
class ResearchServiceTest : public ResearchTest {
 protected:
  void SetUp() override {
    ResearchTest::SetUp();
    loop_ = std::make_unique<queue::LoopThread>();
    ServiceOptions options;
    options.look_ms = 20;
    options.tick_ms = 50;
    ServiceParts parts{
        loop_->loop(), *writer_, *readers_,
        [this](std::string_view name, boost::json::object) { events_ += std::string(name) + " "; }};
    service_ = std::make_unique<Service>(std::move(parts), options);
  }
  void TearDown() override {
    stop();
    loop_->run([this] { service_.reset(); });
    loop_.reset();
    ResearchTest::TearDown();
  }
  void start() {
    loop_->run([this] { service_->start(); });
  }
  void stop() {
    loop_->run_task([this]() -> net::Task<> { return service_->stop(); });
  }

  using Waited = Result<std::optional<WorkItem>>;
  static net::Task<> poll_task(Service* service, std::int64_t wait_ms,
                               std::shared_ptr<std::promise<Waited>> done) {
    WorkOrder order;
    order.researcher = "ann";
    order.wait_ms = wait_ms;
    Waited waited = co_await service->wait_for_work(std::move(order));
    done->set_value(std::move(waited));
  }
  std::future<Waited> poll(std::int64_t wait_ms) {
    auto done = std::make_shared<std::promise<Waited>>();
    std::future<Waited> future = done->get_future();
    loop_->run(
        [&] { loop_->loop().spawn("poll", poll_task(service_.get(), wait_ms, std::move(done))); });
    return future;
  }
  static net::Task<> report_task(Service* service, std::string body, Result<ReportAnswer>* answer) {
    *answer = co_await service->report(std::move(body));
  }
  Result<ReportAnswer> tell(const std::string& body) {
    Result<ReportAnswer> answer = Error{Errc::Internal, "not run"};
    loop_->run_task([&]() -> net::Task<> { return report_task(service_.get(), body, &answer); });
    return answer;
  }
  static net::Task<> give_back_task(Service* service, std::string* id) {
    const Result<> given = co_await service->give_back(*id);
    CHECK_OK(given);
  }
  static std::string body_of(const WorkItem& item, std::size_t clip) {
    return fmt::format(R"({{"lease_id":"{}","episode":{},"clip":{},"offsets_ns":[5]}})",
                       item.lease.id, item.episode.id, item.clips[clip].id);
  }

  std::string events_;  // of the loop
  std::unique_ptr<queue::LoopThread> loop_;
  std::unique_ptr<Service> service_;
};

TEST_P(ResearchServiceTest, APollThatWaitsHearsOfWhatIsCuratedMeanwhile) {
  start();
  std::future<Waited> waited = poll(kPollMsMax);
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 3);
  loop_->run([this] { service_->poke(); });
  ASSERT_EQ(waited.wait_for(queue::kPatience), std::future_status::ready);
  const Waited item = waited.get();
  ASSERT_TRUE(item.ok()) << item.error().message();
  ASSERT_TRUE(item->has_value());
  EXPECT_THAT((*item)->clips, SizeIs(3));
}

TEST_P(ResearchServiceTest, APollHearsOfWhatAnotherServerOffers) {
  start();
  std::future<Waited> waited = poll(kPollMsMax);
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 3);
  assign_all();  // by somebody else: nothing here was poked
  ASSERT_EQ(waited.wait_for(queue::kPatience), std::future_status::ready);
  EXPECT_TRUE((*waited.get()).has_value());
}

TEST_P(ResearchServiceTest, APollThatNobodyServesEndsWithNothing) {
  start();
  std::future<Waited> waited = poll(30);
  ASSERT_EQ(waited.wait_for(queue::kPatience), std::future_status::ready);
  EXPECT_FALSE((*waited.get()).has_value());
  EXPECT_EQ(status().researchers, 1);
}

TEST_P(ResearchServiceTest, AStopEndsThePollsThatWait) {
  start();
  std::future<Waited> waited = poll(kPollMsMax);
  stop();
  ASSERT_EQ(waited.wait_for(queue::kPatience), std::future_status::ready);
  EXPECT_FALSE((*waited.get()).has_value());
}

TEST_P(ResearchServiceTest, AReportIsStoredAndTold) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 2);
  assign_all();
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  const Result<ReportAnswer> answer = tell(body_of(*item, 0));
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_TRUE(answer->reported.stored);
  EXPECT_TRUE(answer->reported.extended);
  EXPECT_FALSE(tell(body_of(*item, 0))->reported.stored);
  loop_->run([this] { EXPECT_EQ(events_, "research.finding "); });
  EXPECT_THAT(results(), SizeIs(1));
}

TEST_P(ResearchServiceTest, B13_WhatCannotBeTakenIsRefusedTwiceThenAcknowledged) {
  const std::string bodies[] = {"no JSON", R"({"episode":1,"clip":2,"lease_id":"none"})",
                                R"({"episode":1,"clip":99999})"};
  for (const std::string& body : bodies) {
    for (int tries = 1; tries < kRefusedTries; ++tries) {
      const Result<ReportAnswer> answer = tell(body);
      ASSERT_FALSE(answer.ok()) << body;
      EXPECT_NE(answer.error().message(), "");
    }
    const Result<ReportAnswer> last = tell(body);
    ASSERT_TRUE(last.ok()) << body;
    EXPECT_TRUE(last->dead_letter);
    EXPECT_NE(last->reason, "");
  }
  EXPECT_EQ(status().dead_letters, 3);
}

TEST_P(ResearchServiceTest, AnItemThatIsGivenBackIsOpenAgain) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 2);
  start();
  std::future<Waited> waited = poll(kPollMsMax);
  ASSERT_EQ(waited.wait_for(queue::kPatience), std::future_status::ready);
  const std::optional<WorkItem> item = *waited.get();
  ASSERT_TRUE(item);
  std::string id = item->lease.id;
  loop_->run_task([&]() -> net::Task<> { return give_back_task(service_.get(), &id); });
  EXPECT_EQ(expiry_of(item->lease.id), 0);
  std::future<Waited> next = poll(kPollMsMax);
  ASSERT_EQ(next.wait_for(queue::kPatience), std::future_status::ready);
  const std::optional<WorkItem> again = *next.get();
  ASSERT_TRUE(again);
  EXPECT_EQ(pairs_of(*again), pairs_of(*item));
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchServiceTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research

// A dataset that is canceled, or whose server stops, while a server elsewhere sends nothing more:
// it ends all the same, keeps what came, and a retry goes on there.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "conformance/fileset_site.h"

namespace quern::fileset {
namespace {

using support::Fault;
using testing::SizeIs;

constexpr std::int64_t kBytes = 1'000'000;
constexpr std::int64_t kCome = 600'000;  // before the server falls silent

class FilesetCancelTest : public FilesetSiteTest {
 protected:
  const std::string& file() { return site_.names()[0]; }
  void fall_silent(Fault::Kind kind) {
    Fault fault;
    fault.kind = kind;
    fault.times = 1000;  // until it is cleared
    fault.after = kCome;
    fault.drip_ms = 1000;
    site_.files().add_fault(file(), fault);
  }
  std::filesystem::path service_folder() { return folder_ / "datasets"; }
  std::filesystem::path part_of(tree::JobId job) {
    return service_folder() / fmt::format("{}", job) / "1.part";
  }
  // Bytes are there, and no end in sight; more of them may be on their way. 0: none came.
  std::int64_t bytes_begun(tree::JobId job) {
    std::uintmax_t bytes = 0;
    (void)queue::eventually([&] {
      std::error_code none;
      const std::uintmax_t seen = std::filesystem::file_size(part_of(job), none);
      bytes = none ? 0 : seen;
      return bytes > 0;
    });
    return static_cast<std::int64_t>(bytes);
  }
  std::int64_t bytes_left(tree::JobId job) {
    return static_cast<std::int64_t>(std::filesystem::file_size(part_of(job)));
  }
  // Not satisfied with what an earlier one has kept.
  tree::JobId ask() {
    RequestOptions options;
    options.force_recrawl = true;
    return begin(order_of(site_.url(), options)).id;
  }
  void cancel(tree::JobId job) {
    CHECK_OK(
        writer_->run(store::LaneKey{}, [job](store::Tx& tx) { return tree::cancel_job(tx, job); }));
  }
  static net::Task<> forget_task(FilesetCancelTest* self, tree::JobId job, Result<>* forgotten) {
    *forgotten = co_await self->service_->forget(job);
  }
  // The offset that the last request for the file asked for.
  std::int64_t last_offset() { return site_.files().requests(file()).back().offset; }

  support::DatasetSite site_{{kBytes, 10}};
};

TEST_P(FilesetCancelTest, ADownloadUnderWayEndsAndARetryGoesOnWithIt) {
  for (const Fault::Kind kind : {Fault::Kind::Hang, Fault::Kind::Drip}) {
    site_.files().forget_requests();
    fall_silent(kind);
    const tree::JobId job = ask();
    const std::int64_t begun = bytes_begun(job);
    ASSERT_GT(begun, 0);
    cancel(job);
    const Shown shown = finish(job);
    EXPECT_EQ(shown.row.status, "canceled");
    ASSERT_THAT(shown.files, SizeIs(2));
    EXPECT_EQ(shown.files[0].file.status, "canceled");
    const std::int64_t left = bytes_left(job);
    EXPECT_GE(left, begun);
    site_.files().clear_faults();
    const Result<tree::Job> again = retry(job);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(finish(again->id).row.status, "success");
    EXPECT_EQ(last_offset(), left) << "what had come was asked for again";
    EXPECT_TRUE(queue::eventually([&] { return !std::filesystem::exists(part_of(job)); }));
  }
}

TEST_P(FilesetCancelTest, AServerThatStopsKeepsWhatCame) {
  fall_silent(Fault::Kind::Hang);
  const tree::JobId job = ask();
  const std::int64_t begun = bytes_begun(job);
  ASSERT_GT(begun, 0);
  stop();
  site_.files().clear_faults();
  start();
  EXPECT_EQ(finish(job).row.status, "success");
  EXPECT_GE(last_offset(), begun);
}

TEST_P(FilesetCancelTest, ARequestThatIsForgottenLeavesNothingOnTheDisk) {
  fall_silent(Fault::Kind::Hang);
  const tree::JobId job = ask();
  ASSERT_GT(bytes_begun(job), 0);
  Result<> forgotten;
  loop_->run_task([&]() -> net::Task<> { return forget_task(this, job, &forgotten); });
  ASSERT_TRUE(forgotten.ok()) << forgotten.error().message();
  EXPECT_FALSE(std::filesystem::exists(part_of(job)));
}

// A death may leave more than the request does.
TEST_P(FilesetCancelTest, PartsThatNobodyGoesOnWithAreCleared) {
  fall_silent(Fault::Kind::Hang);
  const tree::JobId job = ask();
  ASSERT_GT(bytes_begun(job), 0);
  cancel(job);
  finish(job);
  stop();
  const std::filesystem::path folder = part_of(job).parent_path();
  ASSERT_TRUE(std::filesystem::exists(part_of(job)));
  std::ofstream(folder / "2.part") << "left by a death";
  std::filesystem::create_directories(service_folder() / "4711");
  std::ofstream(service_folder() / "4711" / "1.part") << "of a request that is gone";
  start();
  EXPECT_TRUE(std::filesystem::exists(part_of(job)));
  EXPECT_FALSE(std::filesystem::exists(folder / "2.part"));
  EXPECT_FALSE(std::filesystem::exists(service_folder() / "4711"));
  stop();
  constexpr static store::Sql kAge{"UPDATE fileset_request SET ended_us = ended_us - $1"};
  CHECK_OK(writer_->run(store::LaneKey{},
                        [](store::Tx& tx) { return tx.exec(kAge, kPartsKeptUs + 1); }));
  start();
  EXPECT_FALSE(std::filesystem::exists(folder)) << "it waited for a retry long enough";
}

INSTANTIATE_TEST_SUITE_P(Stores, FilesetCancelTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::fileset

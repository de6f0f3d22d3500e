// Goal: whatever the instant at which a process that downloads is killed, the file ends whole and
// verified, and no byte that was noted as synced is asked for again.
// Method: download_mill (programs/) is killed at each durable write and each crash point of its
// life (fileset.part.synced, fileset.part.noted, fileset.part.verified), and once more while it
// goes on after a kill. It tells the server how many bytes it found noted, so that the server's
// record shows what was asked for beside what was there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/faulty_files.h"
#include "support/kill_sweep.h"

namespace quern {
namespace {

using support::FaultyFiles;
using support::FaultyRequest;
using support::Ran;
using support::SweepReport;
using support::World;

constexpr std::int64_t kBytes = 1'000'000;
// Of the made-up bytes of seed 1.
constexpr char kSha256[] = "f6b3c0f63a1dbd73dfbc631bb6c7669c23671baae15878f495d2ec7c5626fe98";

class DownloadSweepTest : public testing::Test {
 protected:
  Result<std::string> mill(World& world, const std::string& order) {
    const std::string path = fmt::format("/world{}", ++worlds_);
    server_.put(path, {.size = kBytes, .seed = 1});
    if (order == "stops") {
      server_.add_fault(path, {.kind = support::Fault::Kind::Cut, .after = 450'000});
    }
    TRY_ASSIGN(const Ran ran,
               world.run_to_end({"download_mill",
                                 {world.folder().string(), server_.url(path), kSha256, order},
                                 {},
                                 {}}));
    if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
    for (const FaultyRequest& request : server_.requests(path)) {
      const std::string synced = request.header("X-Synced");
      const std::string range = synced == "0" ? "" : "bytes=" + synced + "-";
      if (request.header("Range") != range) {
        return Error{Errc::Corrupt, fmt::format("{} bytes were there, \"{}\" was asked for", synced,
                                                request.header("Range"))};
      }
    }
    return ran.standard_output;
  }

  FaultyFiles server_;
  std::atomic<int> worlds_ = 0;
};

const std::string kOutcome = fmt::format("verified-local {} {} \"one\"\n", kBytes, kSha256);

TEST_F(DownloadSweepTest, EndsLikeTheCalmRun) {
  const SweepReport report = support::kill_sweep(
      [this](World& world) { return mill(world, "right"); }, {.parallel = 2, .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, kOutcome);
  EXPECT_GE(report.writes, 10);
  for (const char* point : {"fileset.part.synced", "fileset.part.noted", "fileset.part.verified"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

// The first start is cut off and dies; the second one, which goes on, is killed in its turn.
TEST_F(DownloadSweepTest, AStartThatGoesOnCanBeKilledToo) {
  const SweepReport report =
      support::kill_sweep([this](World& world) { return mill(world, "stops"); },
                          {.parallel = 2, .armed_start = 2, .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, kOutcome);
}

// The test is itself proven: here each start forgets what was there.
TEST_F(DownloadSweepTest, AProgramThatForgetsIsCaught) {
  const SweepReport report =
      support::kill_sweep([this](World& world) { return mill(world, "forgetful"); },
                          {.parallel = 2, .pace_varies = true, .failures_max = 3});
  EXPECT_EQ(report.outcome, kOutcome) << "undisturbed it is right; only a kill tells";
  EXPECT_FALSE(report.failures.empty()) << report.text();
}

}  // namespace
}  // namespace quern

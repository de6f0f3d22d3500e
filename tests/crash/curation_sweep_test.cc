// Goal: whatever the instant at which `quern episodes add` is killed, the same command given again
// ends as if nothing had happened: each entry of the feed is one episode, with its sound as one
// file. Method: the program is killed at each durable write and at each crash point
// (curation.piece, curation.page, curation.media, curation.media.failed, curation.source.failed,
// curation.files, curation.finished, research.media.arrived, and those of the store, the blobs and
// the queue).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "support/feed_site.h"
#include "support/kill_sweep.h"

namespace quern::crash {
namespace {

namespace json = boost::json;
using support::Environment;
using support::FeedSite;
using support::ProgramOptions;
using support::Ran;
using support::SweepReport;
using support::World;
using testing::HasSubstr;

constexpr char kNever[] = "3600000";

Environment environment_of(const std::filesystem::path& folder) {
  return {{"QUERN_DATA", (folder / "data").string()},
          {"QUERN_SEARCH_SETTLE", kNever},
          {"QUERN_SEARCH_DELAY", kNever},
          {"QUERN_FREE_MIN", "0"},
          {"QUERN_STEPS", "none"},
          {"QUERN_ALLOW_PRIVATE", "*"},
          {"QUERN_CURATE_AT_ONCE", "1"},  // what is in flight is one file
          {"QUERN_CURATE_GAP", "0"},
          {"QUERN_FEED_CHECK", "86400"},
          {"QUERN_LOG_LEVEL", "warn"}};
}

Result<std::string> run(const std::filesystem::path& folder, std::vector<std::string> arguments) {
  TRY_ASSIGN(const Ran ran,
             support::run_program({"quern", std::move(arguments), environment_of(folder), {}}));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

// A line for each, without what differs from run to run.
Result<std::string> tell(const std::filesystem::path& folder, const std::string& what) {
  TRY_ASSIGN(const std::string listed, run(folder, {what, "list", "--json"}));
  std::vector<std::string> lines;
  std::istringstream in(listed);
  for (std::string line; std::getline(in, line);) {
    const json::object one = json::parse(line).as_object();
    lines.push_back(fmt::format("{} {} {} {} {}\n", json::serialize(one.at("title")),
                                json::serialize(one.at("media")), json::serialize(one.at("bytes")),
                                json::serialize(one.at("sha256")),
                                json::serialize(one.at("problem"))));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ""));
}

Result<std::string> curate(World& world) {
  FeedSite site;
  for (int i = 1; i <= 4; ++i) site.put_sound(fmt::format("/{}.wav", i), i);
  site.put_feed({{"g1", "One", "1.wav"}, {"g2", "Two", "2.wav"}}, "/feed.xml", "feed2.xml");
  site.put_feed({{"g3", "Three", "3.wav"}, {"g4", "Gone", "gone.wav"}}, "/feed2.xml");
  const ProgramOptions options{
      "quern",
      {"episodes", "add", site.url(), site.url("/4.wav"), site.url("/nowhere.wav"), "--json"},
      environment_of(world.folder()),
      {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  // 1: some of it could not be had.
  if (!ran.status.exited_with(1)) {
    return Error{Errc::Internal, ran.standard_error + ran.standard_output};
  }
  TRY_ASSIGN(std::string told, tell(world.folder(), "episodes"));
  TRY_ASSIGN(const std::string job, run(world.folder(), {"job", "1", "--json"}));
  told += fmt::format("roots {}\n", json::serialize(json::parse(job).at("roots")));
  TRY_ASSIGN(const std::string feeds, run(world.folder(), {"episodes", "feeds"}));
  told += fmt::format("feeds {}\n", std::count(feeds.begin(), feeds.end(), '\n'));
  // One file is in flight when it dies.
  std::size_t asked = 0;
  for (int i = 1; i <= 4; ++i) asked += site.times(fmt::format("/{}.wav", i));
  const std::size_t deaths = world.starts() - 1;
  if (asked > 4 + deaths) told += fmt::format("{} requests for 4 files\n", asked);
  TRY_ASSIGN(const std::string checked, run(world.folder(), {"check", "--json"}));
  return told + json::serialize(json::parse(checked).at("clean"));
}

TEST(CurationSweepTest, ACurationEndsLikeTheCalmOne) {
  const SweepReport report = support::kill_sweep(curate, {.parallel = 2,
                                                          .visits_per_point_max = 2,
                                                          .every = 3,
                                                          .kills_max = support::kKillsOfSlowSweep,
                                                          .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr("roots 4\nfeeds 1\n"));
  EXPECT_THAT(report.outcome, HasSubstr("\ntrue"));
  for (const char* point :
       {"curation.piece", "curation.page", "curation.media", "curation.media.failed",
        "curation.source.failed", "curation.finished"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

Result<std::string> curate_files(World& world) {
  const std::filesystem::path clip = world.folder() / "clip.wav";
  std::ofstream(clip) << support::small_wav(7);
  const ProgramOptions options{
      "quern", {"clips", "add", clip.string()}, environment_of(world.folder()), {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  TRY_ASSIGN(const std::string told, tell(world.folder(), "clips"));
  TRY_ASSIGN(const std::string checked, run(world.folder(), {"check", "--json"}));
  return told + json::serialize(json::parse(checked).at("clean"));
}

TEST(CurationSweepTest, AFileBecomesOneClip) {
  const SweepReport report =
      support::kill_sweep(curate_files, {.parallel = 2,
                                         .visits_per_point_max = 2,
                                         .every = 3,
                                         .kills_max = support::kKillsOfSlowSweep,
                                         .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr("\"clip\" \"ready\""));
  EXPECT_THAT(report.outcome, HasSubstr("\ntrue"));
  for (const char* point : {"curation.files", "research.media.arrived"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
}

}  // namespace
}  // namespace quern::crash

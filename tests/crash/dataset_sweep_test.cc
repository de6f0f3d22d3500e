// Goal: whatever the instant at which `quern dataset` is killed, the same command given again ends
// as if nothing had happened: the same result, the same bytes; and by the server's own log no file
// that was verified is asked for again.
// Method: the program is killed at each durable write and at each crash point (fileset.resolved,
// fileset.file.kept, fileset.finished, and those of downloads, the archive, the store, the blobs
// and the queue).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "support/dataset_site.h"
#include "support/kill_sweep.h"

namespace quern::crash {
namespace {

namespace json = boost::json;
using support::DatasetSite;
using support::Environment;
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
          {"QUERN_DATASET_AT_ONCE", "1"},  // what is in flight is one file
          {"QUERN_LOG_LEVEL", "warn"}};
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// A line for each value, without times and places, which differ from run to run; and without the
// digests of the landing page, in which its own port stands.
void tell(const json::value& value, const std::string& path, std::string& into) {
  static constexpr std::string_view kVary[] = {
      "terminal_dt",      "datetime", "warc_offset", "warc_path", "warc_csize",
      "created_us",       "ended_us", "bytes",       "tries",     "md5hex",
      "terminal_sha1hex", "sha1hex",  "sha256hex",   "sha1b32",   "surt"};
  if (const json::array* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      tell((*list)[i], fmt::format("{}[{}]", path, i), into);
    }
  } else if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      if (std::ranges::find(kVary, std::string_view(member.key())) != std::end(kVary)) continue;
      tell(member.value(), path + "." + std::string(member.key()), into);
    }
  } else {
    into += path + " " + json::serialize(value) + "\n";
  }
}

Result<std::string> run(const std::filesystem::path& folder, std::vector<std::string> arguments) {
  TRY_ASSIGN(const Ran ran,
             support::run_program({"quern", std::move(arguments), environment_of(folder), {}}));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

Result<std::string> keep(World& world) {
  DatasetSite site({70'000, 0, 20'000, 5});
  const ProgramOptions options{
      "quern", {"dataset", site.url(), "--json"}, environment_of(world.folder()), {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(0))
    return Error{Errc::Internal, ran.standard_error + ran.standard_output};
  std::string faults;
  // One file is in flight when it dies.
  const std::size_t deaths = world.starts() - 1;
  std::size_t asked = 0;
  for (const std::string& name : site.names()) asked += site.files().requests(name).size();
  if (asked > site.names().size() + deaths) {
    faults += fmt::format("{} requests for {} files\n", asked, site.names().size());
  }
  TRY_ASSIGN(const std::string shown, run(world.folder(), {"dataset", "show", "1", "--json"}));
  boost::system::error_code failed;
  const json::value value = json::parse(shown, failed);
  if (failed) return Error{Errc::Internal, shown};
  std::string told;
  tell(value, "", told);
  TRY_ASSIGN(const std::string checked, run(world.folder(), {"check", "--json"}));
  return replaced(told, site.files().place(), "SITE") + faults +
         json::serialize(json::parse(checked).at("clean"));
}

TEST(DatasetSweepTest, ADatasetEndsLikeTheCalmOne) {
  const SweepReport report = support::kill_sweep(keep, {.parallel = 2,
                                                        .visits_per_point_max = 2,
                                                        .every = 2,
                                                        .kills_max = support::kKillsOfSlowSweep,
                                                        .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(".result.status \"success\"\n"));
  EXPECT_THAT(report.outcome, HasSubstr("\ntrue"));
  for (const char* point : {"fileset.resolved", "fileset.file.kept", "fileset.finished"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

}  // namespace
}  // namespace quern::crash

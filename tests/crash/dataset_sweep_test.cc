// Goal: whatever the instant at which `quern dataset` is killed, the same command given again ends
// as if nothing had happened: the same result, the same bytes; and by the server's own log no file
// that was verified is asked for again. So for files that enter a collection, for uploads to an
// item, for a retry that goes on with a part, and for a dataset that is deleted with it.
// Method: the program is killed at each durable write and at each crash point (fileset.resolved,
// fileset.file.kept, fileset.finished, and those of downloads, the archive, the store, the blobs
// and the queue).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "support/archive_site.h"
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
constexpr std::int64_t kCome = 300'000;         // of a file that breaks off
constexpr std::size_t kKillsOfShortSweep = 10;  // make sweep takes all instants

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

Environment joined(Environment environment, const Environment& more) {
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

Result<std::string> run(const std::filesystem::path& folder, std::vector<std::string> arguments,
                        const Environment& more = {}) {
  TRY_ASSIGN(const Ran ran,
             support::run_program(
                 {"quern", std::move(arguments), joined(environment_of(folder), more), {}}));
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

// The story of a job and whether all is in order, with the place of the site left out.
Result<std::string> told_of(const std::filesystem::path& folder, const std::string& job,
                            const std::string& place) {
  TRY_ASSIGN(const std::string shown, run(folder, {"dataset", "show", job, "--json"}));
  boost::system::error_code failed;
  const json::value value = json::parse(shown, failed);
  if (failed) return Error{Errc::Internal, shown};
  std::string told;
  tell(value, "", told);
  TRY_ASSIGN(const std::string checked, run(folder, {"check", "--json"}));
  return replaced(told, place, "SITE") + checked;
}

std::string parts_in(const std::filesystem::path& folder) {
  std::string names;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder / "data" / "datasets", none)) {
    if (entry.is_regular_file()) names += entry.path().filename().string() + " ";
  }
  return "parts: " + names + "\n";
}

SweepReport short_sweep(const support::Scenario& scenario, int armed_start) {
  return support::kill_sweep(scenario, {.parallel = 2,
                                        .armed_start = armed_start,
                                        .visits_per_point_max = 2,
                                        .every = 2,
                                        .kills_max = kKillsOfShortSweep,
                                        .pace_varies = true});
}

// The second file breaks off, and is gone then: the request fails, and leaves a part.
Result<> fail_half_way(World& world, DatasetSite& site) {
  support::Fault cut;
  cut.kind = support::Fault::Kind::Cut;
  cut.after = kCome;
  site.files().add_fault(site.names()[1], cut);
  support::Fault gone;
  gone.nth = 2;
  gone.times = 1000;
  gone.status = 404;
  site.files().add_fault(site.names()[1], gone);
  const ProgramOptions options{
      "quern", {"dataset", site.url(), "--json"}, environment_of(world.folder()), {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(1)) return Error{Errc::Internal, ran.standard_error};
  site.files().clear_faults();
  site.files().forget_requests();
  return {};
}

Result<std::string> retry_half(World& world) {
  DatasetSite site({20'000, 400'000});
  TRY(fail_half_way(world, site));
  const ProgramOptions options{
      "quern", {"dataset", "retry", "1", "--json"}, environment_of(world.folder()), {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  std::string faults;
  if (!site.files().requests(site.names()[0]).empty()) faults += "a kept file was asked for\n";
  for (const support::FaultyRequest& request : site.files().requests(site.names()[1])) {
    if (request.offset < kCome) faults += "bytes that were there were asked for\n";
  }
  TRY_ASSIGN(const std::string told, told_of(world.folder(), "2", site.files().place()));
  return told + faults + parts_in(world.folder());
}

TEST(DatasetSweepTest, ARetryGoesOnWithThePart) {
  const SweepReport report = short_sweep(retry_half, 2);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(".result.status \"success\"\n"));
  EXPECT_THAT(report.outcome, HasSubstr("\"clean\":true"));
  EXPECT_THAT(report.outcome, HasSubstr("parts: \n"));
  for (const char* point : {"fileset.part.taking_over", "fileset.part.taken_over"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
}

Result<std::string> delete_all(World& world) {
  DatasetSite site({20'000, 400'000});
  TRY(fail_half_way(world, site));
  const ProgramOptions options{"quern", {"delete", "1"}, environment_of(world.folder()), {}};
  // Where the first one was killed behind its last write, there is nothing left to delete.
  TRY(world.run_to_end(options));
  TRY_ASSIGN(const std::string jobs, run(world.folder(), {"jobs", "--json"}));
  TRY_ASSIGN(const std::string checked, run(world.folder(), {"check", "--json"}));
  return "jobs: " + jobs + "\n" + checked + parts_in(world.folder());
}

TEST(DatasetSweepTest, ADeletedDatasetLeavesNothing) {
  const SweepReport report = short_sweep(delete_all, 2);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, testing::Not(HasSubstr("dataset")));
  EXPECT_THAT(report.outcome, HasSubstr("\"clean\":true"));
  EXPECT_THAT(report.outcome, HasSubstr("parts: \n"));
}

Result<std::string> upload(World& world) {
  DatasetSite site({20'000, 7});
  support::ArchiveSite archive;
  const Environment more = {{"IA_ACCESS_KEY", support::ArchiveSite::kAccessKey},
                            {"IA_SECRET_KEY", support::ArchiveSite::kSecretKey},
                            {"QUERN_ARCHIVE_S3", archive.s3()},
                            {"QUERN_ARCHIVE_BASE", archive.origin()}};
  const ProgramOptions options{
      "quern",
      {"dataset", site.url(), "--strategy", "archiveorg-fileset", "--json"},
      joined(environment_of(world.folder()), more),
      {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(0)) {
    return Error{Errc::Internal, ran.standard_error + ran.standard_output};
  }
  std::string uploaded;
  for (const auto& [name, item] : archive.items()) {
    for (const auto& [path, file] : item.files) {
      uploaded += fmt::format("{} {} {}\n", path, file.bytes.size(), file.sha1);
    }
  }
  TRY_ASSIGN(const std::string told, told_of(world.folder(), "1", site.files().place()));
  return told + uploaded + parts_in(world.folder());
}

TEST(DatasetSweepTest, AnItemIsUploadedAsInACalmRun) {
  const SweepReport report = short_sweep(upload, 1);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(".in_ia true\n"));
  EXPECT_THAT(report.outcome, HasSubstr("\"clean\":true"));
  EXPECT_THAT(report.outcome, HasSubstr("f1.bin 7 "));
  EXPECT_THAT(report.outcome, HasSubstr("parts: \n"));
}

Result<std::string> take_in(World& world) {
  DatasetSite site({20'000, 7});
  // By the key it is known again though it had ended when it was killed.
  const ProgramOptions options{"quern",
                               {"dataset", site.url(), "--ingest", "--json", "--key", "once"},
                               joined(environment_of(world.folder()), {{"QUERN_STEPS", "auto"}}),
                               {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  TRY_ASSIGN(const std::string files, run(world.folder(), {"tree", "--no-ids"}));
  TRY_ASSIGN(const std::string told, told_of(world.folder(), "1", site.files().place()));
  return told + replaced(files, site.files().place(), "SITE") + parts_in(world.folder());
}

TEST(DatasetSweepTest, FilesEnterTheirCollectionOnce) {
  const SweepReport report = short_sweep(take_in, 1);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(".result.status \"success\"\n"));
  EXPECT_THAT(report.outcome, HasSubstr("sub/f1.bin"));
  EXPECT_THAT(report.outcome, HasSubstr("\"clean\":true"));
}

}  // namespace
}  // namespace quern::crash

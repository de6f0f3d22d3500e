// The kill sweep: proof that a program ends the same, whatever the instant at which it is killed.
//
// A scenario is code that, in a fresh World, drives the program under test to the end of some work,
// starting it again whenever it dies, and returns the outcome as a text that two equal runs share
// (no ids, times or paths). The sweep runs it once calmly, which numbers the durable writes and
// crash points (base/crash.h) of the program's first start; then once for each of them, the program
// being killed with SIGKILL right there; and demands the calm outcome every time. docs/testing.md
// has more.
//
// Kills keep the page cache: they prove order, not that bytes were synced; support/file_order.h
// does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace quern::support {

// One operation per commit, so that a run numbers its writes like the one before.
inline constexpr char kBatchVariable[] = "QUERN_BATCH_OPS_MAX";
// A program that dies again and again would be started for ever.
inline constexpr int kStartsPerWorldMax = 20;
// Of the visits to one crash point, the first and the last ones are swept.
inline constexpr int kVisitsPerPointMax = 8;
// A broken program fails everywhere; the first failures tell it.
inline constexpr std::size_t kSweepFailuresMax = 50;
// What a scenario of seconds may cost: instants of one run, of several hundred.
inline constexpr std::size_t kKillsOfSlowSweep = 70;
inline constexpr char kSweepVariable[] = "QUERN_SWEEP";

// What one run of a scenario has: a folder of its own and the program under test.
class World {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }

  // Starts the program; one start of a world (the first unless SweepOptions says otherwise) is the
  // one that is killed.
  Result<std::shared_ptr<Program>> start(ProgramOptions options);
  // Starts it until it ends by itself: again after each SIGKILL.
  Result<Ran> run_to_end(const ProgramOptions& options,
                         std::chrono::milliseconds longest = kProgramPatience);
  int starts() const;
  // Whether a start was ordered to die and has not yet. A program that writes by the clock, too,
  // may come to the ordered instant later than the calm run did: then give it more to do.
  bool kill_pending() const;

 private:
  friend class Sweep;
  World() = default;
  void signal_current(int number) const;
  // Ends with SIGKILL among all starts; those that still run are killed first and do not count.
  int killed() const;

  TempFolder folder_;
  TempFolder notes_;  // beside the folder: a scenario may list what it made
  int armed_start_ = 1;
  Environment every_start_;
  Environment armed_;
  mutable std::mutex mutex_;  // guards programs_
  std::vector<std::shared_ptr<Program>> programs_;
};

using Scenario = std::function<Result<std::string>(World&)>;

struct SweepOptions {
  int parallel = 1;  // worlds at a time
  // Which start is numbered and killed. 2 sweeps a recovery: the scenario kills the first by
  // itself.
  int armed_start = 1;
  int visits_per_point_max = kVisitsPerPointMax;
  int every = 1;  // kills at each so-manieth write: for scenarios that take seconds
  // Of all instants so many are taken, evenly, from another one on each time; 0: all of them. With
  // QUERN_SWEEP=all in the environment (make sweep) it is all of them always.
  std::size_t kills_max = 0;
  // A program whose threads and children set the pace writes a little more in one run than in the
  // next. Instants that a run did not come to are then counted (report.unreached), and their
  // outcomes compared like all others.
  bool pace_varies = false;
  std::size_t failures_max = kSweepFailuresMax;
};

struct SweepReport {
  std::string outcome;  // of the calm run
  int writes = 0;       // durable writes of the calm run
  std::map<std::string, int> writes_by_kind;
  std::map<std::string, int> visits_by_point;
  int kills = 0;            // that hit
  int visits_left_out = 0;  // beyond visits_per_point_max
  int unreached = 0;        // where the pace varies: instants that a run did not come to
  int renumbered = 0;       // runs in which write k was of another kind than in the calm one
  std::vector<std::string> failures;

  std::string text() const;
};

// Prints what it swept. A test expects no failures, or, of a broken build, some.
SweepReport kill_sweep(const Scenario& scenario, const SweepOptions& options = {});

// SIGKILL from outside at random instants of the run, once or twice in each of `rounds` worlds.
// Prints the seed; batches are as in real life, so this also kills inside them.
SweepReport random_kills(const Scenario& scenario, int rounds, std::uint64_t seed);

}  // namespace quern::support

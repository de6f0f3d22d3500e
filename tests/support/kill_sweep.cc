#include "support/kill_sweep.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <random>
#include <thread>

#include "base/crash.h"
#include "io/file.h"
#include "support/crash_log.h"

namespace quern::support {
namespace {

constexpr std::size_t kCrashLogBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kQuotedBytesMax = 400;

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"{}", text.substr(0, kQuotedBytesMax),
                     text.size() > kQuotedBytesMax ? "…" : "");
}

// The first line in which two outcomes differ.
std::string difference(std::string_view calm, std::string_view got) {
  for (int line = 1; !calm.empty() || !got.empty(); ++line) {
    const std::string_view a = calm.substr(0, calm.find('\n'));
    const std::string_view b = got.substr(0, got.find('\n'));
    if (a != b) return fmt::format("line {}: calmly {}, now {}", line, quoted(a), quoted(b));
    calm.remove_prefix(std::min(a.size() + 1, calm.size()));
    got.remove_prefix(std::min(b.size() + 1, got.size()));
  }
  return "in a line end";
}

std::string counts_text(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

// One instant at which the program is to be killed.
struct Kill {
  std::string order;  // for QUERN_CRASH
  std::string label;  // for people
  int write = 0;      // else a visit to a point
  std::string kind;   // of the write, in the calm run
  std::string point;
  int visit = 0;
};

std::vector<Kill> kills_at_writes(const CrashLog& calm) {
  std::vector<Kill> kills;
  for (const LoggedWrite& write : calm.writes) {
    for (const char* when : {"before", "after"}) {
      Kill kill;
      kill.order = fmt::format("write:{}:{}", write.number, when);
      kill.label = fmt::format("{} write {} ({} {})", when, write.number, write.kind, write.detail);
      kill.write = write.number;
      kill.kind = write.kind;
      kills.push_back(std::move(kill));
    }
  }
  return kills;
}

void add_kills_at_points(const CrashLog& calm, const SweepOptions& options,
                         std::vector<Kill>& kills, SweepReport& report) {
  for (const auto& [point, visits] : calm.visits) {
    const int most = options.visits_per_point_max;
    const int first = (most + 1) / 2;
    for (int visit = 1; visit <= visits; ++visit) {
      if (visits > most && visit > first && visit <= visits - (most - first)) {
        ++report.visits_left_out;
        continue;
      }
      kills.push_back({fmt::format("point:{}:{}", point, visit),
                       fmt::format("at visit {} of {}", visit, point),
                       0,
                       {},
                       point,
                       visit});
    }
  }
}

}  // namespace

Result<std::shared_ptr<Program>> World::start(ProgramOptions options) {
  const int number = starts() + 1;
  if (number > kStartsPerWorldMax)
    return Error{Errc::Unavailable,
                 fmt::format("the program was started {} times in one world", kStartsPerWorldMax)};
  options.environment.insert(options.environment.end(), every_start_.begin(), every_start_.end());
  if (number == armed_start_)
    options.environment.insert(options.environment.end(), armed_.begin(), armed_.end());
  TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
  const std::scoped_lock lock(mutex_);
  programs_.push_back(program);
  return program;
}

Result<Ran> World::run_to_end(const ProgramOptions& options, std::chrono::milliseconds longest) {
  while (true) {
    TRY_ASSIGN(const std::shared_ptr<Program> program, start(options));
    TRY_ASSIGN(const io::ExitStatus status, program->wait(longest));
    if (status.killed_by(SIGKILL)) continue;
    return Ran{status, program->text(Output::Standard), program->text(Output::Error)};
  }
}

int World::starts() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(programs_.size());
}

bool World::kill_pending() const {
  const bool ordered = std::any_of(armed_.begin(), armed_.end(), [](const auto& variable) {
    return variable.first == kCrashVariable;
  });
  if (!ordered) return false;
  const std::scoped_lock lock(mutex_);
  const auto armed = static_cast<std::size_t>(armed_start_);
  return programs_.size() < armed || !programs_[armed - 1]->has_ended();
}

void World::signal_current(int number) const {
  const std::scoped_lock lock(mutex_);
  if (!programs_.empty()) CHECK_OK(programs_.back()->signal(number));
}

int World::killed() const {
  const std::scoped_lock lock(mutex_);
  int count = 0;
  for (const std::shared_ptr<Program>& program : programs_) {
    if (!program->has_ended()) {
      program->kill();
    } else if (program->wait()->killed_by(SIGKILL)) {
      ++count;
    }
  }
  return count;
}

// The runs of one sweep. Threads: run_all() runs several worlds at once.
class Sweep {
 public:
  Sweep(const Scenario& scenario, const SweepOptions& options)
      : scenario_(scenario), options_(options) {}

  SweepReport kill_everywhere() {
    const CrashLog calm = run_calmly();
    if (!report_.failures.empty()) return report_;
    report_.writes = static_cast<int>(calm.writes.size());
    report_.writes_by_kind = calm.writes_by_kind();
    report_.visits_by_point = calm.visits;
    if (calm.writes.empty()) {
      report_.failures.push_back("the calm run made no durable write: nothing to sweep");
      return report_;
    }
    std::vector<Kill> kills = kills_at_writes(calm);
    std::erase_if(kills, [this](const Kill& kill) { return kill.write % options_.every != 0; });
    add_kills_at_points(calm, options_, kills, report_);
    thin_out(kills);
    run_all(kills);
    return report_;
  }

  SweepReport kill_at_random(int rounds, std::uint64_t seed) {
    const auto begin = std::chrono::steady_clock::now();
    {
      World world;
      const Result<std::string> outcome = scenario_(world);
      if (!outcome.ok()) return failed("the calm run: " + outcome.error().message());
      report_.outcome = *outcome;
    }
    const std::chrono::duration<double> calm_s = std::chrono::steady_clock::now() - begin;
    std::mt19937_64 random(seed);
    for (int round = 1; round <= rounds && has_patience(); ++round)
      kill_one_at_random(round, calm_s, random);
    if (report_.kills == 0) return failed("no kill hit a running program");
    return report_;
  }

 private:
  SweepReport failed(std::string why) {
    report_.failures.push_back(std::move(why));
    return report_;
  }

  void thin_out(std::vector<Kill>& kills) {
    const char* wanted = ::getenv(kSweepVariable);
    const bool wants_all = wanted != nullptr && std::string_view(wanted) == "all";
    const std::size_t most = options_.kills_max;
    if (wants_all || most == 0 || kills.size() <= most) return;
    const std::size_t step = (kills.size() + most - 1) / most;
    const std::size_t first = std::random_device()() % step;
    std::vector<Kill> kept;
    for (std::size_t i = first; i < kills.size(); i += step) kept.push_back(kills[i]);
    std::printf("sweep: %zu of %zu instants, each %zuth from %zu on (%s=all: all)\n", kept.size(),
                kills.size(), step, first, kSweepVariable);
    kills = std::move(kept);
  }

  bool has_patience() {
    const std::scoped_lock lock(mutex_);
    return report_.failures.size() < options_.failures_max;
  }

  // Arms one start of a world and gives the path of its crash log.
  std::filesystem::path prepare(World& world, const Kill* kill) const {
    const std::filesystem::path log = world.notes_ / "crash_log";
    world.armed_start_ = options_.armed_start;
    world.every_start_ = {{kBatchVariable, "1"}};
    world.armed_ = {{kCrashLogVariable, log.native()}};
    if (kill != nullptr) world.armed_.push_back({kCrashVariable, kill->order});
    return log;
  }

  static CrashLog read_log(const std::filesystem::path& path) {
    const Result<std::string> text = io::read_file(path, kCrashLogBytesMax);
    if (!text.ok() && text.error().kind() == Errc::Missing) return {};
    CHECK_OK(text);
    return parse_crash_log(*text);
  }

  CrashLog run_calmly() {
    World world;
    const std::filesystem::path log = prepare(world, nullptr);
    const Result<std::string> outcome = scenario_(world);
    if (!outcome.ok()) {
      failed("the calm run: " + outcome.error().message());
      return {};
    }
    report_.outcome = *outcome;
    if (world.starts() < options_.armed_start)
      failed(fmt::format("the calm run never came to start {}", options_.armed_start));
    return read_log(log);
  }

  void run_all(const std::vector<Kill>& kills) {
    std::vector<std::string> failures(kills.size());
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> failed_runs{0};
    const auto work = [&] {
      while (failed_runs < options_.failures_max) {
        const std::size_t i = next++;
        if (i >= kills.size()) return;
        failures[i] = run_killed(kills[i]);
        if (!failures[i].empty()) ++failed_runs;
      }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < options_.parallel; ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    for (std::string& failure : failures) {
      if (!failure.empty()) report_.failures.push_back(std::move(failure));
    }
    if (next < kills.size()) report_.failures.push_back("stopped: too many failures");
  }

  // What went wrong, or nothing.
  std::string run_killed(const Kill& kill) {
    World world;
    const std::filesystem::path log_path = prepare(world, &kill);
    const Result<std::string> outcome = scenario_(world);
    const std::string failure = judge(kill, world, read_log(log_path), outcome);
    if (failure.empty()) return {};
    world.folder_.keep_if_asked();
    return fmt::format("killed {}: {}", kill.label, failure);
  }

  std::string judge(const Kill& kill, const World& world, const CrashLog& log,
                    const Result<std::string>& outcome) {
    if (!was_reached(kill, world, log)) {
      if (!options_.pace_varies) return "it was never reached";
      const std::scoped_lock lock(mutex_);
      ++report_.unreached;
      return compare(outcome);
    }
    if (kill.write > 0) {
      const std::scoped_lock lock(mutex_);
      if (log.writes[kill.write - 1].kind != kill.kind) ++report_.renumbered;
    }
    {
      const std::scoped_lock lock(mutex_);
      ++report_.kills;
    }
    return compare(outcome);
  }

  // The scenario itself may kill; only the log tells that the death was the ordered one.
  bool was_reached(const Kill& kill, const World& world, const CrashLog& log) const {
    if (!was_killed(world)) return false;
    // Killed after its end, another thread's write may have begun meanwhile.
    if (kill.write > 0) return static_cast<int>(log.writes.size()) >= kill.write;
    const auto visits = log.visits.find(kill.point);
    return visits != log.visits.end() && visits->second == kill.visit;
  }

  std::string compare(const Result<std::string>& outcome) const {
    if (!outcome.ok()) return outcome.error().message();
    if (*outcome != report_.outcome) return difference(report_.outcome, *outcome);
    return {};
  }

  bool was_killed(const World& world) const {
    const std::scoped_lock lock(world.mutex_);
    const auto index = static_cast<std::size_t>(options_.armed_start - 1);
    if (index >= world.programs_.size()) return false;
    Program& program = *world.programs_[index];
    return program.has_ended() && program.wait()->killed_by(SIGKILL);
  }

  void kill_one_at_random(int round, std::chrono::duration<double> calm_s,
                          std::mt19937_64& random) {
    World world;
    std::uniform_real_distribution<double> instant(0, calm_s.count() * 1.1);
    std::vector<std::chrono::duration<double>> waits;
    for (std::uint64_t i = 0; i <= random() % 2; ++i) waits.emplace_back(instant(random));

    std::mutex mutex;
    std::condition_variable over;
    bool is_over = false;
    std::thread killer([&] {
      std::unique_lock lock(mutex);
      for (const auto wait : waits) {
        if (over.wait_for(lock, wait, [&] { return is_over; })) return;
        world.signal_current(SIGKILL);
      }
    });
    const Result<std::string> outcome = scenario_(world);
    {
      const std::scoped_lock lock(mutex);
      is_over = true;
    }
    over.notify_all();
    killer.join();
    report_.kills += world.killed();
    if (outcome.ok() && *outcome == report_.outcome) return;
    world.folder_.keep_if_asked();
    failed(fmt::format(
        "round {}: {}", round,
        outcome.ok() ? difference(report_.outcome, *outcome) : outcome.error().message()));
  }

  const Scenario& scenario_;
  const SweepOptions options_;
  std::mutex mutex_;  // guards report_ while several worlds run
  SweepReport report_;
};

std::string SweepReport::text() const {
  std::string text = fmt::format(
      "{} durable writes ({}); crash points: {}; {} kills", writes, counts_text(writes_by_kind),
      visits_by_point.empty() ? "none" : counts_text(visits_by_point), kills);
  if (visits_left_out > 0) text += fmt::format("; {} visits left out", visits_left_out);
  if (unreached > 0) text += fmt::format("; {} instants were not come to", unreached);
  if (renumbered > 0) text += fmt::format("; {} runs numbered another kind", renumbered);
  text += fmt::format("; {} failures\n", failures.size());
  for (const std::string& failure : failures) text += "  " + failure + "\n";
  return text;
}

SweepReport kill_sweep(const Scenario& scenario, const SweepOptions& options) {
  SweepReport report = Sweep(scenario, options).kill_everywhere();
  fmt::print("kill sweep: {}", report.text());
  std::fflush(stdout);
  return report;
}

SweepReport random_kills(const Scenario& scenario, int rounds, std::uint64_t seed) {
  fmt::print("random kills: {} rounds, seed {}\n", rounds, seed);
  SweepReport report = Sweep(scenario, {}).kill_at_random(rounds, seed);
  fmt::print("random kills: {}", report.text());
  std::fflush(stdout);
  return report;
}

}  // namespace quern::support

#include "worker/worker_main.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/crash.h"
#include "base/log.h"
#include "io/file.h"
#include "io/process.h"
#include "net/readable.h"
#include "worker/box_root.h"
#include "worker/broker.h"
#include "worker/local_detect.h"
#include "worker/researcher.h"
#include "worker/zygote.h"

namespace quern::worker {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitUsage = 2;
constexpr int kExitFailed = 3;
constexpr std::size_t kTokenBytesMax = 4096;
constexpr auto kNamesPatience = std::chrono::seconds(10);

struct Parsed {
  std::string server;
  std::string token_file;
  std::vector<std::string> steps;
  std::vector<std::string> detect;
  double idle_exit_s = 0;
  bool list = false;
  bool names = false;
  bool parent_dies = false;
  bool quiet = false;
  BrokerOptions broker;
};

void complain(const std::string& text) {
  std::fprintf(stderr, "quern-steps: %s\n", text.c_str());
}

bool print(const std::string& line) {
  return std::printf("%s\n", line.c_str()) >= 0 && std::fflush(stdout) == 0;
}

const StepPlace* find_place(std::span<const StepPlace> places, std::string_view step) {
  const auto found = std::ranges::find(places, step, &StepPlace::step);
  return found == places.end() ? nullptr : &*found;
}

std::string path_of(const StepPlace& place) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / place.program).string();
}

// What can be done on this machine, without starting any box. All programs at once: whoever asks is
// about to start. One that is not there has no steps.
int print_names(std::span<const StepPlace> places) {
  std::set<std::string_view> asked;
  std::vector<io::Process> programs;
  for (const StepPlace& place : places) {
    if (!asked.insert(place.program).second) continue;
    io::ProcessOptions options;
    options.argv = {path_of(place), "--names"};
    Result<io::Process> started = io::Process::start(options);
    if (started.ok()) programs.push_back(*std::move(started));
  }
  for (io::Process& process : programs) (void)process.wait(kNamesPatience);
  return kExitDone;
}

// The program takes our place.
int become_box(const StepPlace& place) {
  const std::string program = path_of(place);
  const std::string step(place.step);
  ::execl(program.c_str(), program.c_str(), "--box", step.c_str(), nullptr);
  complain(fmt::format("{}: {}", program, std::strerror(errno)));
  return kExitNoBox;
}

std::string default_temp_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

std::string default_worker_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}/{}", host, ::getpid());
}

void add_limits(CLI::App& app, Limits& limits) {
  app.add_option("--wall-ms", limits.wall_ms, "a task, in all")->group("Limits");
  app.add_option("--wall-ms-per-mib", limits.wall_ms_per_mib, "and for each MiB of its input")
      ->group("Limits");
  app.add_option("--idle-ms", limits.idle_ms, "without CPU used and without output")
      ->group("Limits");
  app.add_option("--memory-bytes", limits.memory_bytes, "of a child")->group("Limits");
  app.add_option("--output-bytes", limits.output_bytes, "of a task")->group("Limits");
  app.add_option("--scratch-bytes", limits.scratch_bytes, "of a file that a child writes")
      ->group("Limits");
  app.add_option("--open-files", limits.open_files, "of a child")->group("Limits");
  app.add_option("--members", limits.members, "of an archive")->group("Limits");
  app.add_option("--ratio", limits.ratio, "by which a member may expand")->group("Limits");
  app.add_option("--ratio-from-bytes", limits.ratio_from_bytes, "from which on that counts")
      ->group("Limits");
  app.add_option("--text-characters", limits.text_characters, "of a text")->group("Limits");
  app.add_option("--text-pages", limits.text_pages, "of a text's PDF")->group("Limits");
}

void add_options(CLI::App& app, Parsed& parsed) {
  BrokerOptions& broker = parsed.broker;
  app.add_option("STEP", parsed.steps, "the steps to serve");
  app.add_option("--server", parsed.server, "http://HOST[:PORT] or unix:PATH");
  app.add_flag("--research", broker.research, "look for clips in episodes");
  app.add_option("--token", parsed.token_file, "a file that holds the worker's token");
  app.add_option("--exit-when-idle", parsed.idle_exit_s,
                 "end after so many seconds without a task");
  app.add_flag("--parent-dies", parsed.parent_dies, "end when the process that started us does");
  app.add_flag("--list", parsed.list,
               "print the steps, their versions and their box as JSON lines");
  app.add_flag("--names", parsed.names, "print the names of the steps that this machine can do");
  app.add_option("--detect", parsed.detect, "print the types of files as JSON lines");
  app.add_flag("--quiet", parsed.quiet, "say warnings only");
  app.add_option("--worker", broker.worker_name, "what people call this worker");
  app.add_option("--temp", broker.temp_folder, "where large inputs are kept while they are read");
  app.add_option("--tasks", broker.tasks_per_poll, "tasks asked for at once");
  app.add_option("--heartbeat-ms", broker.heartbeat_ms, "how often a task's life is told");
  app.add_option("--grace-ms", broker.grace_ms, "how long SIGTERM lets a task go on");
  app.add_option("--look-ms", broker.look_ms, "how often a child is looked at");
  app.add_option("--kept-bytes", broker.research_kept_bytes,
                 "of clips and episodes, kept for the next search");
  app.add_option("--media-bytes", broker.research_media_bytes, "of a clip or an episode, at most");
  app.add_option("--piece-bytes", broker.piece_bytes_max, "of an answer, sent at once");
  add_limits(app, broker.limits);
  app.footer(
      "Examples:\n"
      "  quern-steps --server http://127.0.0.1:8080 Archive Text Detect\n"
      "  quern-steps --server unix:/srv/quern/quern.sock Archive\n"
      "  quern-steps --server http://127.0.0.1:8080 --research\n"
      "  quern-steps --detect letter.doc");
}

// SIGTERM and SIGINT, as something that the loop can wait for.
io::Descriptor open_stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return io::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The first signal asks for an end, the second does it: dying is safe.
net::Task<> await_stop(net::Loop* loop, int signals, Broker* broker) {
  net::Readable readable(*loop, signals);
  if (co_await readable.wait() != net::WaitEnd::Notified) co_return;
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  signalfd_siginfo first;
  if (::read(signals, &first, sizeof first) != sizeof first) co_return;
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  broker->stop();
}

int serve(Parsed& parsed) {
  const io::Descriptor signals = open_stop_signals();
  net::Loop loop;
  Broker broker(loop, std::move(parsed.broker));
  loop.spawn("steps.signals", await_stop(&loop, signals.get(), &broker));
  const Result<> ran = loop.run_until(broker.run());
  if (ran.ok()) return kExitDone;
  complain(ran.error().message());
  return kExitFailed;
}

// What is known of the steps, as it comes in.
struct Descriptions {
  explicit Descriptions(net::Loop& loop) : changed(loop) {}

  net::Event changed;
  std::vector<std::optional<Result<std::string>>> lines;
  std::size_t left = 0;
};

// "" where what the step needs is not on this machine.
net::Task<Result<std::string>> describe(net::Loop* loop, std::string step) {
  BoxOptions options;
  options.step = step;
  CO_TRY_ASSIGN(const std::unique_ptr<Box> box, co_await Box::start(*loop, std::move(options)));
  if (box->about().version.empty()) co_return std::string();
  co_return fmt::format(R"({{"step":"{}","version":"{}","box":{}}})", step,
                        json_escaped(box->about().version), box->confinement());
}

net::Task<> describe_one(net::Loop* loop, std::string step, Descriptions* all, std::size_t at) {
  all->lines[at].emplace(co_await describe(loop, std::move(step)));
  --all->left;
  all->changed.notify_all();
}

net::Task<bool> await_all(Descriptions* all) {
  while (all->left > 0) co_await all->changed.wait();
  co_return true;
}

// All boxes at once: whoever asks is waiting.
int list(std::span<const StepPlace> places) {
  net::Loop loop;
  Descriptions all(loop);
  all.lines.resize(places.size());
  all.left = places.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    loop.spawn("steps.list", describe_one(&loop, std::string(places[i].step), &all, i));
  }
  loop.run_until(await_all(&all));
  for (const auto& line : all.lines) {
    if (!line->ok()) {
      complain(line->error().message());
      return kExitFailed;
    }
    if (!(*line)->empty() && !print(**line)) return kExitFailed;
  }
  return kExitDone;
}

int detect(const Parsed& parsed) {
  net::Loop loop;
  DetectOptions options;
  options.limits = parsed.broker.limits;
  const auto found = loop.run_until(detect_paths(loop, parsed.detect, options));
  if (!found) {
    complain(found.error().message());
    return kExitFailed;
  }
  bool all = true;
  for (const DetectedPath& one : *found) {
    all = all && one.failure.empty();
    if (!one.failure.empty()) complain(one.path + ": " + one.failure);
    const std::string line = fmt::format(R"({{"path":"{}","type":"{}"}})", json_escaped(one.path),
                                         json_escaped(one.type));
    if (one.failure.empty() && !print(line)) return kExitFailed;
  }
  return all ? kExitDone : kExitFailed;
}

// Invalid is usage.
Result<> prepare(Parsed& parsed, std::span<const StepPlace> places) {
  if (parsed.server.empty()) return Error{Errc::Invalid, "--server is needed"};
  if (parsed.steps.empty() && !parsed.broker.research) {
    return Error{Errc::Invalid, "which steps? see --list"};
  }
  TRY_ASSIGN(parsed.broker.server, parse_address(parsed.server));
  for (const std::string& name : parsed.steps) {
    if (name == kResearchStep) return Error{Errc::Invalid, "say --research instead of Research"};
    if (find_place(places, name) == nullptr) {
      return Error{Errc::Invalid, "no step " + name + "; see --list"};
    }
    parsed.broker.steps.push_back(name);
  }
  if (!parsed.token_file.empty()) {
    TRY_ASSIGN(parsed.broker.token, io::read_file(parsed.token_file, kTokenBytesMax));
    while (!parsed.broker.token.empty() && parsed.broker.token.back() <= ' ') {
      parsed.broker.token.pop_back();
    }
  }
  if (parsed.broker.temp_folder.empty()) parsed.broker.temp_folder = default_temp_folder();
  if (parsed.broker.worker_name.empty()) parsed.broker.worker_name = default_worker_name();
  parsed.broker.idle_exit_ms = static_cast<std::int64_t>(parsed.idle_exit_s * 1000);
  return {};
}

}  // namespace

int box_main(int argc, char** argv, std::span<const Step> steps) {
  if (argc == 2 && std::string_view(argv[1]) == "--names") {
    for (const Step& step : steps) {
      if (!step.version().empty() && !print(step.name)) return kExitFailed;
    }
    return kExitDone;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--box") return kExitUsage;
  const auto step = std::ranges::find(steps, std::string_view(argv[2]), &Step::name);
  return step != steps.end() ? run_zygote(*step) : kExitUsage;
}

int worker_main(int argc, char** argv, std::span<const StepPlace> places) {
  // A box has no options and starts often.
  if (argc == 3 && std::string_view(argv[1]) == "--box") {
    const StepPlace* place = find_place(places, argv[2]);
    return place != nullptr ? become_box(*place) : kExitUsage;
  }
  Parsed parsed;
  parsed.broker.temp_folder.clear();
  CLI::App app("Quern's worker: converts files that a server lends it, each in a box.");
  add_options(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  const Result<> armed = arm_crash_from_environment();
  if (!armed.ok()) {
    complain(armed.error().message());
    return kExitUsage;
  }
  if (parsed.parent_dies) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_log(parsed.quiet ? LogLevel::Warn : LogLevel::Info, LogFormat::Human);
  ::signal(SIGPIPE, SIG_IGN);
  if (parsed.names) return print_names(places);
  if (parsed.list) return list(places);
  if (!parsed.detect.empty()) return detect(parsed);
  const Result<> prepared = prepare(parsed, places);
  if (prepared.ok()) return serve(parsed);
  complain(prepared.error().message());
  return prepared.error().kind() == Errc::Invalid ? kExitUsage : kExitFailed;
}

}  // namespace quern::worker

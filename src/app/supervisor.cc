#include "app/supervisor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <system_error>
#include <thread>

#include "base/log.h"

namespace quern::app {
namespace {

using model::StepId;

constexpr std::int64_t kTickMs = 50;
constexpr std::int64_t kPatienceMs = 1000;  // of a job, until it gets a worker beyond the cores
constexpr std::int64_t kStartingMs = 3000;  // a worker that has not asked by then counts no more
constexpr std::int64_t kBackoffMsMin = 100;
constexpr std::int64_t kBackoffMsMax = 30'000;
constexpr std::int64_t kShortLifeMs = 2000;
constexpr std::int64_t kStopMs = 2000;
constexpr std::int64_t kGiveBackMs = 1500;  // of a researcher, until it is killed
constexpr char kResearcherGraceMs[] = "1000";
constexpr char kResearchName[] = "Research";
constexpr char kIdleSeconds[] = "5";
constexpr std::chrono::milliseconds kListPatience{10'000};
constexpr std::size_t kListBytesMax = 64 * 1024;

std::int64_t ms_since(net::Instant then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(net::in_ms(0) - then).count();
}

struct Worker {
  std::optional<StepId> step;  // none: a researcher
  std::string name;
  io::Process process;
  net::Instant started;
  bool asked = false;  // it has polled by now, as far as we can tell
};

struct StepCare {
  std::int64_t backoff_ms = 0;
  net::Instant not_before;
};

}  // namespace

std::filesystem::path find_steps_program(const std::filesystem::path& told) {
  if (!told.empty()) return told;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    std::filesystem::path beside = self.parent_path() / "quern-steps";
    if (std::filesystem::exists(beside, failed)) return beside;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::filesystem::path there = std::filesystem::path(folder) / "quern-steps";
    if (!folder.empty() && std::filesystem::exists(there, failed)) return there;
  }
  return {};
}

Installed installed_steps(const std::filesystem::path& program) {
  Installed installed;
  if (program.empty()) return installed;
  io::ProcessOptions options;
  options.argv = {program.string(), "--names"};
  options.out = io::Stream::pipe();
  Result<io::Process> process = io::Process::start(options);
  if (!process.ok()) {
    log_warn("steps.absent", {{"program", program.string()}, {"error", process.error().message()}});
    return installed;
  }
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (text.size() < kListBytesMax &&
         (got = ::read(process->output().get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  (void)process->wait(kListPatience);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (const auto step = model::parse_step(name)) installed.steps.insert(*step);
    installed.research = installed.research || name == kResearchName;
    begin = end + 1;
  }
  return installed;
}

class Supervisor::Core : public std::enable_shared_from_this<Supervisor::Core> {
 public:
  Core(net::Loop& loop, step::Pipeline& pipeline, store::Writer& writer, SupervisorOptions options)
      : loop_(loop),
        pipeline_(pipeline),
        writer_(writer),
        options_(std::move(options)),
        wake_(loop),
        gone_(loop) {}

  void start() {
    if (options_.program.empty() || started_) return;
    started_ = true;
    loop_.spawn("supervisor", run(shared_from_this()));
  }
  void wake() { wake_.notify_all(); }

  net::Task<> stop() {
    stopping_ = true;
    wake_.notify_all();
    co_await end_researchers();
    // What they had is lent again by the next server; waiting for it would only take time.
    kill_all();
    const net::Instant deadline = net::in_ms(kStopMs);
    while (!workers_.empty() && net::in_ms(0) < deadline) co_await gone_.wait(deadline);
  }
  void kill_all() {
    stopping_ = true;
    for (const auto& worker : workers_) (void)worker->process.kill(SIGKILL);
  }

 private:
  // A lease that nobody gives back is waited for by the next server.
  net::Task<> end_researchers() {
    const auto is_researcher = [](const WorkerPtr& worker) { return !worker->step; };
    for (const WorkerPtr& worker : workers_) {
      if (!worker->step) (void)worker->process.kill(SIGTERM);
    }
    const net::Instant deadline = net::in_ms(kGiveBackMs);
    while (std::any_of(workers_.begin(), workers_.end(), is_researcher) &&
           net::in_ms(0) < deadline) {
      co_await gone_.wait(deadline);
    }
  }

  using Self = std::shared_ptr<Core>;
  using WorkerPtr = std::shared_ptr<Worker>;

  static net::Task<> run(Self self) {
    while (!self->stopping_) {
      self->look();
      // With nobody at work there is nothing to look after until something waits.
      const bool idle = self->workers_.empty() && self->pipeline_.is_idle();
      co_await self->wake_.wait(idle ? net::kNever : net::in_ms(kTickMs));
      // Several wakes of one moment are one.
      co_await self->loop_.yield();
    }
  }

  void look() {
    const auto stats = pipeline_.stats();
    std::map<StepId, std::int64_t> starting;
    for (const WorkerPtr& worker : workers_) {
      const bool asked = worker->asked || ms_since(worker->started) >= kStartingMs;
      if (worker->step && !asked) ++starting[*worker->step];
    }
    std::int64_t busy = 0;
    for (const auto& [step, of_step] : stats) {
      // Polls and tasks beyond those of workers that are starting mean that they have begun.
      busy += of_step.running + starting[step];
    }
    for (const auto& [step, of_step] : stats) {
      settle_starting(step, of_step);
      const std::int64_t wanted = wanted_workers(step, of_step, starting[step], busy);
      for (std::int64_t i = 0; i < wanted; ++i) {
        launch(step);
        ++busy;
      }
    }
    if (wants_researcher()) launch(std::nullopt);
  }

  bool wants_researcher() const {
    std::int64_t there = 0;
    for (const WorkerPtr& worker : workers_) {
      if (worker->step) continue;
      ++there;
      // It has hardly had the time to ask.
      if (ms_since(worker->started) < kPatienceMs) return false;
    }
    return there < options_.researchers_max && net::in_ms(0) >= research_care_.not_before &&
           options_.research_waits();
  }

  // A worker has begun when its step has as many polls and tasks as workers.
  void settle_starting(StepId step, const step::StepStats& stats) {
    std::int64_t there = stats.running + stats.polling;
    for (const WorkerPtr& worker : workers_) {
      if (worker->step != step) continue;
      if (there-- > 0) worker->asked = true;
    }
  }

  std::int64_t workers_of(StepId step) const {
    return std::count_if(workers_.begin(), workers_.end(),
                         [step](const WorkerPtr& w) { return w->step == step; });
  }

  std::int64_t wanted_workers(StepId step, const step::StepStats& stats, std::int64_t starting,
                              std::int64_t busy) {
    if (!options_.installed.contains(step) || net::in_ms(0) < care_[step].not_before) return 0;
    const auto fixed = options_.steps.fixed.find(step);
    if (fixed != options_.steps.fixed.end()) {
      return std::max<std::int64_t>(fixed->second - workers_of(step), 0);
    }
    if (!options_.steps.on_demand && step != StepId::Detect) return 0;
    const std::int64_t unserved = stats.waiting - stats.polling - starting;
    if (unserved <= 0) return 0;
    const auto cores = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
    if (busy < cores && writer_has_room()) return 1;
    const bool waits = stats.longest_wait_ms >= kPatienceMs;
    return waits && starting == 0 && stats.polling == 0 && workers_of(step) <= cores ? 1 : 0;
  }

  bool writer_has_room() const {
    for (const store::LaneStats& lane : writer_.stats()) {
      if (lane.queued > kQueuedMax) return false;
    }
    return true;
  }

  std::string new_name(std::optional<StepId> step) {
    const std::string kind =
        step ? std::string(model::to_string(*step)) : std::string(kLocalResearcher);
    return fmt::format("{}{}{}-{}", kind, step ? "-" : "", ::getpid(), ++number_);
  }

  void launch(std::optional<StepId> step) {
    const std::string name = new_name(step);
    io::ProcessOptions order;
    order.argv = {options_.program.string(),
                  "--server",
                  "unix:" + options_.server.string(),
                  "--parent-dies",
                  "--quiet",
                  "--worker",
                  name,
                  "--exit-when-idle",
                  kIdleSeconds};
    if (step) {
      order.argv.emplace_back(model::to_string(*step));
    } else {
      order.argv.insert(order.argv.end(), {"--research", "--grace-ms", kResearcherGraceMs});
    }
    order.out = io::Stream::null();
    order.group = io::ProcessGroup::Own;
    Result<io::Process> process = io::Process::start(order);
    if (!process.ok()) {
      back_off(step);
      log_warn("steps.not_started", {{"worker", name}, {"error", process.error().message()}});
      return;
    }
    auto worker =
        std::make_shared<Worker>(Worker{step, name, *std::move(process), net::in_ms(0), false});
    workers_.push_back(worker);
    log_debug("steps.started", {{"worker", name}});
    loop_.spawn("supervisor.worker", watch(shared_from_this(), worker));
  }

  StepCare& care_of(std::optional<StepId> step) { return step ? care_[*step] : research_care_; }

  void back_off(std::optional<StepId> step) {
    StepCare& care = care_of(step);
    care.backoff_ms = std::clamp(care.backoff_ms * 2, kBackoffMsMin, kBackoffMsMax);
    care.not_before = net::in_ms(care.backoff_ms);
  }

  static net::Task<> watch(Self self, WorkerPtr worker) {
    boost::asio::posix::stream_descriptor ended(self->loop_.context(),
                                                ::dup(worker->process.pidfd()));
    boost::system::error_code failed;
    co_await ended.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                              boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    self->on_gone(worker);
  }

  void on_gone(const WorkerPtr& worker) {
    const Result<io::ExitStatus> status = worker->process.wait(std::chrono::milliseconds(0));
    workers_.remove(worker);
    if (worker->step) {
      pipeline_.worker_gone(worker->name);
    } else if (options_.researcher_gone) {
      options_.researcher_gone(worker->name);
    }
    const bool well = status.ok() && status->exited_with(0);
    if (!well && !stopping_) {
      log_warn("steps.died",
               {{"worker", worker->name}, {"status", status.ok() ? status->text() : "unknown"}});
    }
    if (!well && ms_since(worker->started) < kShortLifeMs) {
      back_off(worker->step);
    } else {
      care_of(worker->step) = {};
    }
    gone_.notify_all();
    wake_.notify_all();
  }

  static constexpr std::size_t kQueuedMax = 2048;

  net::Loop& loop_;
  step::Pipeline& pipeline_;
  store::Writer& writer_;
  const SupervisorOptions options_;
  std::list<WorkerPtr> workers_;
  std::map<StepId, StepCare> care_;
  StepCare research_care_;
  std::int64_t number_ = 0;
  bool started_ = false;
  bool stopping_ = false;
  net::Event wake_;
  net::Event gone_;
};

Supervisor::Supervisor(net::Loop& loop, step::Pipeline& pipeline, store::Writer& writer,
                       SupervisorOptions options)
    : core_(std::make_shared<Core>(loop, pipeline, writer, std::move(options))) {}
Supervisor::~Supervisor() {
  core_->kill_all();
}
void Supervisor::start() {
  core_->start();
}
void Supervisor::wake() {
  core_->wake();
}
net::Task<> Supervisor::stop() {
  return core_->stop();
}

}  // namespace quern::app

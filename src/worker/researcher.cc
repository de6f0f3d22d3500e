#include "worker/researcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "model/finder_version.h"
#include "worker/box_start.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::int64_t kKeepMsMin = 100;
constexpr std::int64_t kKeepMsMax = 60'000;
constexpr std::chrono::milliseconds kHeld{50};

// Results of another version would be worth nothing to the server.
Result<> expect_known(const ResearchItem& item) {
  if (item.algorithm == model::kFinderAlgorithm &&
      item.fingerprint_version == model::kFinderFingerprint) {
    return {};
  }
  return Error{Errc::Invalid,
               fmt::format("the server wants version {}.{} of the search, and this program has "
                           "{}.{}: install the quern-steps that belongs to the server",
                           item.algorithm, item.fingerprint_version, model::kFinderAlgorithm,
                           model::kFinderFingerprint)};
}

}  // namespace

std::size_t ResearchWork::left() const {
  const auto open = [](const Clip& clip) { return clip.state != State::Done; };
  return static_cast<std::size_t>(std::count_if(clips.begin(), clips.end(), open));
}

Researcher::Researcher(net::Loop& loop, const BrokerOptions& options, net::Event& changed)
    : loop_(loop),
      options_(options),
      changed_(changed),
      calls_(loop, options, changed),
      kept_({options.research_kept_bytes}),
      idle_since_(net::in_ms(0)) {}

std::optional<net::Instant> Researcher::idle_since() const {
  if (work_) return std::nullopt;
  return idle_since_;
}

net::Task<> Researcher::run(std::shared_ptr<Researcher> self) {
  const Result<> served = co_await self->serve();
  if (!served.ok()) self->failure_ = served.error();
  self->stopping_ = true;
  --self->coroutines_;
  self->changed_.notify_all();
}

void Researcher::stop() {
  if (stopping_) return;
  stopping_ = true;
  calls_.stop();
  if (!work_) return;
  ++coroutines_;
  loop_.spawn("research.wind_down", wind_down(shared_from_this(), work_));
}

void Researcher::cut() {
  stopping_ = true;
  if (work_ && work_->run) work_->run->kill({ErrorKind::Canceled, "the researcher stops"});
  calls_.cut();
}

net::Task<Result<>> Researcher::serve() {
  // Its start says whether this machine can do it at all.
  CO_TRY(co_await need_box());
  while (!stopping_) {
    const net::Instant asked = net::in_ms(0);
    auto item = co_await calls_.ask_for_work();
    if (!item) {
      if (stopping_) break;
      log_warn("research.ask", {{"error", item.error().message()}});
      co_await calls_.pause();
      continue;
    }
    if (!*item) {
      // A server that does not hold its answer back is not asked again at once.
      if (net::in_ms(0) < asked + kHeld) co_await calls_.pause();
      continue;
    }
    calls_.calm();
    const auto work = std::make_shared<ResearchWork>(**std::move(item));
    const Result<> known = expect_known(work->item);
    if (!known.ok()) {
      (void)co_await calls_.tell(final_json(work->item));
      co_return known;
    }
    begin(work);
    co_await research(work);
    work->over = true;
    work_.reset();
    idle_since_ = net::in_ms(0);
    changed_.notify_all();
  }
  co_return Result<>{};
}

void Researcher::begin(const WorkPtr& work) {
  work_ = work;
  log_debug("research.begin", {{"episode", work->item.episode.id},
                               {"clips", static_cast<std::int64_t>(work->clips.size())}});
  ++coroutines_;
  loop_.spawn("research.keep", keep_lease(shared_from_this(), work));
}

net::Task<Result<>> Researcher::need_box() {
  while (!box_ || box_->is_gone()) {
    box_.reset();
    const std::string step(kResearchStep);
    auto started = co_await Box::start(loop_, box_options(options_, step));
    if (started) {
      box_ = *std::move(started);
      CO_TRY(judge_confinement(*box_, step));
      break;
    }
    log_error("research.box", {{"error", started.error().message()}});
    if (++box_failures_ == kBoxFailuresMax || stopping_) co_return std::move(started).error();
    co_await calls_.pause();
  }
  box_failures_ = 0;
  co_return Result<>{};
}

net::Task<> Researcher::keep_lease(std::shared_ptr<Researcher> self, WorkPtr work) {
  const std::int64_t every_ms = std::clamp(work->item.lease_ms / 3, kKeepMsMin, kKeepMsMax);
  while (!work->over) {
    const net::Instant next = net::in_ms(every_ms);
    while (!work->over && net::in_ms(0) < next) co_await self->changed_.wait(next);
    if (work->over || work->final_told) break;
    co_await self->calls_.keep_lease(keep_json(work->item));
  }
  --self->coroutines_;
  self->changed_.notify_all();
}

// Half of the grace is for the clip in hand, the other for telling that it is over.
net::Task<> Researcher::wind_down(std::shared_ptr<Researcher> self, WorkPtr work) {
  const net::Instant until = net::in_ms(self->options_.grace_ms / 2);
  while (!work->over && net::in_ms(0) < until) co_await self->changed_.wait(until);
  if (work->run) work->run->kill({ErrorKind::Canceled, "the researcher stops"});
  --self->coroutines_;
  self->changed_.notify_all();
}

}  // namespace quern::worker

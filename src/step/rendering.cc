// Renderings: files that are shown on paper by a step, outside of any shard.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "step/child_file.h"
#include "step/pipeline_core.h"

namespace quern::step {
namespace {

// What is wrong with what a step made for a rendering.
std::optional<tree::Failure> flaw_of(const std::optional<tree::NewFile>& made,
                                     const Limits& limits) {
  using model::ErrorKind;
  if (made && made->failure) return made->failure;
  if (!made || !made->complete || !made->blob) {
    return tree::Failure{ErrorKind::Protocol, "the step made no PDF of it"};
  }
  // What is large is turned away while it comes; this is the exact limit.
  const std::int64_t thumbnail = made->thumbnail ? made->thumbnail->blob.bytes : 0;
  if (made->blob->bytes + thumbnail <= limits.rendering_bytes_max) return std::nullopt;
  return too_large_rendering(limits);
}

}  // namespace

tree::Failure too_large_rendering(const Limits& limits) {
  return {model::ErrorKind::TooLarge,
          fmt::format("its PDF has more than {} bytes", limits.rendering_bytes_max)};
}

bool Pipeline::Core::has_work() const {
  return !shards_.empty() || !renderings_.empty() || renderings_lent_ > 0;
}

void Pipeline::Core::render(tree::Waiting waiting, std::function<void(Rendered)> ended) {
  if (stopping_) return ended({});
  auto order = std::make_shared<RenderOrder>();
  order->waiting = std::move(waiting);
  order->waiting.file.depth = 0;  // what is made of it lies in no tree
  order->ended = std::move(ended);
  order->since = net::in_ms(0);
  renderings_.push_back(std::move(order));
  watch();
  if (events_.waiting) events_.waiting(kRenderStep);
  offer(kRenderStep, 1);
}

LentPtr Pipeline::Core::take_rendering(const PollOrder& order) {
  if (order.step != kRenderStep || renderings_.empty()) return nullptr;
  const std::shared_ptr<RenderOrder> next = renderings_.front();
  renderings_.pop_front();
  LentPtr lent = make_lent(next->waiting, order);
  lent->rendering = next;
  ++renderings_lent_;
  rendered_last_ = true;
  return lent;
}

// Nobody had it.
void Pipeline::Core::put_back_rendering(const LentPtr& lent) {
  if (stopping_) return;
  renderings_.push_front(lent->rendering);
  offer(kRenderStep, 1);
}

Result<bool> Pipeline::Core::finish_rendering(const LentPtr& lent,
                                              std::optional<tree::Failure> failure) {
  if (lent->broken) {
    const Error why = *lent->broken;
    end_rendering(lent, {Rendered::End::Attempt, {}, {model::ErrorKind::Internal, why.message()}});
    return why;
  }
  if (!failure) failure = lent->limit;
  if (!failure) failure = flaw_of(lent->rendered, options_.limits);
  if (failure) {
    end_rendering(lent, {Rendered::End::Failed, {}, *std::move(failure)});
  } else {
    std::optional<tree::NewFile> file = std::exchange(lent->rendered, std::nullopt);
    end_rendering(lent, {Rendered::End::Made, std::move(file), {}});
  }
  return true;
}

void Pipeline::Core::end_rendering(const LentPtr& lent, Rendered rendered) {
  end(lent);
  lent->drop_rendered();
  const bool made = rendered.end == Rendered::End::Made;
  StepStats& stats = stats_[lent->step];
  ++(made ? stats.finished : stats.failed);
  workers_.count(worker_key(lent->report.worker, lent->step),
                 made ? WorkerBook::How::Finished : WorkerBook::How::Failed);
  log_debug("step.rendered", {{"file", lent->waiting.file.id.value}, {"made", made}});
  if (auto ended = std::exchange(lent->rendering->ended, nullptr)) ended(std::move(rendered));
}

void Pipeline::Core::stop_renderings() {
  std::vector<LentPtr> lent;
  for (const auto& [id, one] : lents_) {
    if (one->rendering) lent.push_back(one);
  }
  for (const LentPtr& one : lent) {
    end(one);
    renderings_.push_back(one->rendering);
  }
  for (const auto& order : std::exchange(renderings_, {})) {
    if (auto ended = std::exchange(order->ended, nullptr)) ended({});
  }
}

void Pipeline::Core::count_renderings(std::map<StepId, StepStats>& stats) const {
  StepStats& of_step = stats[kRenderStep];
  of_step.waiting += static_cast<std::int64_t>(renderings_.size());
  if (renderings_.empty()) return;
  const auto waited = net::in_ms(0) - renderings_.front()->since;
  of_step.longest_wait_ms =
      std::max<std::int64_t>(of_step.longest_wait_ms,
                             std::chrono::duration_cast<std::chrono::milliseconds>(waited).count());
}

}  // namespace quern::step

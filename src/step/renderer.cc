#include "step/renderer.h"

#include <fmt/format.h>

#include <charconv>

#include "base/crash.h"
#include "base/log.h"
#include "queue/await.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"

namespace quern::step {
namespace {

using store::Tx;
using tree::FileId;

constexpr char kPageType[] = "text/html";
// Between two looks of somebody who waits for what another server makes.
constexpr std::int64_t kLookMs = 500;

queue::PartitionConfig render_config() {
  queue::PartitionConfig config;
  config.kind = kRenderKind;
  config.max_retries = -1;  // how often is decided here
  config.concurrency = kRenderingsAtOnceMax;
  config.backoff_ms = 200;
  config.backoff_ms_max = 5000;
  config.retain_ms = 0;
  return config;
}

Result<bool> put_order(Tx& tx, queue::PartitionId id, FileId file, std::int64_t wanted_max) {
  const queue::Partition* known = queue::LockedPartitions::of(tx).find(id);
  if (known == nullptr || !known->declared || known->config != render_config()) {
    TRY(queue::put_partition(tx, id, {render_config(), {}, {}}));
  }
  const std::int64_t wanted = queue::LockedPartitions::of(tx).find(id)->open_items();
  if (wanted >= wanted_max) {
    return Error{Errc::Busy,
                 fmt::format("{} web pages are to be made PDFs before: ask again later", wanted)};
  }
  queue::NewItem item;
  item.name = fmt::format("{}", file);
  const queue::PutItems put{id, {std::move(item)}};
  TRY(std::move(queue::apply(tx, std::span<const queue::PutItems>(&put, 1))[0]));
  return true;
}

// What is known of a document that is to be shown. Neither: it is gone.
struct Found {
  std::optional<tree::Rendering> rendering;
  std::optional<tree::Waiting> unrendered;
};

Result<Found> look_at(Tx& tx, FileId file) {
  Found found;
  TRY_ASSIGN(found.rendering, tree::find_rendering(tx, file));
  if (found.rendering) return found;
  Result<tree::Waiting> unrendered = tree::load_unrendered(tx, file);
  if (unrendered.ok()) {
    found.unrendered = *std::move(unrendered);
  } else if (unrendered.error().kind() != Errc::Missing) {
    return unrendered.error();
  }
  return found;
}

Error being_made() {
  return {Errc::Busy, "this web page is being made a PDF: ask again in a moment"};
}

// Counts who waits, however that ends.
class Waiting {
 public:
  explicit Waiting(std::int64_t& count) : count_(count) { ++count_; }
  ~Waiting() { --count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::int64_t& count_;
};

std::optional<FileId> parse_file(std::string_view name) {
  FileId file;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), file.value);
  if (failed != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return file;
}

}  // namespace

class Renderer::Core : public std::enable_shared_from_this<Renderer::Core> {
 public:
  Core(std::shared_ptr<Pipeline> pipeline, std::function<void(queue::PartitionId)> poke)
      : pipeline_(std::move(pipeline)),
        parts_(pipeline_->parts()),
        poke_(std::move(poke)),
        made_(parts_.loop) {}

  using Self = std::shared_ptr<Core>;

  static net::Task<Result<tree::Rendering>> ask(Self self, net::Exchange& exchange, FileId file,
                                                net::Instant deadline);
  static net::Task<> work(Self self, queue::Work work, queue::Answered answered);

  const PipelineParts& parts() const { return parts_; }

 private:
  net::Task<Result<std::optional<tree::Rendering>>> find(FileId file);
  net::Task<Result<>> order(FileId file);
  net::Task<Result<queue::PartitionId>> partition();
  net::Task<Result<queue::Outcome>> make(queue::Work work, FileId file);
  net::Task<Result<>> keep(queue::Work work, tree::NewRendering rendering);

  std::shared_ptr<Pipeline> pipeline_;
  const PipelineParts parts_;
  std::function<void(queue::PartitionId)> poke_;
  std::optional<queue::PartitionId> partition_;
  net::Event made_;  // some rendering has ended here
  std::int64_t askers_ = 0;
};

net::Task<Result<std::optional<tree::Rendering>>> Renderer::Core::find(FileId file) {
  auto load = [file](Tx& tx) { return tree::find_rendering(tx, file); };
  co_return co_await queue::read(parts_.loop, parts_.readers, std::move(load));
}

net::Task<Result<queue::PartitionId>> Renderer::Core::partition() {
  if (partition_) co_return *partition_;
  auto ensure = [writer = &parts_.writer, readers = &parts_.readers] {
    return queue::ensure_partition(*writer, *readers, kRenderKind);
  };
  CO_TRY_ASSIGN(const queue::PartitionId id,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(ensure)));
  partition_ = id;
  co_return id;
}

net::Task<Result<>> Renderer::Core::order(FileId file) {
  CO_TRY_ASSIGN(const queue::PartitionId id, co_await partition());
  const std::int64_t wanted_max = pipeline_->options().limits.renderings_wanted_max;
  auto put = queue::change_partition(
      id, [id, file, wanted_max](Tx& tx) { return put_order(tx, id, file, wanted_max); });
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(id)), put));
  crash_point("step.rendering.ordered");
  poke_(id);
  co_return Result<>();
}

net::Task<Result<tree::Rendering>> Renderer::Core::ask(Self self, net::Exchange& exchange,
                                                       FileId file, net::Instant deadline) {
  CO_TRY_ASSIGN(std::optional<tree::Rendering> found, co_await self->find(file));
  if (found) co_return *std::move(found);
  const Pipeline::Decision decision = self->pipeline_->decide(kPageType, model::Ocr::No);
  if (decision.failure) co_return Error{Errc::Unavailable, decision.failure->message};
  CO_TRY(co_await self->order(file));
  if (self->askers_ >= kRenderAskersMax) co_return being_made();
  const Waiting waiting(self->askers_);
  while (true) {
    const net::Instant next = std::min(deadline, net::in_ms(kLookMs));
    const net::WaitEnd end = co_await exchange.wait(self->made_, next);
    // All who wait look at the same instant: who finds the readers busy looks again.
    Result<std::optional<tree::Rendering>> looked = co_await self->find(file);
    if (!looked.ok() && looked.error().kind() != Errc::Busy) co_return looked.error();
    if (looked.ok() && *looked) co_return **std::move(looked);
    const bool goes_on = end == net::WaitEnd::Notified || end == net::WaitEnd::TimedOut;
    if (!goes_on || net::in_ms(0) >= deadline) co_return being_made();
  }
}

// Bytes whose row may or may not stand are left to the sweep.
net::Task<Result<>> Renderer::Core::keep(queue::Work work, tree::NewRendering rendering) {
  crash_point("step.rendering.made");
  auto write = store::Fenced{
      store::Fence{work.partition.value, work.token},
      [rendering = std::move(rendering)](Tx& tx) { return tree::keep_rendering(tx, rendering); }};
  store::Lane& lane = parts_.writer.lane(queue::lane_of(work.partition));
  CO_TRY_ASSIGN(const tree::KeptRendering kept,
                co_await queue::write(parts_.loop, lane, std::move(write)));
  crash_point("step.rendering.kept");
  for (const std::string& place : kept.orphans) parts_.blobs.discard(place);
  co_return Result<>();
}

net::Task<Result<queue::Outcome>> Renderer::Core::make(queue::Work work, FileId file) {
  auto look = [file](Tx& tx) { return look_at(tx, file); };
  CO_TRY_ASSIGN(Found found, co_await queue::read(parts_.loop, parts_.readers, std::move(look)));
  if (!found.unrendered) co_return queue::Outcome::complete();
  tree::NewRendering made;
  made.file = file;
  if (work.item.calls > kRenderCallsMax) {
    made.failure =
        tree::Failure{model::ErrorKind::Crash,
                      fmt::format("its server ended {} times while it was made", kRenderCallsMax)};
  } else {
    auto start = [this, &found](net::Callback<Rendered> callback) {
      pipeline_->render(*std::move(found.unrendered), callback);
    };
    Rendered rendered = co_await net::await_callback<Rendered>(parts_.loop, std::move(start));
    using End = Rendered::End;
    if (rendered.end == End::Canceled) {
      co_return queue::Outcome{.kind = queue::Outcome::Kind::Canceled};
    }
    if (rendered.end == End::Attempt && work.item.retry_count + 1 < kRenderAttemptsMax) {
      co_return queue::Outcome::failed(rendered.failure.message);
    }
    if (rendered.end == End::Made) {
      made.pdf = std::move(rendered.file->blob);
      made.thumbnail = std::move(rendered.file->thumbnail);
    } else {
      made.failure = std::move(rendered.failure);
    }
  }
  CO_TRY(co_await keep(std::move(work), std::move(made)));
  co_return queue::Outcome::complete();
}

net::Task<> Renderer::Core::work(Self self, queue::Work work, queue::Answered answered) {
  const std::optional<FileId> file = parse_file(work.item.name);
  Result<queue::Outcome> outcome = queue::Outcome::complete();  // a name that nobody puts
  if (file) outcome = co_await self->make(std::move(work), *file);
  if (!outcome.ok()) {
    log_warn("step.rendering_trouble", {{"error", outcome.error().message()}});
    outcome = queue::Outcome::failed(outcome.error().message());
  }
  answered(*std::move(outcome));
  self->made_.notify_all();
}

Renderer::Renderer(std::shared_ptr<Pipeline> pipeline, std::function<void(queue::PartitionId)> poke)
    : core_(std::make_shared<Core>(std::move(pipeline), std::move(poke))) {}

Renderer::~Renderer() = default;

net::Task<Result<tree::Rendering>> Renderer::ask(net::Exchange& exchange, FileId file,
                                                 net::Instant deadline) {
  return Core::ask(core_, exchange, file, deadline);
}

void Renderer::process(queue::Work work, queue::Answered answered) {
  core_->parts().loop.spawn("step.rendering",
                            Core::work(core_, std::move(work), std::move(answered)));
}

}  // namespace quern::step

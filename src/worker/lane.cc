#include "worker/lane.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "net/target.h"
#include "worker/box_start.h"
#include "worker/input.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kPollBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kMetadataBytesMax = 1024 * 1024;
constexpr std::size_t kLacksBytesMax = 200;
constexpr std::int64_t kHeartbeatMsMax = 10'000;

net::ClientOptions client_options(const BrokerOptions& options) {
  net::ClientOptions client;
  client.stall_ms = options.stall_ms;
  client.first_byte_ms = options.stall_ms;
  client.idle_max = 1;
  return client;
}

}  // namespace

Lane::Lane(net::Loop& loop, const BrokerOptions& options, std::string step, net::Event& changed)
    : loop_(loop),
      options_(options),
      step_(std::move(step)),
      changed_(changed),
      lines_(loop, options.server, client_options(options)),
      idle_since_(net::in_ms(0)) {
  coroutines_ = 2;  // run and keep_alive, which whoever made us spawns
}

std::optional<net::Instant> Lane::idle_since() const {
  if (!held_.empty()) return std::nullopt;
  return idle_since_;
}

net::Task<> Lane::run(std::shared_ptr<Lane> self) {
  const Result<> served = co_await self->serve();
  if (!served.ok()) self->failure_ = served.error();
  self->stopping_ = true;
  --self->coroutines_;
  self->changed_.notify_all();
}

void Lane::stop() {
  stopping_ = true;
  lines_.cut(Purpose::Poll);
}

void Lane::cut() {
  stop();
  for (const HeldTask& held : held_) {
    held->gone = true;
    if (held->run) held->run->kill({ErrorKind::Canceled, "the worker stops"});
  }
  lines_.cut_all();
}

net::Task<Result<>> Lane::serve() {
  while (!stopping_) {
    CO_TRY(co_await need_box());
    auto tasks = co_await poll();
    if (!tasks) {
      if (!stopping_) {
        log_warn("steps.poll", {{"step", step_}, {"error", tasks.error().message()}});
        co_await pause();
      }
      continue;
    }
    pause_ms_ = 0;
    for (LentTask& task : *tasks) held_.push_back(std::make_shared<Held>(std::move(task)));
    co_await run_all();
  }
  while (!held_.empty()) co_await changed_.wait();
  co_return Result<>{};
}

net::Task<Result<>> Lane::need_box() {
  while (!box_ || box_->is_gone()) {
    box_.reset();
    auto started = co_await Box::start(loop_, box_options(options_, step_));
    if (started) {
      box_ = *std::move(started);
      CO_TRY(judge_confinement(*box_, step_));
      break;
    }
    log_error("steps.box", {{"step", step_}, {"error", started.error().message()}});
    if (++box_failures_ == kBoxFailuresMax) co_return std::move(started).error();
    co_await pause();
  }
  box_failures_ = 0;
  co_return Result<>{};
}

std::string Lane::poll_target() const {
  std::string target = lines_.server().target + "/steps";
  net::append_segment(target, step_);
  const int tasks =
      options_.tasks_per_poll > 0 ? options_.tasks_per_poll : box_->about().tasks_per_poll;
  net::append_query(target, "tasks", std::to_string(tasks));
  net::append_query(target, "inline", std::to_string(kInlineBytes));
  net::append_query(target, "worker", options_.worker_name);
  net::append_query(target, "version", box_->about().version);
  const std::string lacks = box_->lacks();
  net::append_query(target, "box", lacks.empty() ? "full" : lacks.substr(0, kLacksBytesMax));
  return target;
}

net::Task<Result<std::vector<LentTask>>> Lane::poll() {
  net::Request request = net::post_request(poll_target(), "", "text/plain");
  request.first_byte_ms = options_.poll_ms;
  // A poll on a kept connection that turns out dead is asked again: it may have been answered to
  // nobody, and such a task comes back by itself.
  request.repeat = net::Repeat::Always;
  Line& line = lines_.of_server(Purpose::Poll);
  CO_TRY_ASSIGN(const net::Response response,
                co_await line.fetch(authorized(std::move(request)), kPollBytesMax));
  if (response.status == 204) co_return std::vector<LentTask>{};
  if (response.status == 201) co_return parse_lent_tasks(response.body);
  co_return Error{Errc::Unavailable, fmt::format("the server answered {}", response.status)};
}

net::Task<> Lane::pause() {
  pause_ms_ = std::clamp(pause_ms_ * 2, options_.backoff_min_ms, options_.backoff_max_ms);
  const net::Instant until = net::in_ms(pause_ms_);
  while (!stopping_ && net::in_ms(0) < until) co_await changed_.wait(until);
}

net::Task<> Lane::run_all() {
  const std::vector<HeldTask> batch = held_;
  for (const HeldTask& held : batch) {
    if (held->began || held->over) continue;
    if (stopping_ || held->gone) {
      settle(held);
      continue;
    }
    co_await run_one(held);
  }
}

net::Task<> Lane::run_one(HeldTask held) {
  while (answers_awaited() >= kAnswersAwaitedMax) co_await changed_.wait();
  held->began = net::in_ms(0);
  held->slot = free_slot();
  const Result<> box = co_await need_box();
  if (!box.ok()) {
    settle(held);
    co_return;
  }
  if (!held->task.files.empty()) {
    co_await detect(held);
    settle(held);
    co_return;
  }
  co_await begin(held);
}

// Metadata that is too large for the task lies beside it.
net::Task<Result<std::string>> Lane::task_json(HeldTask held) {
  if (held->task.metadata_url.empty()) co_return held->task.json;
  CO_TRY_ASSIGN(const Lines::Place from, lines_.find(held->task.metadata_url, Purpose::Blob));
  net::Request request = net::get_request(from.target);
  CO_TRY_ASSIGN(const net::Response response,
                co_await from.line->fetch(authorized(std::move(request)), kMetadataBytesMax));
  if (response.status == 404) co_return Error{Errc::Missing, "the task is over"};
  if (response.status != 200) {
    co_return Error{Errc::Unavailable, fmt::format("metadata was answered {}", response.status)};
  }
  co_return with_metadata(held->task.json, response.body);
}

net::Task<> Lane::begin(HeldTask held) {
  const InputOptions options{options_.temp_folder};
  auto json = co_await task_json(held);
  Result<io::Descriptor> input = Error{Errc::Internal, "not opened"};
  if (json) input = co_await open_input(lines_, held->task.blob, options);
  if (!json) input = json.error();
  if (!input) {
    co_await give_up(held, input.error());
    co_return;
  }
  BoxTask task;
  task.json = *std::move(json);
  task.inputs = {input->get()};
  task.input_bytes = held->task.blob.bytes;
  task.boundary = make_boundary();
  task.job = held->task.job;
  auto run = box_->run(task);
  if (!run) {
    co_await give_up(held, run.error());
    co_return;
  }
  held->run = *std::move(run);
  ++coroutines_;
  loop_.spawn("steps.send", send(shared_from_this(), held, std::move(task.boundary)));
  while (!held->box_free) co_await changed_.wait();
}

// What is wrong with this machine or the way to the server is no fault of the file: nothing is
// told, and it is lent again. Only bytes that are not those that the task named are its own.
net::Task<> Lane::give_up(HeldTask held, Error why) {
  if (why.kind() == Errc::Corrupt) {
    Failure failure{ErrorKind::Fetch, why.message()};
    co_await tell_failure(held, std::move(failure), true);
  } else if (why.kind() != Errc::Missing) {
    log_warn("steps.dropped", {{"step", step_}, {"error", why.message()}});
  }
  settle(held);
  if (is_retryable(why.kind()) || why.kind() == Errc::Full) co_await pause();
}

void Lane::settle(const HeldTask& held) {
  held->over = held->box_free = true;
  held->run.reset();
  std::erase(held_, held);
  idle_since_ = net::in_ms(0);
  changed_.notify_all();
}

int Lane::free_slot() const {
  for (int slot = 0;; ++slot) {
    const auto takes = [slot](const HeldTask& held) { return held->slot == slot; };
    if (std::none_of(held_.begin(), held_.end(), takes)) return slot;
  }
}

int Lane::answers_awaited() const {
  const auto awaits = [](const HeldTask& held) { return held->box_free; };
  return static_cast<int>(std::count_if(held_.begin(), held_.end(), awaits));
}

net::Task<> Lane::keep_alive(std::shared_ptr<Lane> self) {
  while (!self->stopping_ || !self->held_.empty()) {
    const net::Instant next = net::in_ms(self->options_.heartbeat_ms);
    while (net::in_ms(0) < next && (!self->stopping_ || !self->held_.empty())) {
      co_await self->changed_.wait(next);
    }
    self->drop_waiting();
    const std::vector<HeldTask> held = self->held_;
    for (const HeldTask& one : held) co_await self->touch(one);
  }
  --self->coroutines_;
  self->changed_.notify_all();
}

// The server answers 404 where the task is over: nobody wants the rest.
net::Task<> Lane::touch(HeldTask held) {
  if (held->over || held->gone || held->task.url.empty()) co_return;
  auto place = lines_.find(held->task.url, Purpose::Heartbeat);
  if (!place) co_return;
  net::Request request = net::get_request(place->target);
  request.method = net::Method::Head;
  request.first_byte_ms = kHeartbeatMsMax;
  const auto answer = co_await place->line->fetch(authorized(std::move(request)), 0);
  if (!answer || answer->status != 404 || held->over) co_return;
  held->gone = true;
  if (held->run) held->run->kill({ErrorKind::Canceled, "the server has ended the task"});
}

// Tasks behind one that takes long are left alone: their lease runs out, and others get them.
void Lane::drop_waiting() {
  const auto long_ago = net::in_ms(-options_.alone_after_ms);
  const auto takes_long = [long_ago](const HeldTask& held) {
    return held->began && !held->box_free && *held->began < long_ago;
  };
  if (std::none_of(held_.begin(), held_.end(), takes_long)) return;
  const std::vector<HeldTask> all = held_;
  for (const HeldTask& held : all) {
    if (!held->began) settle(held);
  }
}

}  // namespace quern::worker

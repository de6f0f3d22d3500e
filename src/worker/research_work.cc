// How a researcher does one item: what it fetches, what it has its box do, and what it tells.
#include <fmt/format.h>

#include "base/crash.h"
#include "base/log.h"
#include "worker/researcher.h"
#include "worker/scratch_file.h"

namespace quern::worker {

using model::ErrorKind;
using State = ResearchWork::State;

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kFramedBytesMax = kFingerprintBytesMax + 64 * 1024;

// What a box says of a file is a sentence; what happened to a box needs its kind.
std::string text_of(const Failure& failure) {
  if (failure.kind == ErrorKind::Corrupt) return failure.message;
  return fmt::format("{}: {}", model::to_string(failure.kind), failure.message);
}

// Whose fault it is that an item cannot be done: its own, or this machine's and the way to it.
bool is_of_the_item(const Error& why) {
  return why.kind() == Errc::Corrupt || why.kind() == Errc::TooLarge || why.kind() == Errc::Invalid;
}

std::vector<std::size_t> places(const ResearchWork& work, State state) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < work.clips.size(); ++i) {
    if (work.clips[i].state == state) all.push_back(i);
  }
  return all;
}

std::vector<std::size_t> unfinished(const ResearchWork& work) {
  std::vector<std::size_t> all = places(work, State::Open);
  for (const std::size_t i : places(work, State::NeedsSound)) all.push_back(i);
  return all;
}

}  // namespace

net::Task<> Researcher::research(WorkPtr work) {
  Result<> went = co_await prepare(work);
  while (went.ok() && !stopping_ && !work->final_told) {
    const auto batch = co_await next_batch(work);
    if (!batch) went = batch.error();
    if (!batch || batch->empty()) break;
    went = co_await search(work, *batch);
  }
  const bool given_back = !went.ok() && !stopping_ && !is_of_the_item(went.error());
  if (!went.ok() && !stopping_ && !given_back) {
    co_await tell_failed(work, unfinished(*work), went.error().message());
  }
  if (given_back) {
    log_warn("research.given_back",
             {{"episode", work->item.episode.id}, {"error", went.error().message()}});
  }
  if (!work->final_told) (void)co_await calls_.tell(final_json(work->item));
  work->final_told = true;
  // Somebody else may do better, and this machine later.
  const net::Instant until = net::in_ms(given_back ? options_.backoff_max_ms : 0);
  while (given_back && !stopping_ && net::in_ms(0) < until) co_await changed_.wait(until);
}

net::Task<Result<>> Researcher::prepare(WorkPtr work) {
  CO_TRY(co_await need_fingerprint(work));
  co_return co_await need_clips(work);
}

// -- what is needed --

net::Task<Result<SharedFile>> Researcher::need_file(const ResearchMedia& media) {
  if (SharedFile here = kept_.find(media.sha256)) co_return here;
  if (media.bytes > options_.research_media_bytes) {
    co_return Error{Errc::TooLarge, fmt::format("it has {} bytes, and this researcher takes {}",
                                                media.bytes, options_.research_media_bytes)};
  }
  CO_TRY_ASSIGN(io::Descriptor fetched, co_await calls_.fetch(media.target, media.bytes));
  SharedFile file = std::make_shared<const io::Descriptor>(std::move(fetched));
  kept_.keep(media.sha256, file, media.bytes);
  co_return file;
}

net::Task<Result<>> Researcher::need_sound(WorkPtr work) {
  if (work->sound) co_return Result<>{};
  auto file = co_await need_file(work->item.episode);
  if (!file) co_return std::move(file).error().with_context("the episode");
  work->sound = *std::move(file);
  co_return Result<>{};
}

net::Task<Result<>> Researcher::need_fingerprint(WorkPtr work) {
  if (!work->item.fingerprint.empty()) {
    const auto bytes = co_await calls_.fetch_small(work->item.fingerprint, kFingerprintBytesMax);
    if (bytes) {
      CO_TRY_ASSIGN(io::Descriptor file, make_memory_file(*bytes));
      work->fingerprint = std::make_shared<const io::Descriptor>(std::move(file));
      co_return Result<>{};
    }
    if (bytes.error().kind() == Errc::Canceled) co_return bytes.error();
  }
  co_return co_await make_fingerprint(work);
}

net::Task<Result<>> Researcher::make_fingerprint(WorkPtr work) {
  CO_TRY(co_await need_sound(work));
  work->made_fingerprint = true;
  for (int deaths = 0;;) {
    std::string output;
    CO_TRY_ASSIGN(const RunEnd end, co_await run_index(work, &output));
    if (stopping_) co_return Error{Errc::Canceled, "the researcher stops"};
    if (end.failure) {
      if (end.seen_by_box && ++deaths < kDeathsMax) continue;
      co_return Error{Errc::Corrupt, "the episode: " + text_of(*end.failure)};
    }
    CO_TRY_ASSIGN(const MadeFingerprint made, parse_framed(output));
    CO_TRY_ASSIGN(io::Descriptor file, make_memory_file(made.bytes));
    work->fingerprint = std::make_shared<const io::Descriptor>(std::move(file));
    co_await calls_.put_fingerprint(work->item, made);
    co_return Result<>{};
  }
}

net::Task<Result<RunEnd>> Researcher::run_index(WorkPtr work, std::string* output) {
  CO_TRY(co_await need_box());
  ResearchTask about;
  about.mode = ResearchMode::Index;
  BoxTask task;
  task.json = research_task_json(about);
  task.inputs = {work->sound->get()};
  task.input_bytes = work->item.episode.bytes;
  CO_TRY_ASSIGN(work->run, box_->run(task));
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    const std::size_t n = co_await work->run->read(buffer);
    if (n == 0) break;
    if (output->size() + n > kFramedBytesMax) {
      work->run->kill({ErrorKind::TooLarge, "its fingerprint is too large"});
      continue;
    }
    output->append(buffer.data(), n);
  }
  RunEnd end = co_await work->run->finish();
  work->run.reset();
  co_return end;
}

net::Task<Result<>> Researcher::need_clips(WorkPtr work) {
  for (std::size_t i = 0; i < work->clips.size() && !stopping_; ++i) {
    auto file = co_await need_file(work->item.clips[i]);
    if (file) {
      work->clips[i].file = *std::move(file);
    } else if (file.error().kind() == Errc::Missing) {
      // Nobody curates it any more.
      work->clips[i].state = State::Done;
    } else if (is_of_the_item(file.error())) {
      const Batch one = {i};
      co_await tell_failed(work, one, "the clip: " + file.error().message());
    } else {
      co_return std::move(file).error();
    }
  }
  co_return Result<>{};
}

// -- the search --

// All at once; then those at which a box died, each alone; then those that need the sound.
net::Task<Result<Researcher::Batch>> Researcher::next_batch(WorkPtr work) {
  for (;;) {
    Batch together;
    for (const std::size_t i : places(*work, State::Open)) {
      if (work->clips[i].deaths == 0 && together.size() < kClipsPerRun) together.push_back(i);
    }
    if (!together.empty()) co_return together;
    const Batch open = places(*work, State::Open);
    if (!open.empty()) co_return Batch{open.front()};
    const Batch waiting = places(*work, State::NeedsSound);
    if (waiting.empty()) co_return Batch{};
    CO_TRY(co_await need_sound(work));
    for (const std::size_t i : waiting) work->clips[i].state = State::Open;
  }
}

net::Task<Result<>> Researcher::search(WorkPtr work, Batch batch) {
  CO_TRY(co_await need_box());
  ResearchTask about;
  about.mode = ResearchMode::Search;
  about.sound = work->sound != nullptr;
  BoxTask task;
  task.json = research_task_json(about);
  task.inputs.push_back(work->fingerprint->get());
  if (about.sound) {
    task.inputs.push_back(work->sound->get());
    task.input_bytes = work->item.episode.bytes;
  }
  for (const std::size_t i : batch) {
    task.inputs.push_back(work->clips[i].file->get());
    task.input_bytes += work->item.clips[i].bytes;
  }
  at_.reset();
  CO_TRY_ASSIGN(work->run, box_->run(task));
  ResearchLines lines(batch.size());
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    const std::size_t n = co_await work->run->read(buffer);
    if (n == 0) break;
    lines.feed({buffer.data(), n});
    while (auto line = lines.next()) co_await take_line(work, batch, *std::move(line));
    if (work->final_told) work->run->kill({ErrorKind::Canceled, "nobody wants the rest"});
  }
  RunEnd end = co_await work->run->finish();
  work->run.reset();
  co_await judge(work, std::move(batch), std::move(end));
  co_return Result<>{};
}

net::Task<> Researcher::take_line(WorkPtr work, const Batch& batch, ResearchLine line) {
  if (line.kind == ResearchLine::Kind::Pass) {
    at_.reset();
    co_return;
  }
  const std::size_t clip = batch[line.clip];
  if (work->clips[clip].state != State::Open || work->final_told) co_return;
  switch (line.kind) {
    case ResearchLine::Kind::Pass:
      break;
    case ResearchLine::Kind::Begin:
      at_ = clip;
      break;
    case ResearchLine::Kind::NeedsSound:
      if (!work->sound) work->clips[clip].state = State::NeedsSound;
      break;
    case ResearchLine::Kind::Result:
      co_await tell(work, clip, std::move(line.result));
      break;
  }
}

// How a run ended, and what becomes of the clips that it said nothing of.
net::Task<> Researcher::judge(WorkPtr work, Batch batch, RunEnd end) {
  if (stopping_ || work->final_told) co_return;
  Batch rest;
  for (const std::size_t i : batch) {
    if (work->clips[i].state == State::Open) rest.push_back(i);
  }
  if (rest.empty()) co_return;
  if (!end.failure) {
    co_await tell_failed(work, rest, "the search said nothing of this clip");
    co_return;
  }
  log_info("research.failure", {{"episode", work->item.episode.id},
                                {"kind", model::to_string(end.failure->kind)},
                                {"message", end.failure->message}});
  if (!end.seen_by_box && !work->made_fingerprint) {
    // Most likely the fingerprint, which may be of another hand.
    const Result<> made = co_await make_fingerprint(work);
    if (!made.ok() && !stopping_) co_await tell_failed(work, rest, made.error().message());
    co_return;
  }
  const std::string why = text_of(*end.failure);
  const bool blamed = end.seen_by_box && at_ && work->clips[*at_].state == State::Open;
  if (blamed && ++work->clips[*at_].deaths < kDeathsMax) co_return;
  if (blamed) rest = {*at_};
  if (!blamed && end.seen_by_box && ++work->deaths < kDeathsMax) co_return;
  co_await tell_failed(work, rest, why);
}

// -- what is told --

net::Task<> Researcher::tell(WorkPtr work, std::size_t clip, ClipResult result) {
  const bool last = work->left() == 1 || stopping_;
  std::string json =
      result_json(work->item, work->item.clips[clip], result, last ? LastOne::Yes : LastOne::No);
  crash_point("worker.research.before_result");
  const Result<> told = co_await calls_.tell(std::move(json));
  crash_point("worker.research.after_result");
  work->clips[clip].state = State::Done;
  if (told.ok() && last) work->final_told = true;
}

net::Task<> Researcher::tell_failed(WorkPtr work, Batch clips, std::string why) {
  for (const std::size_t clip : clips) {
    if (work->final_told) break;
    ClipResult failed;
    failed.error = why.substr(0, kClipErrorBytesMax);
    co_await tell(work, clip, std::move(failed));
  }
}

}  // namespace quern::worker

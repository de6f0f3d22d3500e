// Storing: what workers bring, handed to the writer behind the shard's fence.
#include "base/log.h"
#include "step/child_file.h"
#include "step/pipeline_core.h"

namespace quern::step {
namespace {

std::int64_t inline_bytes(const tree::NewFile& file) {
  std::size_t bytes = file.metadata.size() + file.filename.size() + 512;
  if (file.blob) bytes += file.blob->data.size();
  if (file.thumbnail) bytes += file.thumbnail->blob.data.size();
  if (file.text) bytes += file.text->text.size();
  return static_cast<std::int64_t>(bytes);
}

void discard(blob::BlobStore& blobs, const tree::NewFile& file) {
  if (file.blob && !file.blob->place.empty()) blobs.discard(file.blob->place);
  if (file.thumbnail && !file.thumbnail->blob.place.empty()) {
    blobs.discard(file.thumbnail->blob.place);
  }
  if (file.text && file.text->blob && !file.text->blob->place.empty()) {
    blobs.discard(file.text->blob->place);
  }
}

tree::ParentInfo parent_of(const Lent& lent) {
  const tree::File& file = lent.waiting.file;
  return {file.id,        file.root.value_or(file.id),
          file.job,       file.collection,
          lent.shard->id, file.depth,
          file.position};
}

}  // namespace

void Pipeline::Core::processed(const ShardPtr& shard) {
  shard->ingest_wanted = true;
  shard->wake.notify_all();
}

net::Task<> Pipeline::Core::store_child(LentPtr lent, tree::NewFile file, std::int64_t index) {
  const std::int64_t bytes = inline_bytes(file);
  // The writer's room is what the socket waits for.
  while (lent->pending >= static_cast<std::int64_t>(kPendingMax) ||
         (lent->pending > 0 && lent->pending_bytes + bytes > kPendingBytesMax)) {
    co_await lent->settled->wait();
  }
  if (lent->over || lent->broken) {
    discard(parts_.blobs, file);
    co_return;
  }
  if (lent->rendering) co_return keep_rendered(lent, std::move(file), index);
  const tree::File& parent = lent->waiting.file;
  const double width = parent.progress_end - parent.progress_begin;
  const double weight = model::progress_weight(lent->step);
  const double base = parent.progress_begin + width * weight;
  tree::FinishChild op;
  op.token = lent->shard->token;
  op.parent = parent_of(*lent);
  op.index = index;
  op.progress_begin = base + lent->left * (1 - weight) * width;
  op.progress_end = base + std::max(lent->left, lent->right) * (1 - weight) * width;
  op.file = std::move(file);
  const std::string step = op.file.failure || op.file.complete ? "" : op.file.step;
  ++lent->pending;
  lent->pending_bytes += bytes;
  queue::submit(
      parts_.loop, lane_of(lent->shard), std::move(op),
      [self = shared_from_this(), lent, bytes, step](const Result<tree::AddedFile>& added) {
        self->child_stored(lent, added, bytes, step);
      });
}

// The first child is how it looks, and a page has no other. Its words are known already.
void Pipeline::Core::keep_rendered(const LentPtr& lent, tree::NewFile file, std::int64_t index) {
  if (index > 0) {
    discard(parts_.blobs, file);
    lent->limit = tree::Failure{model::ErrorKind::Protocol, "it became more than one file"};
    return;
  }
  if (file.text && file.text->blob && !file.text->blob->place.empty()) {
    parts_.blobs.discard(file.text->blob->place);
  }
  file.text.reset();
  lent->rendered = std::move(file);
}

void Pipeline::Core::child_stored(const LentPtr& lent, const Result<tree::AddedFile>& added,
                                  std::int64_t bytes, const std::string& step) {
  --lent->pending;
  lent->pending_bytes -= bytes;
  lent->settled->notify_all();
  if (!added.ok()) {
    if (!lent->broken) lent->broken = added.error();
    return;
  }
  for (const std::string& place : added->orphans) parts_.blobs.discard(place);
  const Limits& limits = options_.limits;
  if (added->tree_files > limits.files_per_root_max) {
    lent->limit = tree::Failure{model::ErrorKind::TooMany, "its root has too many files"};
  } else if (added->tree_bytes > limits.bytes_per_root_max) {
    lent->limit = tree::Failure{model::ErrorKind::TooLarge, "its root expands to too many bytes"};
  }
  const ShardPtr& shard = lent->shard;
  if (!shard->alive || added->existed) return;
  if (step.empty()) return processed(shard);
  const std::optional<StepId> waits_for = model::parse_step(step);
  CHECK(waits_for);
  came(shard, *waits_for);
}

net::Task<> Pipeline::Core::stored(LentPtr lent) {
  while (lent->pending > 0) co_await lent->settled->wait();
}

net::Task<Result<bool>> Pipeline::Core::finish(LentPtr lent, std::optional<tree::Failure> failure) {
  co_await stored(lent);
  if (lent->over) co_return false;
  if (lent->rendering) co_return finish_rendering(lent, std::move(failure));
  if (lent->broken) {
    // Nothing is lost: it is done again, from the beginning.
    const Error why = *lent->broken;
    if (why.kind() == Errc::Stale) lose(lent->shard, why);
    if (!lent->over) interrupt(lent, why.message());
    co_return why;
  }
  if (lent->limit && !failure) failure = lent->limit;
  const ShardPtr shard = lent->shard;
  tree::FinishFile op{shard->id, shard->token, lent->waiting.file.id,
                      failure,   lent->report, lent->links};
  end(lent);
  const Result<bool> ended = co_await queue::write(parts_.loop, lane_of(shard), std::move(op));
  if (!ended.ok()) {
    if (ended.error().kind() == Errc::Stale) lose(shard, ended.error());
    put_back(shard, lent->step, {lent->waiting.file.id});
    co_return ended.error();
  }
  let_go(shard, lent->waiting.file.id);
  --shard->waiting[lent->step];
  log_debug("step.finished",
            {{"step", model::to_string(lent->step)}, {"file", lent->waiting.file.id.value}});
  StepStats& stats = stats_[lent->step];
  ++(failure ? stats.failed : stats.finished);
  workers_.count(worker_key(lent->report.worker, lent->step),
                 failure ? WorkerBook::How::Failed : WorkerBook::How::Finished);
  processed(shard);
  co_return *ended;
}

net::Task<Result<>> Pipeline::Core::fail_attempt(LentPtr lent, tree::Failure why) {
  co_await stored(lent);
  if (lent->over) co_return Result<>();
  if (lent->rendering) {
    end_rendering(lent, {Rendered::End::Attempt, {}, std::move(why)});
    co_return Result<>();
  }
  const ShardPtr shard = lent->shard;
  const std::vector<tree::FileId> files = files_of(lent);
  end(lent);
  ++stats_[lent->step].failed;
  workers_.count(worker_key(lent->report.worker, lent->step), WorkerBook::How::Failed);
  if (files.size() > 1) {
    // Which of them it was is found out one by one.
    for (const tree::FileId file : files) shard->singly.insert(file);
    put_back(shard, lent->step, files);
    co_return Result<>();
  }
  tree::CountEnd op{shard->id,      shard->token, files.front(), tree::CountEnd::Kind::Attempt,
                    std::move(why), lent->report};
  const Result<tree::CountEnd::Reply> counted =
      co_await queue::write(parts_.loop, lane_of(shard), std::move(op));
  if (!counted.ok() && counted.error().kind() == Errc::Stale) lose(shard, counted.error());
  put_back(shard, lent->step, files);
  if (!counted.ok()) co_return counted.error();
  if (counted->failed) processed(shard);
  co_return Result<>();
}

// What detection said of each file of a batch; those it did not name are left out.
std::vector<tree::SetType> Pipeline::Core::type_ops(const Lent& lent,
                                                    const DetectedTypes& types) const {
  std::map<std::int64_t, const tree::Waiting*> files;
  for (const tree::Waiting& waiting : lent.batch) files[waiting.file.id.value] = &waiting;
  std::map<std::int64_t, tree::SetType> ops;
  const auto op_of = [&](std::int64_t file) -> tree::SetType* {
    const auto found = files.find(file);
    if (found == files.end()) return nullptr;
    tree::SetType& op = ops[file];
    op.shard = lent.shard->id;
    op.token = lent.shard->token;
    op.file = found->second->file.id;
    return &op;
  };
  for (const DetectedFile& file : types.types) {
    tree::SetType* op = op_of(file.file);
    if (op == nullptr) continue;
    const bool ocr = parse_options(files[file.file]->file.options).ocr;
    Decision decision = decide_detected(file.type, ocr ? model::Ocr::Yes : model::Ocr::No);
    op->detected_type = file.type;
    op->step = std::move(decision.step);
    op->failure = std::move(decision.failure);
  }
  for (const UndetectedFile& file : types.failed) {
    tree::SetType* op = op_of(file.file);
    if (op == nullptr) continue;
    op->detected_type = model::kUnknownType;
    op->failure = tree::Failure{file.failure.kind, file.failure.message};
  }
  std::vector<tree::SetType> all;
  for (auto& [file, op] : ops) all.push_back(std::move(op));
  return all;
}

void Pipeline::Core::type_set(const ShardPtr& shard, tree::FileId file, const std::string& step) {
  let_go(shard, file);
  --shard->waiting[StepId::Detect];
  if (step.empty()) return processed(shard);
  if (const std::optional<StepId> next = model::parse_step(step)) came(shard, *next);
}

// A file waits for a step from now on.
void Pipeline::Core::came(const ShardPtr& shard, StepId step) {
  if (!shard->alive) return;
  ++shard->waiting[step];
  shard->served.try_emplace(step, net::in_ms(0));
  shard->windows[step].more = true;
  if (events_.waiting) events_.waiting(step);
  if (work_[step]->waiters() > 0 && shard->windows[step].files.empty()) refill(shard, step);
}

net::Task<Result<>> Pipeline::Core::set_types(LentPtr lent, DetectedTypes types) {
  if (lent->over) co_return Result<>();
  const ShardPtr shard = lent->shard;
  std::vector<tree::SetType> ops = type_ops(*lent, types);
  std::set<tree::FileId> untold;
  for (const tree::FileId file : files_of(lent)) untold.insert(file);
  end(lent);
  auto left = std::make_shared<std::size_t>(ops.size());
  auto settled = std::make_shared<net::Event>(parts_.loop);
  auto failed = std::make_shared<std::optional<Error>>();
  for (tree::SetType& op : ops) {
    const tree::FileId file = op.file;
    untold.erase(file);
    const std::string step = op.failure ? "" : op.step;
    queue::submit(parts_.loop, lane_of(shard), std::move(op),
                  [self = shared_from_this(), shard, file, step, left, settled,
                   failed](const Result<bool>& set) {
                    --*left;
                    settled->notify_all();
                    if (set.ok()) return self->type_set(shard, file, step);
                    *failed = set.error();
                    self->put_back(shard, StepId::Detect, {file});
                  });
  }
  while (*left > 0) co_await settled->wait();
  ++stats_[StepId::Detect].finished;
  workers_.count(worker_key(lent->report.worker, StepId::Detect), WorkerBook::How::Finished);
  if (*failed && (*failed)->kind() == Errc::Stale) lose(shard, **failed);
  if (!untold.empty()) put_back(shard, StepId::Detect, {untold.begin(), untold.end()});
  if (*failed) co_return **failed;
  co_return Result<>();
}

}  // namespace quern::step

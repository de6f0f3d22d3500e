#include "step/receiver.h"

#include <fmt/format.h>

#include "queue/await.h"
#include "step/child_file.h"

namespace quern::step {
namespace {

constexpr std::size_t kProgressBytesMax = 4096;
constexpr std::size_t kCostBytesMax = 4096;

using Kind = FragmentKind;

std::string_view thumbnail_type(Kind kind) {
  return kind == Kind::ThumbnailPng ? "image/png" : "image/jpeg";
}

}  // namespace

Receiver::Receiver(Pipeline& pipeline, LentPtr lent)
    : pipeline_(pipeline), lent_(std::move(lent)) {}

Receiver::~Receiver() {
  if (!spool_ || spool_->stays_in_memory(0)) return;
  // What was written goes, and that touches the disk.
  auto unused = std::make_shared<std::unique_ptr<blob::Spool>>(std::move(spool_));
  io::Pool::Job remove = [unused](io::Pool::Call) { unused->reset(); };
  (void)pipeline_.parts().pool.try_push(remove);
}

void Receiver::begin_part(std::string_view name) {
  name_ = name.substr(0, 100);
  fragment_ = parse_fragment(name);
  sink_ = Sink::Ignore;
  bug_.clear();
  memory_.clear();
  memory_max_ = 0;
  overflow_ = false;
  spool_.reset();
  head_.clear();
  if (!ended()) choose_sink();
}

void Receiver::choose_sink() {
  switch (fragment_.kind) {
    case Kind::Progress:
      sink_ = Sink::Memory;
      memory_max_ = kProgressBytesMax;
      return;
    case Kind::Cost:
      sink_ = Sink::Memory;
      memory_max_ = kCostBytesMax;
      return;
    case Kind::Error:
    case Kind::Failure:
      sink_ = Sink::Memory;
      memory_max_ = kNoticeBytesMax;
      return;
    case Kind::Note:
      sink_ = Sink::Memory;
      memory_max_ = kNoteBytesMax;
      return;
    case Kind::Links:
      sink_ = Sink::Memory;
      memory_max_ = kLinksBytesMax;
      return;
    case Kind::Heartbeat:
    case Kind::Done:
      return;
    case Kind::Types:
    case Kind::Unknown:
      bug_ = "step error: Unrecognized input name: " + parse_message(name_, 100);
      return;
    default:
      return choose_child_sink();
  }
}

void Receiver::choose_child_sink() {
  const std::int64_t index = fragment_.index;
  if (fragment_.kind == Kind::ChildJson) {
    if (index <= lent_->at) return;
    sink_ = Sink::Memory;
    memory_max_ = kChildJsonBytesMax;
    return;
  }
  if (lent_->at < 0) {
    bug_ = fmt::format("logic error in {}: unexpected fragment {}", model::to_string(lent_->step),
                       name_);
    return;
  }
  if (index < lent_->at || !lent_->child) return;
  const ChildUnderWay& child = *lent_->child;
  switch (fragment_.kind) {
    case Kind::ChildBlob:
      if (!child.blob && !child.inherits) open_spool();
      return;
    case Kind::ThumbnailPng:
    case Kind::ThumbnailJpg:
      if (!child.thumbnail && !child.bad_thumbnail) open_spool();
      return;
    case Kind::ChildText:
      if (child.text) return;
      sink_ = Sink::Text;
      cleaner_ = TextCleaner();
      return;
    case Kind::ChildError:
      sink_ = Sink::Memory;
      memory_max_ = kNoticeBytesMax;
      return;
    default:
      return;
  }
}

void Receiver::open_spool() {
  sink_ = Sink::Blob;
  spool_ = std::make_unique<blob::Spool>(pipeline_.parts().blobs);
}

// A member that expands beyond reason is an error, and what it brings is not stored.
bool Receiver::goes_over_limit(std::size_t more) {
  const Limits& limits = pipeline_.options().limits;
  const std::int64_t bytes = spool_->bytes() + static_cast<std::int64_t>(more);
  if (lent_->rendering && bytes > limits.rendering_bytes_max) {
    lent_->child->failure = too_large_rendering(limits);
    return true;
  }
  const std::int64_t parent = std::max<std::int64_t>(lent_->waiting.blob.bytes, 1);
  if (bytes <= limits.ratio_bytes_min || bytes / limits.ratio_max < parent) return false;
  lent_->child->failure =
      tree::Failure{model::ErrorKind::Ratio,
                    fmt::format("it expands to more than {} times the bytes of what it lies in",
                                limits.ratio_max)};
  return true;
}

bool Receiver::take_at_once(std::string_view bytes) {
  switch (sink_) {
    case Sink::Ignore:
      return true;
    case Sink::Memory: {
      const std::size_t room = memory_max_ - memory_.size();
      if (bytes.size() > room) overflow_ = true;
      memory_.append(bytes.substr(0, room));
      return true;
    }
    case Sink::Text:
      if (spool_ || memory_.size() + bytes.size() * 3 > tree::kTextInlineBytesMax) return false;
      cleaner_.feed(bytes, memory_);
      return true;
    case Sink::Blob:
      if (head_.size() < kHeadBytes) head_.append(bytes.substr(0, kHeadBytes - head_.size()));
      if (!spool_->stays_in_memory(bytes.size())) return false;
      CHECK_OK(spool_->write(bytes));
      return true;
  }
  return true;
}

net::Task<Result<>> Receiver::write_spool(std::string bytes) {
  blob::Spool* spool = spool_.get();
  auto write = [spool, &bytes] { return spool->write(bytes); };
  co_return co_await queue::offload(pipeline_.parts().loop, pipeline_.parts().pool,
                                    std::move(write));
}

net::Task<Result<>> Receiver::take(std::string_view bytes) {
  if (sink_ == Sink::Blob) {
    if (fragment_.kind == Kind::ChildBlob && goes_over_limit(bytes.size())) {
      sink_ = Sink::Ignore;
      auto unused = std::make_shared<std::unique_ptr<blob::Spool>>(std::move(spool_));
      io::Pool::Job remove = [unused](io::Pool::Call) { unused->reset(); };
      (void)pipeline_.parts().pool.try_push(remove);
      co_return Result<>();
    }
    co_return co_await write_spool(std::string(bytes));
  }
  // A long text leaves memory: what was cleaned so far goes first.
  cleaner_.feed(bytes, memory_);
  if (memory_.size() <= tree::kTextInlineBytesMax && !spool_) co_return Result<>();
  if (!spool_) spool_ = std::make_unique<blob::Spool>(pipeline_.parts().blobs);
  std::string cleaned = std::exchange(memory_, {});
  co_return co_await write_spool(std::move(cleaned));
}

net::Task<Result<>> Receiver::end_spool(std::optional<blob::Put>& put) {
  if (spool_->stays_in_memory(0)) {
    CO_TRY_ASSIGN(put, spool_->finish());
  } else {
    blob::Spool* spool = spool_.get();
    auto finish = [spool] { return spool->finish(); };
    CO_TRY_ASSIGN(put, co_await queue::offload(pipeline_.parts().loop, pipeline_.parts().pool,
                                               std::move(finish)));
  }
  spool_.reset();
  co_return Result<>();
}

net::Task<Result<>> Receiver::end_text() {
  cleaner_.finish(memory_);
  tree::Text text;
  text.cut = cleaner_.was_cut();
  if (!spool_ && memory_.size() > tree::kTextInlineBytesMax) {
    spool_ = std::make_unique<blob::Spool>(pipeline_.parts().blobs);
  }
  if (!spool_) {
    text.sha256 = blob::sha256_of(memory_);
    text.text = std::move(memory_);
  } else {
    std::string rest = std::exchange(memory_, {});
    CO_TRY(co_await write_spool(std::move(rest)));
    CO_TRY(co_await end_spool(text.blob));
    text.sha256 = text.blob->sha256;
  }
  lent_->child->text = std::move(text);
  co_return Result<>();
}

void Receiver::report_progress() {
  const std::optional<double> fraction = parse_progress(memory_);
  if (!fraction) return;
  lent_->fraction = std::max(lent_->fraction, *fraction);
  if (!lent_->child) return;
  lent_->right = std::max(lent_->right, *fraction);
  lent_->child->progressed = lent_->child->blob || lent_->child->inherits || lent_->child->failure;
}

net::Task<Result<>> Receiver::end_part() {
  if (ended()) co_return Result<>();
  if (!bug_.empty()) co_return co_await break_off(bug_);
  switch (fragment_.kind) {
    case Kind::Progress:
      report_progress();
      co_return Result<>();
    case Kind::Cost:
      if (const auto cost = parse_cost(memory_)) {
        lent_->report.wall_ms = cost->wall_ms;
        lent_->report.cpu_ms = cost->cpu_ms;
        lent_->report.peak_kib = cost->peak_kib;
      }
      co_return Result<>();
    case Kind::Note:
      lent_->report.note = parse_message(memory_, kNoteBytesMax);
      co_return Result<>();
    case Kind::Links:
      co_return co_await end_links();
    case Kind::Done:
      lent_->right = 1;
      if (lent_->child) CO_TRY(co_await finish_child());
      if (ended()) co_return Result<>();
      co_return co_await end_task(std::nullopt);
    case Kind::Error:
      co_return co_await end_task(worker_error(parse_message(memory_, kNoticeBytesMax)));
    case Kind::Failure: {
      Failure failure = parse_failure(memory_);
      tree::Failure why{failure.kind, std::move(failure.message)};
      if (!failure.again) co_return co_await end_task(std::move(why));
      ended_ = lent_->ended_by_worker = true;
      co_return co_await pipeline_.fail_attempt(lent_, std::move(why));
    }
    default:
      if (is_of_child(fragment_.kind)) co_return co_await end_child_part();
      co_return Result<>();
  }
}

net::Task<Result<>> Receiver::end_links() {
  if (overflow_) {
    co_return co_await break_off(
        fmt::format("step error: {} is longer than {} bytes", name_, kLinksBytesMax));
  }
  Result<std::string> links = parse_links(memory_);
  if (!links.ok()) co_return co_await break_off("step error: " + links.error().message());
  lent_->links = *std::move(links);
  co_return Result<>();
}

net::Task<Result<>> Receiver::end_child_part() {
  if (fragment_.kind == Kind::ChildJson) {
    if (sink_ == Sink::Ignore) co_return Result<>();
    co_return co_await begin_child();
  }
  if (!lent_->child || fragment_.index < lent_->at) co_return Result<>();
  ChildUnderWay& child = *lent_->child;
  if (fragment_.kind == Kind::InheritBlob) {
    if (!child.blob) child.inherits = true;
    co_return Result<>();
  }
  if (sink_ == Sink::Ignore) co_return Result<>();
  switch (fragment_.kind) {
    case Kind::ChildBlob:
      CO_TRY(co_await end_spool(child.blob));
      child.blob_head = head_;
      co_return Result<>();
    case Kind::ThumbnailPng:
    case Kind::ThumbnailJpg: {
      std::optional<blob::Put> put;
      CO_TRY(co_await end_spool(put));
      const std::string_view type = thumbnail_type(fragment_.kind);
      child.bad_thumbnail = !looks_like_image(head_, type);
      child.thumbnail = tree::Thumbnail{*std::move(put), std::string(type)};
      co_return Result<>();
    }
    case Kind::ChildText:
      co_return co_await end_text();
    case Kind::ChildError: {
      Failure failure = parse_failure(memory_);
      child.failure = tree::Failure{failure.kind, std::move(failure.message)};
      co_return Result<>();
    }
    default:
      co_return Result<>();
  }
}

net::Task<Result<>> Receiver::begin_child() {
  if (overflow_) {
    co_return co_await break_off(
        fmt::format("step error: {} is longer than {} bytes", name_, kChildJsonBytesMax));
  }
  Result<ChildHead> head = parse_child(memory_);
  if (!head.ok()) co_return co_await break_off("step error: " + head.error().message());
  if (lent_->child) {
    CO_TRY(co_await finish_child());
    if (ended()) co_return Result<>();
  }
  const std::int64_t next = lent_->at + 1;
  if (next >= pipeline_.options().limits.members_max) {
    tree::Failure many{
        model::ErrorKind::TooMany,
        fmt::format("it has more than {} members", pipeline_.options().limits.members_max)};
    co_return co_await end_task(std::move(many));
  }
  if (lent_->limit) co_return co_await end_task(lent_->limit);
  lent_->at = next;
  lent_->left = lent_->right;
  lent_->child.emplace();
  lent_->child->index = next;
  lent_->child->head = *std::move(head);
  co_return Result<>();
}

// The bytes are the parent's own; whether they are a PDF is seen there.
net::Task<Result<>> Receiver::load_inherited_head() {
  const blob::BlobId id = lent_->waiting.blob.id;
  const PipelineParts& parts = pipeline_.parts();
  auto load = [id](store::Tx& tx) { return blob::load_blob(tx, id, blob::Data::With); };
  CO_TRY_ASSIGN(const blob::Blob blob,
                co_await queue::read(parts.loop, parts.readers, std::move(load)));
  blob::BlobStore* blobs = &parts.blobs;
  auto read = [blobs, &blob]() -> Result<std::string> {
    TRY_ASSIGN(const blob::BlobReader reader, blobs->open_blob(blob));
    std::string head(kHeadBytes, '\0');
    TRY_ASSIGN(const std::size_t bytes, reader.read_at(0, head));
    head.resize(bytes);
    return head;
  };
  CO_TRY_ASSIGN(lent_->child->blob_head,
                co_await queue::offload(parts.loop, parts.pool, std::move(read)));
  co_return Result<>();
}

net::Task<Result<>> Receiver::finish_child() {
  if (!lent_->child->blob && !lent_->child->inherits && !lent_->child->failure) {
    co_return co_await break_off(
        fmt::format("logic error in {}: tried to write child without blob data",
                    model::to_string(lent_->step)));
  }
  if (lent_->child->inherits) CO_TRY(co_await load_inherited_head());
  const std::int64_t index = lent_->child->index;
  tree::NewFile file = child_file(pipeline_, *lent_, *std::move(lent_->child));
  lent_->child.reset();
  co_await pipeline_.store_child(lent_, std::move(file), index);
  co_return Result<>();
}

net::Task<Result<>> Receiver::end_task(std::optional<tree::Failure> failure) {
  // An error follows a damaged member's bytes directly; one that was reported whole is good.
  if (failure && lent_->child && lent_->child->progressed) CO_TRY(co_await finish_child());
  lent_->drop_child();
  if (ended()) co_return Result<>();
  ended_ = lent_->ended_by_worker = true;
  CO_TRY(co_await pipeline_.finish(lent_, std::move(failure)));
  co_return Result<>();
}

net::Task<Result<>> Receiver::break_off(std::string why) {
  lent_->drop_child();
  ended_ = lent_->ended_by_worker = true;
  tree::Failure failure{model::ErrorKind::Protocol, std::move(why)};
  co_return co_await pipeline_.fail_attempt(lent_, std::move(failure));
}

}  // namespace quern::step

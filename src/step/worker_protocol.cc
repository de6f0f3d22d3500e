#include "step/worker_protocol.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <vector>

#include "base/log.h"
#include "queue/await.h"
#include "step/child_file.h"
#include "step/multipart.h"
#include "step/receiver.h"
#include "step/task_json.h"

namespace quern::step {
namespace {

// Below what malloc asks the system for each time.
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kPollBodyBytesMax = 64 * 1024;
constexpr std::size_t kNameBytesMax = 200;

net::Response gone() {
  return net::text_response(404,
                            "This task is over: it was finished, canceled or given to another.");
}

// A worker may be silent for long, and send as much as it likes.
void expect_long_body(const Pipeline& pipeline, net::Exchange& exchange) {
  exchange.limit_body(kAnySize);
  exchange.set_body_stall_ms(pipeline.options().post_ms_max);
}

net::Task<Result<>> drain_and_say(net::Exchange& exchange, net::Response response) {
  CO_TRY(co_await exchange.drain(kAnySize));
  co_return co_await exchange.respond(std::move(response));
}

std::size_t number_of(const net::Target& target, std::string_view name, std::size_t fallback,
                      std::size_t max) {
  const std::string* text = target.find(name);
  if (text == nullptr) return fallback;
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failed != std::errc{} || end != text->data() + text->size()) return fallback;
  return std::min(number, max);
}

std::string text_of(const net::Target& target, std::string_view name) {
  const std::string* text = target.find(name);
  return text == nullptr ? "" : parse_message(*text, kNameBytesMax);
}

TaskBlob blob_of(const PipelineParts& parts, const tree::Waiting& waiting, bool local) {
  TaskBlob blob;
  blob.bytes = waiting.blob.bytes;
  blob.sha1 = waiting.blob.sha1;
  blob.sha256 = waiting.blob.sha256;
  if (local) {
    if (const auto path = parts.blobs.path_of(waiting.blob)) blob.path = path->string();
  }
  return blob;
}

Task task_of(const Pipeline& pipeline, const Lent& lent, bool local) {
  const tree::File& file = lent.waiting.file;
  const FileOptions options = parse_options(file.options);
  Task task;
  task.id = lent.id;
  task.url = task_url(lent.base_url, model::to_string(lent.step), lent.id);
  task.file = file.id.value;
  task.job = file.job.value;
  task.filename = file.filename;
  task.content_type = file.content_type;
  task.detected_type = file.detected_type;
  task.language = options.language;
  task.metadata = file.metadata;
  task.want_ocr = options.ocr;
  task.want_split = options.split_by_page;
  task.blob = blob_of(pipeline.parts(), lent.waiting, local);
  return task;
}

// Small inputs come along with their tasks. A missing one is fetched by its address.
using InlineData = std::map<blob::BlobId, std::string>;

net::Task<InlineData> load_inline(const PipelineParts& parts, const std::vector<LentPtr>& lents,
                                  std::size_t inline_max) {
  std::vector<blob::BlobId> ids;
  const auto add = [&ids, inline_max](const tree::Waiting& waiting) {
    const bool small = waiting.blob.bytes <= static_cast<std::int64_t>(inline_max);
    if (small && waiting.blob.place.empty()) ids.push_back(waiting.blob.id);
  };
  for (const LentPtr& lent : lents) {
    if (lent->step != model::StepId::Detect) add(lent->waiting);
    for (const tree::Waiting& waiting : lent->batch) add(waiting);
  }
  InlineData data;
  if (ids.empty() || inline_max == 0) co_return data;
  auto load = [ids](store::Tx& tx) { return blob::load_blobs(tx, ids, blob::Data::With); };
  Result<std::vector<blob::Blob>> blobs =
      co_await queue::read(parts.loop, parts.readers, std::move(load));
  if (!blobs.ok()) co_return data;
  for (blob::Blob& blob : *blobs) data[blob.id] = std::move(blob.data);
  co_return data;
}

std::string detect_json(const Pipeline& pipeline, const Lent& lent, const InlineData& data,
                        bool local) {
  std::vector<DetectFile> files;
  const std::string url = task_url(lent.base_url, model::to_string(lent.step), lent.id);
  for (const tree::Waiting& waiting : lent.batch) {
    DetectFile file{waiting.file.id.value, waiting.file.filename,
                    blob_of(pipeline.parts(), waiting, local)};
    file.blob.url = fmt::format("{}/blob-{}", url, waiting.file.id);
    if (const auto found = data.find(waiting.blob.id); found != data.end()) {
      file.blob.data = found->second;
    }
    files.push_back(std::move(file));
  }
  return detect_task_json({lent.id, url, files});
}

std::string json_of(const Pipeline& pipeline, const Lent& lent, const InlineData& data,
                    bool local) {
  if (lent.step == model::StepId::Detect) return detect_json(pipeline, lent, data, local);
  Task task = task_of(pipeline, lent, local);
  if (const auto found = data.find(lent.waiting.blob.id); found != data.end()) {
    task.blob.data = found->second;
  }
  return task_json(task);
}

bool is_local(const net::Exchange& exchange) {
  return exchange.peer() == net::PeerKind::Unix;
}

// The POST is open while this lives: the idle clock stands still.
class Posting {
 public:
  explicit Posting(LentPtr lent) : lent_(std::move(lent)) { lent_->posting = true; }
  ~Posting() {
    lent_->posting = false;
    lent_->touched = net::in_ms(0);
  }
  Posting(const Posting&) = delete;
  Posting& operator=(const Posting&) = delete;

 private:
  LentPtr lent_;
};

class Reading {
 public:
  explicit Reading(LentPtr lent) : lent_(std::move(lent)) { ++lent_->reading; }
  ~Reading() {
    --lent_->reading;
    lent_->touched = net::in_ms(0);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  LentPtr lent_;
};

// Everything that a piece of the body has in it. False at a body that cannot be understood.
net::Task<Result<>> take_events(MultipartReader& reader, Receiver& receiver) {
  using Kind = MultipartReader::Kind;
  while (true) {
    const MultipartReader::Event event = reader.next();
    switch (event.kind) {
      case Kind::NeedMore:
      case Kind::End:
        co_return Result<>();
      case Kind::PartBegin:
        receiver.begin_part(event.text);
        break;
      case Kind::Data:
        if (!receiver.take_at_once(event.text)) CO_TRY(co_await receiver.take(event.text));
        break;
      case Kind::PartEnd:
        CO_TRY(co_await receiver.end_part());
        break;
      case Kind::Malformed: {
        std::string why = "step error: " + std::string(event.text);
        co_return co_await receiver.break_off(std::move(why));
      }
    }
    if (receiver.ended()) co_return Result<>();
  }
}

// Reads the body and acts on it until the task has ended; the rest is only read. Errors of ours are
// kept in `trouble`, those of the connection returned.
net::Task<Result<>> receive(Pipeline& pipeline, net::Exchange& exchange, LentPtr lent,
                            MultipartReader reader, std::optional<Error>& trouble) {
  Receiver receiver(pipeline, lent);
  auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  while (!receiver.ended() && !trouble) {
    const std::span<char> room(buffer.get(), kReadBytes);
    CO_TRY_ASSIGN(const std::size_t bytes, co_await exchange.read(room));
    if (bytes == 0) break;
    reader.feed({buffer.get(), bytes});
    const Result<> taken = co_await take_events(reader, receiver);
    if (!taken.ok()) trouble = taken.error();
    if (reader.ended()) break;
  }
  // A body that was cut in mid-part is no error: the task keeps its state and may go on.
  buffer.reset();
  co_return co_await exchange.drain(kAnySize);
}

// The same for a body that is one part.
net::Task<Result<>> receive_one(Pipeline& pipeline, net::Exchange& exchange, LentPtr lent,
                                std::string name, std::optional<Error>& trouble) {
  Receiver receiver(pipeline, lent);
  receiver.begin_part(name);
  std::vector<char> buffer(kReadBytes);
  while (!trouble) {
    CO_TRY_ASSIGN(const std::size_t bytes, co_await exchange.read(buffer));
    if (bytes == 0) break;
    const std::string_view piece(buffer.data(), bytes);
    if (receiver.take_at_once(piece)) continue;
    const Result<> taken = co_await receiver.take(piece);
    if (!taken.ok()) trouble = taken.error();
  }
  if (!trouble) {
    const Result<> ended = co_await receiver.end_part();
    if (!ended.ok()) trouble = ended.error();
  }
  co_return co_await exchange.drain(kAnySize);
}

net::Response answer_to(const LentPtr& lent, const std::optional<Error>& trouble, bool was_over) {
  if (was_over) return gone();
  if (lent->broken && lent->broken->kind() == Errc::Stale) return gone();
  if (trouble) return net::problem(500, trouble->message());
  if (lent->broken) return net::problem(500, lent->broken->message());
  return net::text_response(202, "Accepted: what you sent is stored.");
}

// A failure to store is the server's: the file is lent again.
net::Task<> settle_trouble(Pipeline& pipeline, LentPtr lent, const std::optional<Error>& trouble) {
  co_await pipeline.stored(lent);
  if (!trouble || lent->over) co_return;
  log_warn("step.receive_failed",
           {{"file", lent->waiting.file.id.value}, {"error", trouble->message()}});
  lent->broken = trouble;
  (void)co_await pipeline.finish(lent, std::nullopt);
}

class BlobContent final : public net::ContentSource {
 public:
  BlobContent(const PipelineParts& parts, blob::BlobReader reader, const blob::Blob& blob,
              bool whole)
      : parts_(parts), reader_(reader) {
    if (whole) verifying_.emplace(std::move(reader), blob);
  }

  net::Task<Result<std::size_t>> read_at(std::uint64_t offset, std::span<char> output) override {
    const auto at = static_cast<std::int64_t>(offset);
    auto read = [this, at, output]() -> Result<std::size_t> {
      if (verifying_ && verifying_->offset() == at) return verifying_->read(output);
      return reader_.read_at(at, output);
    };
    if (reader_.is_in_memory()) co_return read();
    co_return co_await queue::offload(parts_.loop, parts_.pool, std::move(read));
  }

 private:
  const PipelineParts& parts_;
  blob::BlobReader reader_;
  std::optional<blob::VerifyingReader> verifying_;
};

// The blob that a name of a task's address stands for.
std::optional<blob::BlobId> input_of(const Lent& lent, const std::string& name) {
  if (lent.step != model::StepId::Detect) {
    return name == "blob" ? std::optional(lent.waiting.blob.id) : std::nullopt;
  }
  for (const tree::Waiting& waiting : lent.batch) {
    if (name == fmt::format("blob-{}", waiting.file.id)) return waiting.blob.id;
  }
  return std::nullopt;
}

LentPtr find_task(Pipeline& pipeline, const TaskAddress& address) {
  const auto step = model::parse_step(address.step);
  LentPtr lent = step ? pipeline.find(*step, address.task) : nullptr;
  if (lent) pipeline.touch(lent);
  return lent;
}

}  // namespace

net::Task<Result<>> serve_poll(Pipeline& pipeline, net::Exchange& exchange,
                               const net::Target& target, std::string step_name) {
  const auto step = model::parse_step(step_name);
  if (!step) co_return Error{Errc::Missing, "there is no step " + step_name};
  CO_TRY(co_await exchange.drain(kPollBodyBytesMax));
  PollOrder order;
  order.step = *step;
  const bool several = target.find("tasks") != nullptr;
  order.tasks = std::max<std::size_t>(number_of(target, "tasks", 1, kTasksPerPollMax), 1);
  order.worker = text_of(target, "worker");
  order.version = text_of(target, "version");
  order.box = text_of(target, "box");
  order.base_url = base_url(exchange.request().headers.find("Host"));
  const std::size_t inline_max = number_of(target, "inline", 0, blob::kInlineBytesMax);
  const std::vector<LentPtr> lents = co_await pipeline.lend(exchange, std::move(order));
  if (lents.empty()) co_return co_await exchange.respond(net::empty_response(204));
  const InlineData data = co_await load_inline(pipeline.parts(), lents, inline_max);
  std::vector<std::string> tasks;
  for (const LentPtr& lent : lents) {
    tasks.push_back(json_of(pipeline, *lent, data, is_local(exchange)));
  }
  const std::string body = several ? tasks_json(tasks) : tasks.front();
  const Result<> sent = co_await exchange.respond(net::json_response(201, body));
  if (!sent.ok()) {
    // The worker went while it waited: nobody has these.
    for (const LentPtr& lent : lents) pipeline.take_back(lent);
  }
  co_return sent;
}

net::Task<Result<>> serve_task(Pipeline& pipeline, net::Exchange& exchange, TaskAddress address) {
  const LentPtr lent = find_task(pipeline, address);
  if (!lent) co_return co_await exchange.respond(gone());
  const std::string body = json_of(pipeline, *lent, {}, is_local(exchange));
  co_return co_await exchange.respond(net::json_response(200, body));
}

net::Task<Result<>> send_blob(const PipelineParts& parts, net::Exchange& exchange, blob::BlobId id,
                              BlobHead head) {
  auto load = [id](store::Tx& tx) { return blob::load_blob(tx, id, blob::Data::With); };
  CO_TRY_ASSIGN(const blob::Blob blob,
                co_await queue::read(parts.loop, parts.readers, std::move(load)));
  blob::BlobStore* blobs = &parts.blobs;
  auto open = [blobs, &blob] { return blobs->open_blob(blob); };
  CO_TRY_ASSIGN(blob::BlobReader reader,
                co_await queue::offload(parts.loop, parts.pool, std::move(open)));
  net::Content content;
  content.size = static_cast<std::uint64_t>(blob.bytes);
  content.content_type = std::move(head.content_type);
  content.headers = std::move(head.headers);
  content.etag = fmt::format("\"{}\"", blob::hex_of(blob.sha256));
  const bool whole = exchange.request().headers.find("Range") == nullptr;
  BlobContent source(parts, std::move(reader), blob, whole);
  co_return co_await exchange.respond_content(source, std::move(content));
}

net::Task<Result<>> serve_input(Pipeline& pipeline, net::Exchange& exchange, TaskAddress address) {
  const LentPtr lent = find_task(pipeline, address);
  if (!lent) co_return co_await exchange.respond(gone());
  const Reading reading(lent);
  if (address.name == "metadata" && lent->step != model::StepId::Detect) {
    co_return co_await exchange.respond(net::json_response(200, lent->waiting.file.metadata));
  }
  const std::optional<blob::BlobId> id = input_of(*lent, address.name);
  if (!id) co_return co_await exchange.respond(gone());
  BlobHead plain;
  co_return co_await send_blob(pipeline.parts(), exchange, *id, std::move(plain));
}

net::Task<Result<>> serve_fragments(Pipeline& pipeline, net::Exchange& exchange,
                                    TaskAddress address) {
  expect_long_body(pipeline, exchange);
  const LentPtr lent = find_task(pipeline, address);
  if (!lent) co_return co_await drain_and_say(exchange, gone());
  if (lent->posting) {
    co_return co_await drain_and_say(exchange,
                                     net::problem(500, "another POST of this task is open"));
  }
  const std::string* type = exchange.request().headers.find("Content-Type");
  Result<MultipartReader> reader = MultipartReader::make(type == nullptr ? "" : *type);
  if (!reader.ok()) {
    co_return co_await drain_and_say(exchange, net::problem(415, reader.error().message()));
  }
  std::optional<Error> trouble;
  bool was_over = false;
  Result<> received;
  {
    const Posting posting(lent);
    received = co_await receive(pipeline, exchange, lent, *std::move(reader), trouble);
    was_over = lent->over && !lent->ended_by_worker;
    co_await settle_trouble(pipeline, lent, trouble);
  }
  CO_TRY(std::move(received));
  co_return co_await exchange.respond(answer_to(lent, trouble, was_over));
}

net::Task<Result<>> serve_fragment(Pipeline& pipeline, net::Exchange& exchange,
                                   TaskAddress address) {
  expect_long_body(pipeline, exchange);
  const LentPtr lent = find_task(pipeline, address);
  if (!lent) co_return co_await drain_and_say(exchange, gone());
  if (lent->posting) {
    co_return co_await drain_and_say(exchange,
                                     net::problem(500, "another POST of this task is open"));
  }
  std::optional<Error> trouble;
  bool was_over = false;
  {
    const Posting posting(lent);
    if (lent->step == model::StepId::Detect && address.name == "types") {
      CO_TRY_ASSIGN(const std::string body, co_await exchange.read_all(kTypesJsonBytesMax));
      Result<DetectedTypes> types = parse_types(body);
      if (!types.ok()) {
        tree::Failure bad{model::ErrorKind::Protocol, types.error().message()};
        CO_TRY(co_await pipeline.fail_attempt(lent, std::move(bad)));
        co_return types.error();
      }
      const Result<> set = co_await pipeline.set_types(lent, *std::move(types));
      if (!set.ok()) trouble = set.error();
    } else {
      CO_TRY(co_await receive_one(pipeline, exchange, lent, address.name, trouble));
      was_over = lent->over && !lent->ended_by_worker;
      co_await settle_trouble(pipeline, lent, trouble);
    }
  }
  co_return co_await exchange.respond(answer_to(lent, trouble, was_over));
}

}  // namespace quern::step

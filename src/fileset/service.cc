#include "fileset/service.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <charconv>

#include "base/check.h"
#include "blob/digest.h"
#include "io/file.h"
#include "queue/await.h"
#include "queue/locked_partitions.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using store::Tx;

std::string random_text() {
  std::uint64_t bits = 0;
  CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:016x}", bits);
}

// The same request, asked for in the same way, is gone on with while it runs; with a key, for ever.
tree::NewJob job_for(const DatasetOrder& order) {
  const json::value asked{{"request", order.request.raw},
                          {"options", to_json(order.options)},
                          {"collection", order.collection}};
  std::string name = serialize_sorted(asked);
  if (order.retry_of) name += fmt::format(" retry of {}", *order.retry_of);
  tree::NewJob job;
  job.kind = kJobKind;
  job.collection = order.collection;
  if (order.key.empty()) {
    job.resumes = "dataset:" + blob::hex_of(blob::sha256_of(name)).substr(0, 16);
    job.key = job.resumes + ":" + random_text();
  } else {
    job.key = order.key;
  }
  job.source = order.request.base_url.substr(0, tree::kSourceBytesMax);
  job.shards = 1;
  return job;
}

// A key that was used for something else would hide what is asked for now.
Result<> expect_same(Tx& tx, const NewRequest& asked) {
  TRY_ASSIGN(RequestRow stored, load_request(tx, asked.job));
  // Limits may be the server's, which change.
  stored.options.files_max = asked.options.files_max;
  stored.options.bytes_max = asked.options.bytes_max;
  if (stored.request.raw == asked.request.raw && stored.options == asked.options) return {};
  return Error{Errc::Conflict, fmt::format("that key belongs to job {}, which is another request: "
                                           "use a fresh key",
                                           asked.job)};
}

}  // namespace

Service::Service(ServiceParts parts, ServiceOptions options)
    : parts_(std::move(parts)), options_(std::move(options)), folder_(parts_.data / "datasets") {}

Service::~Service() {
  stop();
}

// Parts of requests that are gone, or have ended: what a death left, and what nobody has gone on
// with for long.
Result<> Service::clear_folders() {
  TRY(io::make_folders_durably(folder_));
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    tree::JobId job;
    const auto [end, odd] = std::from_chars(name.data(), name.data() + name.size(), job.value);
    if (odd != std::errc{} || end != name.data() + name.size()) continue;
    auto look = [job](Tx& tx) -> Result<std::optional<std::vector<FileRow>>> {
      TRY_ASSIGN(const bool open, is_open(tx, job));
      if (open) return std::optional<std::vector<FileRow>>();
      TRY_ASSIGN(const bool fresh, has_ended_within(tx, job, kPartsKeptUs));
      std::vector<FileRow> files;
      if (fresh) {
        TRY_ASSIGN(files, list_files(tx, job));
      }
      return std::optional(std::move(files));
    };
    TRY_ASSIGN(const auto files, parts_.readers.run(look));
    if (files) TRY(remove_parts(entry.path(), *files));
  }
  return {};
}

Result<> Service::add_processors(queue::Processors& processors, Backends backends) {
  TRY(clear_folders());
  cancel_outside_ = backends.cancel;
  ProcessorParts parts{.loop = parts_.loop,
                       .writer = parts_.writer,
                       .readers = parts_.readers,
                       .pool = parts_.pool,
                       .blobs = parts_.blobs,
                       .outside = backends.outside,
                       .folder = folder_,
                       .tools = backends.tools,
                       .decide = parts_.decide,
                       .limits = options_.limits,
                       .topic_prefix = options_.topic_prefix,
                       .at_once = options_.at_once,
                       .tries_max = options_.tries_max,
                       .changed = {},
                       .poke_job = parts_.poke_job};
  parts.changed = [this](tree::JobId job) {
    const json::object event{{"job", job.value}};
    parts_.publish("fileset.changed", event);
  };
  processor_ = std::make_shared<FilesetProcessor>(std::move(parts));
  processors[kPartitionKind] = processor_;
  return {};
}

void Service::stop() {
  if (processor_) processor_->cancel();
  if (cancel_outside_) std::exchange(cancel_outside_, nullptr)();
}

net::Task<Result<tree::Job>> Service::begin(DatasetOrder order) {
  auto shared = std::make_shared<const DatasetOrder>(std::move(order));
  struct Opened {
    tree::Job job;
    queue::PartitionId partition;
  };
  const bool is_due = net::in_ms(0) >= next_clear_;
  if (is_due) next_clear_ = net::in_ms(kClearMs);
  auto open = [this, shared, is_due]() -> Result<Opened> {
    if (is_due && processor_) TRY(clear_folders());
    TRY_ASSIGN(tree::Job job, parts_.open_job(job_for(*shared)));
    TRY_ASSIGN(const queue::PartitionId id,
               queue::ensure_partition(parts_.writer, parts_.readers, partition_name(job.id)));
    return Opened{std::move(job), id};
  };
  CO_TRY_ASSIGN(const Opened opened,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(open)));
  const queue::PartitionId partition = opened.partition;
  auto note = queue::change_partition(
      partition,
      [shared, job = opened.job, partition, at_once = options_.at_once](Tx& tx) -> Result<bool> {
        const NewRequest request{job.id, job.collection, shared->request, shared->options,
                                 shared->retry_of};
        TRY(add_request(tx, request));
        TRY(expect_same(tx, request));
        TRY(open_partition(tx, partition, job.id, at_once));
        return true;
      });
  CO_TRY(co_await queue::write(parts_.loop, parts_.writer.lane(queue::lane_of(partition)),
                               std::move(note)));
  parts_.poke(partition);
  co_return opened.job;
}

net::Task<Result<tree::Job>> Service::retry(tree::JobId id) {
  struct Before {
    RequestRow row;
    tree::Job job;
    std::optional<tree::Job> success;
  };
  auto load = [id](Tx& tx) -> Result<Before> {
    Before before;
    TRY_ASSIGN(before.row, load_request(tx, id));
    TRY_ASSIGN(before.job, tree::load_job(tx, id));
    TRY_ASSIGN(const std::optional<tree::JobId> success, find_success(tx, before.row));
    if (success) {
      TRY_ASSIGN(before.success, tree::load_job(tx, *success));
    }
    return before;
  };
  CO_TRY_ASSIGN(const Before before,
                co_await queue::read(parts_.loop, parts_.readers, std::move(load)));
  if (before.row.state != RequestState::Ended) {
    co_return Error{Errc::Conflict, "it has not ended yet: there is nothing to do again"};
  }
  // Whoever was killed before its answer came asks again: nothing is left to do.
  if (before.success) co_return *before.success;
  DatasetOrder order{before.job.collection_name, before.row.request, before.row.options, id};
  co_return co_await begin(std::move(order));
}

net::Task<Result<>> Service::forget(tree::JobId job) {
  if (processor_) co_await processor_->stop_job(job);
  auto clear = [folder = folder_ / fmt::format("{}", job)] { return remove_parts(folder, {}); };
  co_return co_await queue::offload(parts_.loop, parts_.pool, std::move(clear));
}

}  // namespace quern::fileset

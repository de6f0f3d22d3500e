// POST of plain bytes: /api/v1/collections/{name}/files and /api/v1/jobs/{job}/files.
#include "api/adding.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <limits>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "base/utf8.h"
#include "io/file.h"
#include "queue/submit.h"
#include "step/pipeline.h"
#include "tree/file.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kFramesBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kFramesMax = 1024;
constexpr std::int64_t kFreePartMin = 50;  // 2 %
constexpr std::size_t kLanguageBytesMax = 16;

bool flag_of(Parameters& parameters, std::string_view name) {
  const std::string text = parameters.text(name);
  if (text.empty() || text == "0" || text == "false") return false;
  if (text == "1" || text == "true") return true;
  parameters.refuse({Errc::Invalid, fmt::format("'{}' must be true or false", name)});
  return false;
}

// What curl and browsers send by themselves says nothing of the file.
std::string claimed_type(const net::Headers& headers) {
  const std::string* given = headers.find("Content-Type");
  const std::string type = given == nullptr ? "" : *given;
  if (type.empty() || type.starts_with("application/x-www-form-urlencoded")) {
    return std::string(model::kUnknownType);
  }
  return type.substr(0, model::kTypeBytesMax);
}

json::object to_json(const tree::AddedFile& added, tree::JobId job) {
  return {{"file", added.id.value}, {"job", job.value}, {"existed", added.existed}};
}

net::Task<Result<JobShards>> shards_of(PartsPtr parts, tree::JobId job) {
  auto load = [job](store::Tx& tx) { return load_job_shards(tx, job); };
  co_return co_await read(parts->loop, parts->readers, std::move(load));
}

// A file without a job has one of its own, which ends with it.
net::Task<Result<>> add_alone(PartsPtr parts, Call call, std::string collection, RootOrder order) {
  CO_TRY_ASSIGN(blob::Put put, co_await spool_body(parts, call.exchange));
  const std::string* key = call.exchange.request().headers.find("Idempotency-Key");
  tree::NewJob wanted;
  wanted.collection = std::move(collection);
  wanted.key = key == nullptr ? random_key() : *key;
  wanted.source = order.filename.substr(0, valid_utf8_prefix(order.filename.substr(0, 1000)));
  CO_TRY_ASSIGN(const tree::Job job, co_await open_job(parts, wanted));
  CO_TRY_ASSIGN(const JobShards shards, co_await shards_of(parts, job.id));
  tree::AddRoot root{job.id, shards.collection, shards.of(0), 0, new_root(*parts, order)};
  root.file.bytes = put.bytes;
  root.file.blob = std::move(put);
  CO_TRY_ASSIGN(const tree::AddedFile added, co_await add_root(parts, std::move(root)));
  const tree::JobId id = job.id;
  auto seal = [id](store::Tx& tx) { return tree::seal_job(tx, id, 0); };
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), std::move(seal)));
  parts->pipeline.poke(id);
  const std::string answer = json::serialize(to_json(added, id));
  co_return co_await call.exchange.respond(net::json_response(201, answer));
}

net::Task<Result<>> add_to_collection(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::int64_t job = parameters.number("job").value_or(0);
  const std::int64_t index = parameters.number("index").value_or(0);
  CO_TRY_ASSIGN(RootOrder order, parse_root(parameters));
  CO_TRY(parameters.finish());
  CO_TRY(tree::validate_collection_name(call.values[0]));
  if (order.content_type == model::kUnknownType) {
    order.content_type = claimed_type(call.exchange.request().headers);
  }
  CO_TRY(validate(order));
  if (job == 0) co_return co_await add_alone(parts, call, call.values[0], std::move(order));
  CO_TRY_ASSIGN(const JobShards shards, co_await shards_of(parts, {job}));
  CO_TRY_ASSIGN(blob::Put put, co_await spool_body(parts, call.exchange));
  tree::AddRoot root{{job}, shards.collection, shards.of(index), index, new_root(*parts, order)};
  root.file.bytes = put.bytes;
  root.file.blob = std::move(put);
  CO_TRY_ASSIGN(const tree::AddedFile added, co_await add_root(parts, std::move(root)));
  parts->pipeline.poke({job});
  const std::string answer = json::serialize(to_json(added, {job}));
  co_return co_await call.exchange.respond(net::json_response(201, answer));
}

// One of many files in a body: a line of JSON, then its bytes.
struct Frame {
  std::int64_t index = 0;
  RootOrder order;
  std::string_view bytes;
};

Result<Frame> parse_frame_head(std::string_view line, std::size_t& bytes) {
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(line.data(), line.size()), failed);
  const json::object* object = failed ? nullptr : value.if_object();
  const Error wrong{Errc::Invalid,
                    "each file is a line {\"index\",\"filename\",\"bytes\"} and then "
                    "its bytes"};
  if (object == nullptr) return wrong;
  const json::value* index = object->if_contains("index");
  const json::value* name = object->if_contains("filename");
  const json::value* size = object->if_contains("bytes");
  if (index == nullptr || !index->is_int64() || index->get_int64() < 0) return wrong;
  if (name == nullptr || !name->is_string() || size == nullptr || !size->is_int64()) return wrong;
  if (size->get_int64() < 0) return wrong;
  bytes = static_cast<std::size_t>(size->get_int64());
  Frame frame;
  frame.index = index->get_int64();
  frame.order.filename = name->get_string();
  if (const json::value* options = object->if_contains("options"); options != nullptr) {
    frame.order.options = step::parse_options(json::serialize(*options));
  }
  TRY(validate(frame.order));
  return frame;
}

Result<std::vector<Frame>> parse_frames(std::string_view body) {
  std::vector<Frame> frames;
  while (!body.empty()) {
    const std::size_t line = body.find('\n');
    if (line == body.npos) return Error{Errc::Invalid, "a file's line has no end"};
    std::size_t bytes = 0;
    TRY_ASSIGN(Frame frame, parse_frame_head(body.substr(0, line), bytes));
    body.remove_prefix(line + 1);
    if (bytes > body.size()) return Error{Errc::Invalid, "the last file is cut short"};
    frame.bytes = body.substr(0, bytes);
    body.remove_prefix(bytes);
    frames.push_back(std::move(frame));
    if (frames.size() > kFramesMax) {
      return over_limit("files in a body", static_cast<std::int64_t>(frames.size()),
                        static_cast<std::int64_t>(kFramesMax), "api.frames_max");
    }
  }
  return frames;
}

Result<blob::Put> spool_bytes(blob::BlobStore& blobs, std::string_view bytes) {
  blob::Spool spool(blobs);
  TRY(spool.write(bytes));
  return spool.finish();
}

// Durable one after the other, in one visit of the pool.
net::Task<Result<std::vector<blob::Put>>> spool_frames(PartsPtr parts,
                                                       const std::vector<Frame>& frames) {
  auto spool_all = [parts, &frames]() -> Result<std::vector<blob::Put>> {
    std::vector<blob::Put> puts;
    for (const Frame& frame : frames) {
      TRY_ASSIGN(blob::Put put, spool_bytes(parts->blobs, frame.bytes));
      puts.push_back(std::move(put));
    }
    return puts;
  };
  co_return co_await offload(parts->loop, parts->pool, std::move(spool_all));
}

net::Task<Result<>> add_many(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const tree::JobId job, parse_id<tree::JobId>("job", call.values[0]));
  call.exchange.limit_body(kFramesBytesMax);
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kFramesBytesMax));
  CO_TRY_ASSIGN(const std::vector<Frame> frames, parse_frames(body));
  CO_TRY(expect_free_space(*parts));
  CO_TRY_ASSIGN(const JobShards shards, co_await shards_of(parts, job));
  CO_TRY_ASSIGN(std::vector<blob::Put> puts, co_await spool_frames(parts, frames));
  auto left = std::make_shared<std::size_t>(frames.size());
  auto added = std::make_shared<std::int64_t>(0);
  auto failed = std::make_shared<std::optional<Error>>();
  auto settled = std::make_shared<net::Event>(parts->loop);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::int64_t index = frames[i].index;
    tree::AddRoot root{job, shards.collection, shards.of(index), index,
                       new_root(*parts, frames[i].order)};
    root.file.bytes = puts[i].bytes;
    root.file.blob = std::move(puts[i]);
    store::Lane& lane = parts->writer.lane({static_cast<std::uint64_t>(root.shard.value)});
    queue::submit(parts->loop, lane, std::move(root),
                  [parts, left, added, failed, settled](const Result<tree::AddedFile>& file) {
                    --*left;
                    settled->notify_all();
                    if (!file.ok()) {
                      *failed = file.error();
                      return;
                    }
                    for (const std::string& place : file->orphans) parts->blobs.discard(place);
                    if (!file->existed) ++*added;
                  });
  }
  while (*left > 0) co_await settled->wait();
  parts->pipeline.poke(job);
  if (*failed) co_return **failed;
  const json::object answer{{"job", job.value}, {"added", *added}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

Result<std::string> raw_digest(const std::string& hex) {
  std::string raw;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, failed] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (failed != std::errc{} || end != hex.data() + i + 2) break;
    raw += static_cast<char>(byte);
  }
  if (hex.size() == 64 && raw.size() == 32) return raw;
  return Error{Errc::Invalid, "'sha256' must be 64 hexadecimal digits"};
}

net::Task<Result<>> known(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string filename = parameters.text("filename");
  const std::string hex = parameters.text("sha256");
  CO_TRY(parameters.finish());
  CO_TRY_ASSIGN(const std::string sha256, raw_digest(hex));
  const std::string collection = call.values[0];
  auto look = [collection, filename, sha256](store::Tx& tx) {
    return tree::has_root(tx, collection, filename, sha256);
  };
  CO_TRY_ASSIGN(const bool has, co_await read(parts->loop, parts->readers, std::move(look)));
  const json::object answer{{"known", has}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

}  // namespace

Result<> validate(const RootOrder& order) {
  if (order.filename.empty()) return Error{Errc::Invalid, "a file needs a filename"};
  if (order.filename.size() > kFilenameBytesMax) {
    return over_limit("filename", static_cast<std::int64_t>(order.filename.size()),
                      kFilenameBytesMax, "api.filename_bytes_max");
  }
  if (!is_valid_utf8(order.filename) || order.filename.find('\0') != std::string::npos) {
    return Error{Errc::Invalid, "a filename must be UTF-8 without NUL"};
  }
  const step::FileOptions& options = order.options;
  if (options.language.size() > kLanguageBytesMax || !is_valid_utf8(options.language)) {
    return Error{Errc::Invalid, "the language must be a code such as en"};
  }
  if (options.user_metadata.size() > kUserMetadataBytesMax) {
    return over_limit("metadata", static_cast<std::int64_t>(options.user_metadata.size()),
                      kUserMetadataBytesMax, "api.metadata_bytes_max");
  }
  return {};
}

Result<RootOrder> parse_root(Parameters& parameters) {
  RootOrder order;
  order.filename = parameters.text("filename");
  if (const std::string type = parameters.text("content_type"); !type.empty()) {
    order.content_type = type.substr(0, model::kTypeBytesMax);
  }
  order.options.ocr = flag_of(parameters, "ocr");
  order.options.split_by_page = flag_of(parameters, "split_by_page");
  if (const std::string language = parameters.text("language"); !language.empty()) {
    order.options.language = language;
  }
  if (const std::string metadata = parameters.text("metadata"); !metadata.empty()) {
    TRY_ASSIGN(const json::object object, parse_object(metadata));
    if (!object.empty()) order.options.user_metadata = json::serialize(object);
  }
  return order;
}

tree::NewFile new_root(const Parts& parts, const RootOrder& order) {
  tree::NewFile file;
  file.filename = order.filename;
  file.content_type = order.content_type;
  file.options = step::to_json(order.options);
  if (!order.options.user_metadata.empty()) file.metadata = order.options.user_metadata;
  const auto ocr = order.options.ocr ? model::Ocr::Yes : model::Ocr::No;
  step::Pipeline::Decision decision = parts.pipeline.decide(order.content_type, ocr);
  file.step = std::move(decision.step);
  file.failure = std::move(decision.failure);
  return file;
}

Result<JobShards> load_job_shards(store::Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const tree::Job loaded, tree::load_job(tx, job));
  JobShards shards{job, loaded.collection, {}};
  TRY_ASSIGN(shards.shards, tree::list_shards(tx, job));
  if (shards.shards.empty()) return Error{Errc::Missing, fmt::format("job {} has no shards", job)};
  return shards;
}

Result<> expect_free_space(const Parts& parts) {
  TRY_ASSIGN(const io::FreeSpace space, io::free_space(parts.data));
  // 1 GiB or 2 %, whichever is less: a small disk must not be all floor.
  const std::int64_t floor = std::min(parts.free_bytes_min, space.total_bytes / kFreePartMin);
  if (space.free_bytes >= floor) return {};
  return Error{Errc::Full, fmt::format("the data folder has {} bytes left and {} are kept free: "
                                       "make room (api.free_bytes_min)",
                                       space.free_bytes, floor)};
}

net::Task<Result<blob::Put>> spool_body(PartsPtr parts, net::Exchange& exchange) {
  CO_TRY(expect_free_space(*parts));
  exchange.limit_body(std::numeric_limits<std::uint64_t>::max());
  auto spool = std::make_shared<blob::Spool>(parts->blobs);
  std::vector<char> buffer(kReadBytes);
  while (true) {
    CO_TRY_ASSIGN(const std::size_t bytes, co_await exchange.read(buffer));
    if (bytes == 0) break;
    const std::string_view piece(buffer.data(), bytes);
    if (spool->stays_in_memory(bytes)) {
      CO_TRY(spool->write(piece));
      continue;
    }
    auto write_piece = [spool, piece] { return spool->write(piece); };
    CO_TRY(co_await offload(parts->loop, parts->pool, std::move(write_piece)));
  }
  if (spool->stays_in_memory(0)) co_return spool->finish();
  auto finish = [spool] { return spool->finish(); };
  co_return co_await offload(parts->loop, parts->pool, std::move(finish));
}

net::Task<Result<tree::AddedFile>> add_root(PartsPtr parts, tree::AddRoot root) {
  store::Lane& lane = parts->writer.lane({static_cast<std::uint64_t>(root.shard.value)});
  CO_TRY_ASSIGN(tree::AddedFile added, co_await write(parts->loop, lane, std::move(root)));
  for (const std::string& place : added.orphans) parts->blobs.discard(place);
  co_return added;
}

void add_adding_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Post, "/api/v1/collections/{collection}/files",
              "Adds a file: its bytes are the body (filename, content_type, ocr, split_by_page, "
              "language, metadata; job and index to add to a job).",
              bound(add_to_collection)});
  router.add({Method::Get, "/api/v1/collections/{collection}/known",
              "Whether a root of that filename and sha256 is in the collection.", bound(known)});
  router.add({Method::Post, "/api/v1/jobs/{job}/files",
              "Adds many small files to a job: a line of JSON (index, filename, bytes, options), "
              "then the bytes, for each.",
              bound(add_many)});
}

}  // namespace quern::api

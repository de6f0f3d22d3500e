#include "api/uploads.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/adding.h"
#include "api/await.h"
#include "api/job_json.h"
#include "api/upload_folder.h"
#include "api/upload_receiver.h"
#include "api/upload_request.h"
#include "base/log.h"
#include "base/utf8.h"
#include "io/file.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using LockedPtr = std::shared_ptr<LockedUpload>;
using net::Method;
using net::Response;
using tree::Upload;

constexpr std::int64_t kSweepMs = 3'600'000;
constexpr std::size_t kSourceBytes = 1000;

// What all requests share. On the loop.
struct Uploads {
  explicit Uploads(PartsPtr all)
      : parts(std::move(all)), folder(std::make_shared<UploadFolder>(parts->data)) {}

  const PartsPtr parts;
  const std::shared_ptr<UploadFolder> folder;
  net::Instant sweep_at = net::in_ms(kSweepMs);
};
using UploadsPtr = std::shared_ptr<Uploads>;

std::int64_t length_max(const Parts& parts) {
  return parts.pipeline.options().limits.bytes_per_root_max;
}

step::Pipeline::Decision decide(const Parts& parts, const Upload& upload) {
  const bool ocr = step::parse_options(upload.options).ocr;
  return parts.pipeline.decide(upload.content_type, ocr ? model::Ocr::Yes : model::Ocr::No);
}

Error no_such_upload() {
  return Error{Errc::Missing, "there is no such upload: it was dropped, has expired or never was"};
}

// One request. What it answers has the headers of tus, errors too.
class UploadCall {
 public:
  UploadCall(UploadsPtr uploads, Call call)
      : uploads_(std::move(uploads)),
        parts_(uploads_->parts),
        exchange_(call.exchange),
        name_(call.values.empty() ? "" : call.values[0]),
        caller_(call.caller) {}

  net::Task<Result<>> serve();

 private:
  net::Task<Result<Response>> answer(Method method);
  net::Task<Result<Response>> create();
  net::Task<Result<Response>> patch();
  net::Task<Result<Response>> head();
  net::Task<Result<Response>> describe();
  net::Task<Result<Response>> remove();
  Response options() const;

  net::Task<Result<Upload>> load();
  net::Task<Result<Upload>> find();
  net::Task<Result<>> expect_own(const UploadOrder& order);
  net::Task<Result<JobShards>> job_of(const UploadOrder& order);
  net::Task<Result<Upload>> make(const UploadOrder& order);
  net::Task<Result<LockedPtr>> lock(Upload& upload);
  net::Task<Result<>> receive(Upload& upload, std::optional<model::TusChecksum> checksum);
  net::Task<Result<>> settle(Upload& upload);
  net::Task<Result<>> finish(Upload& upload, LockedPtr locked);
  Result<> expect_offset(const Upload& upload, std::int64_t offset);
  Result<> expect_room(std::int64_t length) const;
  void sweep_sometimes();

  // A status that no kind of error has.
  Error refuse(int status, std::string why) {
    status_ = status;
    return Error{Errc::Conflict, std::move(why)};
  }
  Response problem_of(const Error& error) const;
  Response with_state(Response response, const Upload& upload) const;

  const UploadsPtr uploads_;
  const PartsPtr parts_;
  net::Exchange& exchange_;
  const std::string name_;
  const Caller caller_;
  int status_ = 0;                            // of a refusal
  std::optional<std::int64_t> known_offset_;  // told with a refusal
};

Response UploadCall::problem_of(const Error& error) const {
  int status = status_ != 0 ? status_ : http_status(error.kind());
  // It was the sender that stalled.
  if (error.kind() == Errc::Timeout && !exchange_.body_done()) status = 408;
  Response response =
      status_ != 0 || status == 408 ? net::problem(status, error.message()) : net::problem(error);
  if (status == 503) response.headers.set("Retry-After", "1");
  if (status == 412) response.headers.set("Tus-Version", model::kTusVersion);
  if (known_offset_) response.headers.set("Upload-Offset", std::to_string(*known_offset_));
  return response;
}

Response UploadCall::with_state(Response response, const Upload& upload) const {
  response.headers.set("Upload-Offset", std::to_string(upload.bytes));
  if (!upload.done) response.headers.set("Upload-Expires", http_date(upload.expires_us));
  return response;
}

net::Task<Result<>> UploadCall::serve() {
  const Result<Response> answered = co_await answer(tus_method(exchange_.request()));
  Response response = answered.ok() ? *answered : problem_of(answered.error());
  response.headers.set("Tus-Resumable", model::kTusVersion);
  co_return co_await exchange_.respond(std::move(response));
}

net::Task<Result<Response>> UploadCall::answer(Method method) {
  const bool is_one = !name_.empty();
  if (method == Method::Options) co_return options();
  if (method == Method::Get && is_one) co_return co_await describe();
  const std::string* version = exchange_.request().headers.find("Tus-Resumable");
  if (version == nullptr || *version != model::kTusVersion) {
    co_return refuse(412, fmt::format("say Tus-Resumable: {}", model::kTusVersion));
  }
  if (method == Method::Post && !is_one) co_return co_await create();
  if (method == Method::Head && is_one) co_return co_await head();
  if (method == Method::Patch && is_one) co_return co_await patch();
  if (method == Method::Delete && is_one) co_return co_await remove();
  const std::string allow = is_one ? "DELETE, GET, HEAD, OPTIONS, PATCH" : "OPTIONS, POST";
  co_return net::problem(405, "this address takes " + allow).with("Allow", allow);
}

Response UploadCall::options() const {
  return net::empty_response(204)
      .with("Tus-Version", model::kTusVersion)
      .with("Tus-Max-Size", std::to_string(length_max(*parts_)))
      .with("Tus-Extension", model::kTusExtensions)
      .with("Tus-Checksum-Algorithm", model::kTusChecksums);
}

// -- finding --

net::Task<Result<Upload>> UploadCall::load() {
  if (!is_upload_name(name_)) co_return no_such_upload();
  auto load_it = [name = name_](store::Tx& tx) { return tree::load_upload(tx, name); };
  Result<Upload> upload = co_await read(parts_->loop, parts_->readers, std::move(load_it));
  if (!upload.ok() && upload.error().kind() == Errc::Missing) co_return no_such_upload();
  co_return upload;
}

// One that is done, or can still be gone on with.
net::Task<Result<Upload>> UploadCall::find() {
  CO_TRY_ASSIGN(const Upload upload, co_await load());
  if (upload.done) co_return upload;
  if (upload.expired) co_return refuse(410, "the upload has expired: begin again");
  if (!upload.root_waits) co_return refuse(410, "the upload's job was canceled or deleted");
  co_return upload;
}

// For us alone, until that is dropped. The upload is as it is then.
net::Task<Result<LockedPtr>> UploadCall::lock(Upload& upload) {
  auto take = [parts = parts_, folder = uploads_->folder, upload] {
    return folder->lock(*parts, upload);
  };
  Result<std::optional<LockedUpload>> locked =
      co_await offload(parts_->loop, parts_->pool, std::move(take));
  if (!locked.ok() && locked.error().kind() == Errc::Missing) co_return no_such_upload();
  if (!locked.ok() && locked.error().kind() == Errc::Corrupt) {
    co_return refuse(410, locked.error().message());
  }
  CO_TRY_ASSIGN(std::optional<LockedUpload> ours, std::move(locked));
  if (!ours) co_return LockedPtr();
  auto kept = std::make_shared<LockedUpload>(*std::move(ours));
  upload = kept->upload;
  co_return kept;
}

net::Task<Result<Response>> UploadCall::head() {
  CO_TRY_ASSIGN(Upload upload, co_await find());
  CO_TRY(co_await settle(upload));
  Response response = with_state(net::empty_response(200), upload);
  response.headers.set("Upload-Length", std::to_string(upload.length));
  if (!upload.metadata.empty()) response.headers.set("Upload-Metadata", upload.metadata);
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

// For people.
net::Task<Result<Response>> UploadCall::describe() {
  CO_TRY_ASSIGN(const Upload upload, co_await find());
  const json::object object{{"upload", upload.name},          {"job", upload.job.value},
                            {"file", upload.file.value},      {"length", upload.length},
                            {"offset", upload.bytes},         {"done", upload.done},
                            {"expires_us", upload.expires_us}};
  co_return net::json_response(200, json::serialize(object)).with("Cache-Control", "no-store");
}

// -- making --

Result<> UploadCall::expect_room(std::int64_t length) const {
  TRY(expect_free_space(*parts_));
  TRY_ASSIGN(const io::FreeSpace space, io::free_space(parts_->data));
  if (length <= space.free_bytes) return {};
  return Error{Errc::Full, fmt::format("the upload has {} bytes, and there is room for {}", length,
                                       space.free_bytes)};
}

// A token for one collection uploads there, and to jobs of it.
net::Task<Result<>> UploadCall::expect_own(const UploadOrder& order) {
  if (!caller_.collection) co_return Result<>();
  if (order.job == 0) co_return expect_within(caller_, order.collection);
  auto load = [id = tree::JobId{order.job}](store::Tx& tx) { return tree::load_job(tx, id); };
  CO_TRY_ASSIGN(const tree::Job job, co_await read(parts_->loop, parts_->readers, std::move(load)));
  co_return expect_within(caller_, job.collection_name);
}

net::Task<Result<JobShards>> UploadCall::job_of(const UploadOrder& order) {
  CO_TRY(co_await expect_own(order));
  tree::JobId job{order.job};
  if (order.job == 0) {
    const std::string& name = order.root.filename;
    tree::NewJob wanted;
    wanted.collection = order.collection;
    wanted.key = tree::kUploadJobPrefix + (order.key.empty() ? random_key() : order.key);
    wanted.source = name.substr(0, valid_utf8_prefix(name.substr(0, kSourceBytes)));
    CO_TRY_ASSIGN(const tree::Job made, co_await open_job(parts_, wanted));
    job = made.id;
  }
  auto load_shards = [job](store::Tx& tx) { return load_job_shards(tx, job); };
  co_return co_await read(parts_->loop, parts_->readers, std::move(load_shards));
}

net::Task<Result<Upload>> UploadCall::make(const UploadOrder& order) {
  CO_TRY_ASSIGN(const JobShards shards, co_await job_of(order));
  auto ask = [folder = uploads_->folder] { return folder->node(); };
  tree::NewUpload wanted;
  wanted.root = {shards.job, shards.collection, shards.of(order.index), order.index,
                 new_root(*parts_, order.root)};
  wanted.root.file.bytes = order.length;
  wanted.root.file.failure.reset();  // what cannot be processed fails when it is there
  wanted.name = random_key();
  wanted.metadata = order.metadata;
  wanted.own_job = order.job == 0;
  CO_TRY_ASSIGN(wanted.node, co_await offload(parts_->loop, parts_->pool, ask));
  const tree::ShardId shard = wanted.root.shard;
  store::Lane& lane = parts_->writer.lane({static_cast<std::uint64_t>(shard.value)});
  auto insert = [wanted](store::Tx& tx) { return tree::create_upload(tx, wanted); };
  auto fenced = store::Fenced{store::Fence{shard.value, 0}, std::move(insert)};
  co_return co_await write(parts_->loop, lane, std::move(fenced));
}

net::Task<Result<Response>> UploadCall::create() {
  const net::Headers& headers = exchange_.request().headers;
  CO_TRY_ASSIGN(const UploadOrder order, parse_upload(headers, length_max(*parts_)));
  CO_TRY_ASSIGN(const auto checksum, parse_checksum(headers));
  CO_TRY(expect_room(order.length));
  sweep_sometimes();
  CO_TRY_ASSIGN(Upload upload, co_await make(order));
  // What a repeated request brings is there already, or some of it: the offset tells.
  const bool brings = has_upload_content_type(headers) && !exchange_.body_done();
  if (brings && upload.bytes == 0 && !upload.complete()) {
    CO_TRY(co_await receive(upload, checksum));
  } else {
    CO_TRY(co_await settle(upload));
  }
  co_return with_state(net::empty_response(201), upload)
      .with("Location", "/api/v1/uploads/" + upload.name);
}

// -- receiving --

Result<> UploadCall::expect_offset(const Upload& upload, std::int64_t offset) {
  if (offset == upload.bytes) return {};
  known_offset_ = upload.bytes;
  return Error{Errc::Conflict,
               fmt::format("the upload is at byte {}, not {}", upload.bytes, offset)};
}

net::Task<Result<Response>> UploadCall::patch() {
  const net::Headers& headers = exchange_.request().headers;
  if (!has_upload_content_type(headers)) {
    co_return refuse(415, fmt::format("say Content-Type: {}", kUploadContentType));
  }
  CO_TRY_ASSIGN(const PieceOrder piece, parse_piece(headers));
  CO_TRY_ASSIGN(Upload upload, co_await find());
  CO_TRY(expect_offset(upload, piece.offset));
  if (!upload.complete()) {
    CO_TRY(co_await receive(upload, piece.checksum));
  } else {
    CO_TRY(co_await exchange_.drain(0));
    CO_TRY(co_await settle(upload));
  }
  co_return with_state(net::empty_response(204), upload);
}

net::Task<Result<>> UploadCall::receive(Upload& upload,
                                        std::optional<model::TusChecksum> checksum) {
  const std::int64_t offset = upload.bytes;
  CO_TRY_ASSIGN(const LockedPtr locked, co_await lock(upload));
  if (!locked) co_return refuse(423, "another request is sending bytes of this upload");
  CO_TRY(expect_offset(upload, offset));
  UploadReceiver receiver(parts_, exchange_, locked->upload, locked->part);
  const Result<bool> received = co_await receiver.run(std::move(checksum));
  upload = locked->upload;
  if (!received.ok()) {
    if (received.error().kind() == Errc::Missing) co_return no_such_upload();
    known_offset_ = upload.bytes;
    co_return received.error();
  }
  if (!*received) co_return refuse(460, "the bytes have another checksum, and were thrown away");
  if (upload.complete()) CO_TRY(co_await finish(upload, locked));
  co_return Result<>();
}

// All bytes are there, and whoever took them died before they became a file.
net::Task<Result<>> UploadCall::settle(Upload& upload) {
  if (upload.done || !upload.complete()) co_return Result<>();
  auto ask = [folder = uploads_->folder] { return folder->node(); };
  CO_TRY_ASSIGN(const std::string node, co_await offload(parts_->loop, parts_->pool, ask));
  if (upload.node != node) co_return Result<>();  // its own server does it
  CO_TRY_ASSIGN(const LockedPtr locked, co_await lock(upload));
  if (!locked) co_return Result<>();  // somebody is at it
  co_return co_await finish(upload, locked);
}

net::Task<Result<>> UploadCall::finish(Upload& upload, LockedPtr locked) {
  auto work = [parts = parts_, folder = uploads_->folder, locked,
               decision = decide(*parts_, upload)] {
    return folder->finish(*parts, *locked, decision);
  };
  const Result<> finished = co_await offload(parts_->loop, parts_->pool, std::move(work));
  if (!finished.ok() && finished.error().kind() == Errc::Missing) co_return no_such_upload();
  CO_TRY(finished);
  upload.done = true;
  parts_->pipeline.poke(upload.job);
  co_return Result<>();
}

// -- ending --

net::Task<Result<Response>> UploadCall::remove() {
  CO_TRY_ASSIGN(const Upload upload, co_await load());
  auto drop = [parts = parts_, folder = uploads_->folder, upload] {
    return folder->drop(*parts, upload, tree::Drop::Asked);
  };
  CO_TRY_ASSIGN(const bool dropped, co_await offload(parts_->loop, parts_->pool, std::move(drop)));
  if (!dropped) co_return no_such_upload();
  parts_->pipeline.poke(upload.job);
  co_return net::empty_response(204);
}

// A server that runs for months forgets what expires, too.
void UploadCall::sweep_sometimes() {
  if (net::in_ms(0) < uploads_->sweep_at) return;
  uploads_->sweep_at = net::in_ms(kSweepMs);
  io::Pool::Job sweep = [parts = parts_, folder = uploads_->folder](io::Pool::Call call) {
    if (call != io::Pool::Call::Run) return;
    const Result<> swept = folder->sweep(*parts);
    if (!swept.ok()) log_warn("upload.sweep", {{"error", swept.error().message()}});
  };
  (void)parts_->pool.try_push(sweep);  // it is busy: an hour later, then
}

net::Task<Result<>> serve_upload(UploadsPtr uploads, Call call) {
  UploadCall upload(std::move(uploads), std::move(call));
  co_return co_await upload.serve();
}

struct Unfinished {
  Upload upload;
  step::Pipeline::Decision decision;
};

Result<std::vector<Unfinished>> load_unfinished(const Parts& parts, const std::string& node) {
  std::vector<Unfinished> all;
  for (tree::UploadId after{0};;) {
    TRY_ASSIGN(const std::vector<Upload> some, parts.readers.run([&](store::Tx& tx) {
      return tree::list_complete_uploads(tx, node, after);
    }));
    for (const Upload& upload : some) all.push_back({upload, decide(parts, upload)});
    if (some.size() < tree::kUploadsListed) return all;
    after = some.back().id;
  }
}

Result<> finish_one(const Parts& parts, UploadFolder& folder, const Unfinished& one) {
  TRY_ASSIGN(const std::optional<LockedUpload> locked, folder.lock(parts, one.upload));
  if (!locked) return {};  // a request is at it
  return folder.finish(parts, *locked, one.decision);
}

}  // namespace

void add_upload_routes(Router& router, PartsPtr parts) {
  const auto uploads = std::make_shared<Uploads>(parts);
  const RouteHandler handler = [uploads](Call call) {
    return serve_upload(uploads, std::move(call));
  };
  const std::string all = "/api/v1/uploads";
  const std::string one = "/api/v1/uploads/{upload}";
  router.add({Method::Options, all, "What this server can of tus 1.0.", handler});
  router.add({Method::Post, all,
              "Begins an upload (tus 1.0: Upload-Length, Upload-Metadata; Idempotency-Key).",
              handler, Needs::ByMethod, About::Handler});
  router.add({Method::Get, one, "How far an upload is; HEAD as tus has it.", handler});
  router.add({Method::Patch, one, "The next bytes of an upload (Upload-Offset, Upload-Checksum).",
              handler});
  router.add({Method::Delete, one, "Drops an upload and the file that it was to become.", handler});
  router.add({Method::Options, one, "What this server can of tus 1.0.", handler});
  router.add({Method::Post, one, "Any of these, by X-HTTP-Method-Override.", handler});
}

Result<> recover_uploads(PartsPtr parts) {
  const auto folder = std::make_shared<UploadFolder>(parts->data);
  TRY_ASSIGN(const std::string node, folder->node());
  // Decided here: the pipeline belongs to the loop.
  TRY_ASSIGN(std::vector<Unfinished> unfinished, load_unfinished(*parts, node));
  io::Pool::Job work = [parts, folder, unfinished](io::Pool::Call call) {
    if (call != io::Pool::Call::Run) return;
    const Result<> swept = folder->sweep(*parts);
    if (!swept.ok()) log_warn("upload.sweep", {{"error", swept.error().message()}});
    for (const Unfinished& one : unfinished) {
      const Result<> finished = finish_one(*parts, *folder, one);
      if (finished.ok()) continue;
      // It is tried again with the next request for it, or at the next start.
      log_warn("upload.unfinished",
               {{"upload", one.upload.name}, {"error", finished.error().message()}});
    }
  };
  if (!parts->pool.try_push(work)) return Error{Errc::Busy, "the pool is full"};
  return {};
}

}  // namespace quern::api

#include "api/fileset_bytes.h"

#include <charconv>

#include "api/await.h"
#include "api/download_name.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "fileset/file_row.h"
#include "step/worker_protocol.h"

namespace quern::api {
namespace {

using PartsPtr = std::shared_ptr<const Parts>;

// From 0; the bundle's is -1.
Result<std::int64_t> parse_number(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < fileset::kBundleNumber) {
    return Error{Errc::Invalid, "the number of a file is 0 or more; -1 is the bundle"};
  }
  return number;
}

net::Task<Result<>> send(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const bool download = parameters.number("download", 0, 1).value_or(0) == 1;
  CO_TRY(parameters.finish());
  CO_TRY_ASSIGN(const auto job, parse_id<tree::JobId>("job", call.values[0]));
  CO_TRY_ASSIGN(const std::int64_t number, parse_number(call.values[1]));
  auto load = [job, number](store::Tx& tx) { return fileset::load_file(tx, job, number); };
  CO_TRY_ASSIGN(const fileset::FileRow file,
                co_await read(parts->loop, parts->readers, std::move(load)));
  if (!file.blob) co_return Error{Errc::Missing, "the bytes of this file are not here"};
  // A browser gets it as bytes alone: it might run what it claims to be.
  step::BlobHead head;
  if (download) {
    head.headers.add("Content-Disposition", attachment(download_name(file.file.path, "")));
  }
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *file.blob,
                                     std::move(head));
}

}  // namespace

void add_fileset_bytes_route(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/filesets/{job}/files/{number}/blob",
              "The bytes of a file of a dataset, with ranges (download=1).",
              [parts](Call call) { return send(parts, std::move(call)); }});
}

}  // namespace quern::api

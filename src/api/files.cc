// /api/v1/files/{file}: one file, its children, its bytes; and the roots of a job.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/download_name.h"
#include "api/file_json.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "step/renderer.h"
#include "step/worker_protocol.h"
#include "tree/file.h"
#include "tree/rendering.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;
using tree::File;
using tree::FileId;

constexpr char kTextType[] = "text/plain; charset=utf-8";
// How long a request waits for the PDF of a web page; most are made in one.
constexpr std::int64_t kRenderWaitSeconds = 10;
constexpr std::int64_t kRenderWaitSecondsMax = 60;

// -- one file --

net::Task<Result<File>> load(PartsPtr parts, std::string text) {
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", text));
  auto load_one = [id](Tx& tx) { return tree::load_file(tx, id); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_one));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", call.values[0]));
  auto load_all = [id](Tx& tx) -> Result<json::object> {
    TRY_ASSIGN(const std::vector<File> lineage, tree::load_lineage(tx, id));
    TRY_ASSIGN(const tree::Job job, tree::load_job(tx, lineage.front().job));
    json::object details = file_details(lineage.front());
    add_origin(details, lineage, job.collection_name);
    return details;
  };
  CO_TRY_ASSIGN(const json::object details,
                co_await read(parts->loop, parts->readers, std::move(load_all)));
  const std::string body = json::serialize(details);
  co_return co_await call.exchange.respond(net::json_response(200, body));
}

struct ByIndex {
  std::int64_t after = -1;
  std::size_t limit = kPageDefault;
};

Result<ByIndex> parse_by_index(const net::Target& target) {
  Parameters parameters(target);
  ByIndex order;
  order.after = parameters.number("after").value_or(-1);
  order.limit = parameters.limit(tree::kListMax);
  TRY(parameters.finish());
  return order;
}

net::Response by_index(const std::vector<File>& files, const ByIndex& order) {
  json::array items;
  for (const File& file : files) items.push_back(tree_line(file));
  std::optional<json::value> next;
  if (files.size() == order.limit) next = json::value(files.back().index);
  return page_response(std::move(items), std::move(next));
}

net::Task<Result<>> list_children(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const ByIndex order, parse_by_index(call.target));
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", call.values[0]));
  auto load_page = [id, order](Tx& tx) -> Result<std::vector<File>> {
    TRY(tree::load_file(tx, id));
    return tree::list_children(tx, id, order.after, order.limit);
  };
  CO_TRY_ASSIGN(const std::vector<File> files,
                co_await read(parts->loop, parts->readers, std::move(load_page)));
  co_return co_await call.exchange.respond(by_index(files, order));
}

net::Task<Result<>> list_roots(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const ByIndex order, parse_by_index(call.target));
  CO_TRY_ASSIGN(const tree::JobId id, parse_id<tree::JobId>("job", call.values[0]));
  auto load_page = [id, order](Tx& tx) -> Result<std::vector<File>> {
    TRY(tree::load_job(tx, id));
    return tree::list_roots(tx, id, order.after, order.limit);
  };
  CO_TRY_ASSIGN(const std::vector<File> files,
                co_await read(parts->loop, parts->readers, std::move(load_page)));
  co_return co_await call.exchange.respond(by_index(files, order));
}

// -- bytes --

Result<bool> wants_download(const net::Target& target) {
  Parameters parameters(target);
  const bool download = parameters.number("download", 0, 1).value_or(0) == 1;
  TRY(parameters.finish());
  return download;
}

// What stands for a file of another type has its name; then it says what it is.
std::string pdf_ending(const std::vector<File>& lineage) {
  const File& file = lineage.front();
  if (file.content_type != model::kPdfType || lineage.size() < 2) return "";
  const File& parent = lineage[1];
  const bool stands_for =
      parent.became == model::FileClass::Converted || parent.filename == file.filename;
  return stands_for ? ".pdf" : "";
}

step::BlobHead head_of(std::string type, const std::string& name) {
  step::BlobHead head;
  head.content_type = std::move(type);
  if (!name.empty()) head.headers.add("Content-Disposition", attachment(name));
  return head;
}

net::Task<Result<std::vector<File>>> load_line(PartsPtr parts, std::string text) {
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", text));
  auto load_all = [id](Tx& tx) { return tree::load_lineage(tx, id); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_all));
}

net::Task<Result<>> send_bytes(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const bool download, wants_download(call.target));
  CO_TRY_ASSIGN(const std::vector<File> lineage, co_await load_line(parts, call.values[0]));
  const File& file = lineage.front();
  if (!file.blob) co_return Error{Errc::Missing, "this file has no bytes of its own"};
  // What people added is never served as what it claims to be: a browser might run it.
  const bool is_pdf = file.content_type == model::kPdfType;
  std::string name;
  if (download) name = download_name(file.filename, pdf_ending(lineage));
  step::BlobHead head = head_of(std::string(is_pdf ? model::kPdfType : model::kUnknownType), name);
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *file.blob,
                                     std::move(head));
}

// -- how a web page looks on paper --

struct Asking {
  bool download = false;
  bool make = true;  // false: only what is there
  std::int64_t wait_ms = 0;
};

Result<Asking> parse_asking(const net::Target& target) {
  Parameters parameters(target);
  Asking asking;
  asking.download = parameters.number("download", 0, 1).value_or(0) == 1;
  asking.make = parameters.number("make", 0, 1).value_or(1) == 1;
  asking.wait_ms =
      1000 * parameters.number("wait", 0, kRenderWaitSecondsMax).value_or(kRenderWaitSeconds);
  TRY(parameters.finish());
  return asking;
}

net::Task<Result<tree::Rendering>> load_rendering(PartsPtr parts, net::Exchange& exchange,
                                                  FileId file, Asking asking) {
  if (asking.make) {
    co_return co_await parts->renderer.ask(exchange, file, net::in_ms(asking.wait_ms));
  }
  auto find = [file](Tx& tx) { return tree::find_rendering(tx, file); };
  CO_TRY_ASSIGN(std::optional<tree::Rendering> found,
                co_await read(parts->loop, parts->readers, std::move(find)));
  if (!found) co_return Error{Errc::Missing, "no PDF was made of this web page yet"};
  co_return *std::move(found);
}

Error no_rendering(const tree::Rendering& rendering) {
  if (!rendering.failure) return {Errc::Missing, "this web page has no thumbnail"};
  return {Errc::Missing,
          fmt::format("no PDF can be made of this web page ({}): {}",
                      model::to_string(rendering.failure->kind), rendering.failure->message)};
}

net::Task<Result<>> send_pdf(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const Asking asking, parse_asking(call.target));
  CO_TRY_ASSIGN(const std::vector<File> lineage, co_await load_line(parts, call.values[0]));
  const File& file = lineage.front();
  std::optional<blob::BlobId> pdf = file.blob;
  std::string ending = pdf_ending(lineage);
  if (tree::needs_rendering(file)) {
    CO_TRY_ASSIGN(const tree::Rendering rendering,
                  co_await load_rendering(parts, call.exchange, file.id, asking));
    if (!rendering.pdf) co_return no_rendering(rendering);
    pdf = rendering.pdf;
    ending = ".pdf";
  } else if (!pdf || file.content_type != model::kPdfType) {
    co_return Error{Errc::Missing, "this file has no PDF"};
  }
  const std::string name = asking.download ? download_name(file.filename, ending) : "";
  step::BlobHead head = head_of(std::string(model::kPdfType), name);
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *pdf, std::move(head));
}

net::Task<Result<>> send_thumbnail(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const Asking asking, parse_asking(call.target));
  CO_TRY_ASSIGN(const File file, co_await load(parts, call.values[0]));
  std::optional<blob::BlobId> thumbnail = file.thumbnail;
  std::string type = file.thumbnail_type;
  if (!thumbnail && tree::needs_rendering(file)) {
    CO_TRY_ASSIGN(const tree::Rendering rendering,
                  co_await load_rendering(parts, call.exchange, file.id, asking));
    if (!rendering.thumbnail) co_return no_rendering(rendering);
    thumbnail = rendering.thumbnail;
    type = rendering.thumbnail_type;
  }
  if (!thumbnail) co_return Error{Errc::Missing, "this file has no thumbnail"};
  step::BlobHead head = head_of(std::move(type), "");
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *thumbnail,
                                     std::move(head));
}

net::Task<Result<>> send_text(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const bool download, wants_download(call.target));
  CO_TRY_ASSIGN(const File file, co_await load(parts, call.values[0]));
  const FileId id = file.id;
  auto load_stored = [id](Tx& tx) { return tree::load_text(tx, id); };
  CO_TRY_ASSIGN(tree::StoredText stored,
                co_await read(parts->loop, parts->readers, std::move(load_stored)));
  const std::string name = download ? download_name(file.filename, ".txt") : "";
  step::BlobHead head = head_of(kTextType, name);
  if (stored.blob) {
    co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *stored.blob,
                                       std::move(head));
  }
  net::Response answer = net::text_response(200, std::move(stored.text));
  for (const net::Header& header : head.headers) answer.headers.add(header.name, header.value);
  co_return co_await call.exchange.respond(std::move(answer));
}

}  // namespace

void add_file_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  const std::string one = "/api/v1/files/{file}";
  router.add({Method::Get, one, "Everything that is known of a file.", bound(show)});
  router.add({Method::Get, one + "/children", "Its children by index (after=INDEX, limit).",
              bound(list_children)});
  router.add({Method::Get, "/api/v1/jobs/{job}/roots",
              "The files that a job brought, by index (after=INDEX, limit).", bound(list_roots)});
  router.add(
      {Method::Get, one + "/blob", "Its bytes, with ranges (download=1).", bound(send_bytes)});
  router.add({Method::Get, one + "/pdf",
              "Its PDF, with ranges; of a web page it is made now (download=1, make=0, wait).",
              bound(send_pdf)});
  router.add({Method::Get, one + "/thumbnail", "Its thumbnail; of a web page as its PDF.",
              bound(send_thumbnail)});
  router.add({Method::Get, one + "/text", "Its text (download=1).", bound(send_text)});
}

}  // namespace quern::api

// /api/v1/files, documents, errors: what became of what came in; and their bytes.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/file_json.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "step/worker_protocol.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;
using tree::File;
using tree::FileId;
using tree::Listed;

// With their texts a page is shorter: a client holds it in memory.
constexpr std::size_t kPageTextBytesMax = 8 * 1024 * 1024;
constexpr char kTextType[] = "text/plain; charset=utf-8";

struct ListOrder {
  tree::FileFilter filter;
  bool named = false;    // the collection was asked for by its name
  std::string filename;  // only files of that name
  bool text = false;
  bool superseded = false;
};

bool is_on(Parameters& parameters, std::string_view name) {
  return parameters.number(name, 0, 1).value_or(0) == 1;
}

Result<ListOrder> parse_list(const net::Target& target, Listed listed) {
  Parameters parameters(target);
  ListOrder order;
  order.filter.listed = listed;
  order.filter.collection = parameters.text("collection");
  order.named = !order.filter.collection.empty();
  if (const auto job = parameters.number("job", 1)) order.filter.job = tree::JobId{*job};
  if (const std::string after = parameters.text("after"); !after.empty()) {
    Result<tree::FileCursor> cursor = tree::parse_cursor(after);
    if (cursor.ok()) {
      order.filter.after = *std::move(cursor);
    } else {
      parameters.refuse(cursor.error());
    }
  }
  order.filename = parameters.text("filename");
  if (!order.filename.empty() && !order.filter.after) {
    order.filter.after = tree::FileCursor{order.filename, -1, ""};
  }
  order.filter.limit = parameters.limit(tree::kListMax);
  if (listed == Listed::Documents) order.text = is_on(parameters, "text");
  if (listed == Listed::Errors) order.superseded = is_on(parameters, "superseded");
  TRY(parameters.finish());
  return order;
}

// A job knows its collection. A name that is not there is a mistake; the default one may be empty.
Result<std::string> resolve_collection(Tx& tx, const ListOrder& order) {
  if (order.named) {
    TRY(tree::load_ledger(tx, order.filter.collection));
    return order.filter.collection;
  }
  if (!order.filter.job) return std::string(kDefaultCollection);
  TRY_ASSIGN(const tree::Job job, tree::load_job(tx, *order.filter.job));
  return job.collection_name;
}

// The list goes on behind that name; we do not.
void keep_named(const std::string& filename, tree::FilePage& page) {
  const auto other = [&](const File& file) { return file.filename != filename; };
  std::erase_if(page.files, other);
  if (page.next && page.next->filename != filename) page.next.reset();
}

struct Listing {
  tree::FilePage page;
  std::vector<tree::Digests> digests;  // of documents
};

Result<Listing> load_listing(Tx& tx, const ListOrder& order) {
  Listing listing;
  tree::FileFilter filter = order.filter;
  TRY_ASSIGN(filter.collection, resolve_collection(tx, order));
  TRY_ASSIGN(listing.page, tree::list_files(tx, filter));
  if (!order.filename.empty()) keep_named(order.filename, listing.page);
  if (filter.listed == Listed::Documents) {
    TRY_ASSIGN(listing.digests, tree::load_digests(tx, listing.page.files));
  }
  return listing;
}

std::optional<json::value> next_of(const std::optional<tree::FileCursor>& cursor) {
  if (!cursor) return std::nullopt;
  return json::value(tree::to_string(*cursor));
}

Result<std::string> read_whole(const blob::BlobStore& blobs, const blob::Blob& blob) {
  TRY_ASSIGN(blob::BlobReader reader, blobs.open_blob(blob));
  std::string text(static_cast<std::size_t>(blob.bytes), '\0');
  blob::VerifyingReader verifying(std::move(reader), blob);
  std::size_t at = 0;
  while (at < text.size()) {
    TRY_ASSIGN(const std::size_t got, verifying.read(std::span(text).subspan(at)));
    if (got == 0) return Error{Errc::Corrupt, "the text ends too early"};
    at += got;
  }
  return text;
}

net::Task<Result<std::string>> load_whole_text(PartsPtr parts, FileId id) {
  auto load = [id](Tx& tx) { return tree::load_text(tx, id); };
  CO_TRY_ASSIGN(tree::StoredText stored,
                co_await read(parts->loop, parts->readers, std::move(load)));
  if (!stored.blob) co_return std::move(stored.text);
  const blob::BlobId blob_id = *stored.blob;
  auto load_row = [blob_id](Tx& tx) { return blob::load_blob(tx, blob_id, blob::Data::With); };
  CO_TRY_ASSIGN(const blob::Blob blob,
                co_await read(parts->loop, parts->readers, std::move(load_row)));
  auto load_bytes = [parts, blob] { return read_whole(parts->blobs, blob); };
  co_return co_await offload(parts->loop, parts->pool, std::move(load_bytes));
}

net::Task<Result<>> list_plain(PartsPtr parts, Call call, ListOrder order,
                               json::object (*line)(const File&)) {
  auto load = [order](Tx& tx) { return load_listing(tx, order); };
  CO_TRY_ASSIGN(const Listing listing, co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const File& file : listing.page.files) {
    if (file.superseded && order.filter.listed == Listed::Errors && !order.superseded) continue;
    items.push_back(line(file));
  }
  co_return co_await call.exchange.respond(
      page_response(std::move(items), next_of(listing.page.next)));
}

net::Task<Result<>> list_files(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(ListOrder order, parse_list(call.target, Listed::Files));
  co_return co_await list_plain(parts, std::move(call), std::move(order), file_line);
}

net::Task<Result<>> list_errors(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(ListOrder order, parse_list(call.target, Listed::Errors));
  co_return co_await list_plain(parts, std::move(call), std::move(order), error_line);
}

net::Task<Result<>> list_documents(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const ListOrder order, parse_list(call.target, Listed::Documents));
  auto load = [order](Tx& tx) { return load_listing(tx, order); };
  CO_TRY_ASSIGN(const Listing listing, co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  std::optional<tree::FileCursor> next = listing.page.next;
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i < listing.page.files.size(); ++i) {
    const File& file = listing.page.files[i];
    json::object line = document_line(file, listing.digests[i]);
    if (order.text) {
      CO_TRY_ASSIGN(const std::string text, co_await load_whole_text(parts, file.id));
      text_bytes += text.size();
      line["text"] = text;
    }
    items.push_back(std::move(line));
    if (text_bytes > kPageTextBytesMax) {
      next = tree::FileCursor{file.filename, file.page.value_or(0), file.position};
      break;
    }
  }
  co_return co_await call.exchange.respond(page_response(std::move(items), next_of(next)));
}

// -- one file --

net::Task<Result<File>> load(PartsPtr parts, std::string text) {
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", text));
  auto load_one = [id](Tx& tx) { return tree::load_file(tx, id); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_one));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const File file, co_await load(parts, call.values[0]));
  const std::string body = json::serialize(file_details(file));
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
  for (const File& file : files) items.push_back(file_line(file));
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

net::Task<Result<>> send_bytes(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const File file, co_await load(parts, call.values[0]));
  if (!file.blob) co_return Error{Errc::Missing, "this file has no bytes of its own"};
  // What people added is never served as what it claims to be: a browser might run it.
  const bool is_pdf = file.content_type == model::kPdfType;
  const std::string type(is_pdf ? model::kPdfType : model::kUnknownType);
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *file.blob, type);
}

net::Task<Result<>> send_thumbnail(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const File file, co_await load(parts, call.values[0]));
  if (!file.thumbnail) co_return Error{Errc::Missing, "this file has no thumbnail"};
  co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *file.thumbnail,
                                     file.thumbnail_type);
}

net::Task<Result<>> send_text(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const FileId id, parse_id<FileId>("file", call.values[0]));
  auto load_stored = [id](Tx& tx) { return tree::load_text(tx, id); };
  CO_TRY_ASSIGN(tree::StoredText stored,
                co_await read(parts->loop, parts->readers, std::move(load_stored)));
  if (stored.blob) {
    co_return co_await step::send_blob(parts->pipeline.parts(), call.exchange, *stored.blob,
                                       kTextType);
  }
  net::Response answer = net::text_response(200, std::move(stored.text));
  co_return co_await call.exchange.respond(std::move(answer));
}

}  // namespace

void add_file_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  const std::string one = "/api/v1/files/{file}";
  router.add({Method::Get, "/api/v1/files",
              "Files by name, a page at a time (collection, job, filename, after, limit).",
              bound(list_files), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/documents",
              "Documents by name and page (collection, job, filename, text=1, after, limit).",
              bound(list_documents), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/errors",
              "Errors by name (collection, job, filename, superseded=1, after, limit).",
              bound(list_errors), Needs::ByMethod, About::Query});
  router.add({Method::Get, one, "Everything that is known of a file.", bound(show)});
  router.add({Method::Get, one + "/children", "Its children by index (after=INDEX, limit).",
              bound(list_children)});
  router.add({Method::Get, "/api/v1/jobs/{job}/roots",
              "The files that a job brought, by index (after=INDEX, limit).", bound(list_roots)});
  router.add({Method::Get, one + "/blob", "Its bytes, with ranges.", bound(send_bytes)});
  router.add({Method::Get, one + "/thumbnail", "Its thumbnail.", bound(send_thumbnail)});
  router.add({Method::Get, one + "/text", "Its text.", bound(send_text)});
}

}  // namespace quern::api

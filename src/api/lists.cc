// /api/v1/files, /api/v1/documents, /api/v1/errors: what became of what came in, by name.
#include <boost/json.hpp>

#include "api/await.h"
#include "api/file_json.h"
#include "api/file_text.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "tree/file.h"

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

struct ListOrder {
  tree::FileFilter filter;
  bool named = false;    // the collection was asked for by its name
  std::string filename;  // only files of that name
  bool text = false;
  bool superseded = false;
  std::string error_kind;  // only errors of that kind, and with exactly that message
  std::string message;
};

bool is_on(Parameters& parameters, std::string_view name) {
  return parameters.number(name, 0, 1).value_or(0) == 1;
}

// Places are counted in the index of a collection: there is none of a job.
void parse_offset(Parameters& parameters, ListOrder& order) {
  const auto offset = parameters.number("offset", 0, tree::kOffsetMax);
  if (!offset) return;
  order.filter.offset = *offset;
  if (order.filter.job || order.filter.after || !order.filename.empty()) {
    parameters.refuse({Errc::Invalid,
                       "'offset' counts the whole list of a collection; it goes with"
                       " none of job, after and filename"});
  }
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
  parse_offset(parameters, order);
  if (!order.filename.empty() && !order.filter.after) {
    order.filter.after = tree::FileCursor{order.filename, -1, ""};
  }
  order.filter.limit = parameters.limit(tree::kListMax);
  if (listed == Listed::Documents) order.text = is_on(parameters, "text");
  if (listed == Listed::Errors) {
    order.superseded = is_on(parameters, "superseded");
    order.error_kind = parameters.text("kind");
    order.message = parameters.text("message");
  }
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

bool is_shown(const File& file, const ListOrder& order) {
  if (order.filter.listed != Listed::Errors) return true;
  if (file.superseded && !order.superseded) return false;
  if (!order.error_kind.empty() && file.error_kind != order.error_kind) return false;
  return order.message.empty() || file.processing_error == order.message;
}

net::Task<Result<>> list_plain(PartsPtr parts, Call call, ListOrder order,
                               json::object (*line)(const File&)) {
  auto load = [order](Tx& tx) { return load_listing(tx, order); };
  CO_TRY_ASSIGN(const Listing listing, co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const File& file : listing.page.files) {
    if (is_shown(file, order)) items.push_back(line(file));
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
      CO_TRY_ASSIGN(const WholeText whole, co_await load_whole_text(parts, file.id));
      text_bytes += whole.text.size();
      line["text"] = whole.text;
    }
    items.push_back(std::move(line));
    if (text_bytes > kPageTextBytesMax) {
      next = tree::FileCursor{file.filename, file.page.value_or(0), file.position};
      break;
    }
  }
  co_return co_await call.exchange.respond(page_response(std::move(items), next_of(next)));
}

}  // namespace

void add_list_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add(
      {Method::Get, "/api/v1/files",
       "Files by name, a page at a time (collection, job, filename, after or offset, limit).",
       bound(list_files), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/documents",
              "Documents by name and page (collection, job, filename, text=1, after or offset, "
              "limit).",
              bound(list_documents), Needs::ByMethod, About::Query});
  router.add({Method::Get, "/api/v1/errors",
              "Errors by name (collection, job, filename, kind, message, superseded=1, after or "
              "offset, limit).",
              bound(list_errors), Needs::ByMethod, About::Query});
}

}  // namespace quern::api

#include "crawl/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/clock.h"
#include "web/wacz.h"

namespace quern::crawl {
namespace {

using store::Tx;

constexpr std::size_t kLinesAtOnce = 1000;

// How far each WARC file was known when the export began.
using Known = std::map<std::string, std::int64_t>;

struct Beginning {
  tree::CollectionId collection;
  Known warcs;
  std::int64_t now_us = 0;
};

Result<Beginning> begin(Tx& tx, const std::string& name) {
  Beginning beginning;
  TRY_ASSIGN(const tree::Collection collection, tree::load_ledger(tx, name));
  beginning.collection = collection.id;
  TRY_ASSIGN(const std::vector<std::string> names, list_warcs(tx, collection.id));
  for (const std::string& warc : names) {
    TRY_ASSIGN(beginning.warcs[warc], warc_end(tx, warc));
  }
  TRY_ASSIGN(beginning.now_us, tx.now_us());
  return beginning;
}

Result<> add_lines(store::Readers& readers, const Beginning& beginning, web::WaczWriter& writer) {
  IndexPlace after;
  while (true) {
    TRY_ASSIGN(const std::vector<Capture> captures, readers.run([&](Tx& tx) {
      return list_index(tx, beginning.collection, after, kLinesAtOnce);
    }));
    for (const Capture& capture : captures) {
      const auto known = beginning.warcs.find(capture.at.warc);
      if (known == beginning.warcs.end() || capture.at.warc_end > known->second) continue;
      TRY(writer.add_index(cdxj_of(capture.at)));
      const bool page = capture.at.status == 200 && !capture.at.revisit && capture.page &&
                        capture.at.type == "text/html";
      if (page) TRY(writer.add_page({capture.at.url, capture.at.at_us, capture.at.url}));
    }
    if (captures.size() < kLinesAtOnce) return {};
    const Capture& last = captures.back();
    after = {last.at.surt, last.at.at_us, last.id};
  }
}

}  // namespace

Result<web::Body> export_wacz(store::Readers& readers, const ExportOrder& order) {
  TRY_ASSIGN(const Beginning beginning,
             readers.run([&order](Tx& tx) { return begin(tx, order.collection); }));
  if (beginning.warcs.empty()) {
    return Error{Errc::Missing,
                 fmt::format("nothing was captured for collection '{}'", order.collection)};
  }
  web::BodyWriter file(order.spool);
  web::WaczOptions options;
  options.spool = order.spool;
  options.software = "quern";
  options.title = order.collection;
  options.created_us = beginning.now_us;
  web::WaczWriter writer(std::move(options),
                         [&file](std::string_view bytes) { return file.add(bytes); });
  for (const auto& [name, end] : beginning.warcs) TRY(writer.add_warc(order.warcs / name, end));
  TRY(add_lines(readers, beginning, writer));
  TRY(writer.finish());
  return file.finish();
}

}  // namespace quern::crawl

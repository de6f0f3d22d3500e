#include "crawl/import.h"

#include <fmt/format.h>

#include <map>

#include "crawl/capture.h"
#include "io/file.h"
#include "web/body.h"
#include "web/decoder.h"
#include "web/wacz.h"
#include "web/warc_message.h"

namespace quern::crawl {
namespace {

using store::Tx;
using web::WarcReader;
using web::WarcRecord;

constexpr std::size_t kPieceBytes = 64 * 1024;

using Each = std::function<Result<bool>(WarcReader&, const WarcRecord&)>;  // false: enough

Result<bool> for_each_record(WarcReader& reader, const Each& each) {
  while (true) {
    TRY_ASSIGN(const std::optional<WarcRecord> record, reader.next());
    if (!record) return true;
    TRY_ASSIGN(const bool more, each(reader, *record));
    if (!more) return false;
  }
}

Result<> for_each_record(const std::filesystem::path& path, const Each& each) {
  if (path.extension() == ".wacz") {
    TRY_ASSIGN(const web::WaczReader wacz, web::WaczReader::open(path));
    for (const web::WaczEntry& entry : wacz.archives()) {
      TRY_ASSIGN(const std::unique_ptr<WarcReader> reader, wacz.read_archive(entry));
      TRY_ASSIGN(const bool more, for_each_record(*reader, each));
      if (!more) return {};
    }
    return {};
  }
  TRY_ASSIGN(io::FileReader file, io::FileReader::open(path));
  auto shared = std::make_shared<io::FileReader>(std::move(file));
  std::int64_t at = 0;
  WarcReader reader([shared, at](char* to, std::size_t size) mutable -> Result<std::size_t> {
    TRY_ASSIGN(const std::size_t got, shared->read_at(at, std::span(to, size)));
    at += static_cast<std::int64_t>(got);
    return got;
  });
  TRY(for_each_record(reader, each));
  return {};
}

// The canonical address of a record that has an answer; empty where it has none.
std::string address_of(const WarcRecord& record) {
  if (record.type != "response" || !record.at_us) return {};
  const Result<web::Url> url = web::Url::parse(record.url);
  if (!url.ok() || !url->is_web()) return {};
  std::string canonical = web::canonical_url(*url).href();
  return canonical.size() > web::kUrlBytesMax ? std::string() : canonical;
}

// As if it had just been fetched, at its own time.
Result<web::Fetched> read_answer(WarcReader& reader, const WarcRecord& record,
                                 const std::filesystem::path& spool) {
  web::Fetched fetched;
  TRY_ASSIGN(web::ArchivedMessage message, web::ArchivedMessage::open(reader));
  fetched.status = message.head().status;
  fetched.reason = message.head().reason;
  fetched.version = "1.1";
  fetched.headers = message.head().headers;
  fetched.began_us = fetched.ended_us = *record.at_us;
  web::BodyWriter raw(spool, web::kBodyBytesMax);
  web::BodyWriter body(spool, web::kBodyBytesMax);
  const std::string_view coding = web::find_header(fetched.headers, "Content-Encoding");
  TRY_ASSIGN(const std::unique_ptr<web::ContentDecoder> decoder,
             web::make_decoder(coding, [&body](std::string_view b) { return body.add(b); }));
  std::string piece(kPieceBytes, '\0');
  bool decodes = true;
  while (true) {
    TRY_ASSIGN(const std::size_t got, message.read(piece.data(), piece.size()));
    if (got == 0) break;
    const std::string_view bytes(piece.data(), got);
    TRY(raw.add(bytes));
    if (decoder && decodes) decodes = decoder->write(bytes).ok();
  }
  fetched.raw = raw.finish();
  // Archives often say "gzip" of what is not any more.
  fetched.body = decoder && decodes && decoder->finish().ok() ? body.finish() : fetched.raw;
  return fetched;
}

class Import {
 public:
  Import(const ImportParts& parts, const Crawl& crawl) : parts_(parts), crawl_(crawl) {}

  Result<ImportCounts> run(const std::filesystem::path& file) {
    TRY(for_each_record(
        file, [this](WarcReader&, const WarcRecord& record) { return note_newest(record); }));
    TRY(for_each_record(file, [this](WarcReader& reader, const WarcRecord& record) {
      return take(reader, record);
    }));
    return counts_;
  }

 private:
  Result<bool> note_newest(const WarcRecord& record) {
    if (parts_.stopping) return Error{Errc::Canceled, "the server is stopping"};
    const std::string url = address_of(record);
    if (url.empty()) return true;
    if (newest_.size() >= kImportedUrlsMax) {
      return over_limit("the archive's addresses", static_cast<std::int64_t>(newest_.size()) + 1,
                        kImportedUrlsMax, "crawl.imported_urls_max");
    }
    std::int64_t& at_us = newest_[page_key(url)];
    at_us = std::max(at_us, *record.at_us);
    return true;
  }

  Result<bool> take(WarcReader& reader, const WarcRecord& record) {
    if (parts_.stopping) return Error{Errc::Canceled, "the server is stopping"};
    const std::string url = address_of(record);
    if (url.empty()) {
      ++counts_.skipped;
      return true;
    }
    Result<web::Fetched> fetched = read_answer(reader, record, parts_.spool);
    if (!fetched.ok()) {
      ++counts_.skipped;
      return true;
    }
    const bool newest = newest_.at(page_key(url)) == *record.at_us;
    const web::Url parsed = *web::Url::parse(url);
    const bool page = newest && parsed.path() != "/robots.txt";
    TRY(page ? take_page(url, parsed, *fetched) : take_capture(url, *fetched));
    ++counts_.captures;
    return true;
  }

  Result<> take_capture(const std::string& url, const web::Fetched& fetched) {
    TRY_ASSIGN(const NewCapture capture, archive_answer(url, fetched, parts_.archive));
    TRY(parts_.writer.run({}, [&](Tx& tx) -> Result<bool> {
      TRY(add_capture(tx, crawl_.collection, {}, capture));
      return true;
    }));
    return {};
  }

  Result<> take_page(const std::string& url, const web::Url& parsed, const web::Fetched& fetched) {
    TRY_ASSIGN(const Site site,
               ensure_site(parts_.writer, parts_.readers, web::site_of(parsed), 1));
    const queue::PartitionId partition = site.partition;
    TakeOrder order;
    const auto prepare = [&](Tx& tx) -> Result<std::optional<Page>> {
      return put_page(tx, {site, crawl_.job, crawl_.collection, crawl_.order.pages_max, {}}, url);
    };
    TRY_ASSIGN(const std::optional<Page> page,
               parts_.writer.run(queue::lane_of(partition),
                                 store::Fenced{store::Fence{partition.value, 0}, prepare}));
    // A crawl is at it, or it is being read: what that finds is newer.
    if (!page) return take_capture(url, fetched);
    order.page = *page;
    if (page->capture) {
      TRY_ASSIGN(order.before,
                 parts_.readers.run([&page](Tx& tx) { return find_capture(tx, *page->capture); }));
    }
    order.job = crawl_.job;
    order.shard = crawl_.shards[static_cast<std::size_t>(page->id.value) % crawl_.shards.size()];
    order.tries = kTriesMax;
    TRY_ASSIGN(Taken taken, take_in(order, fetched, parts_.archive, parts_.blobs));
    FetchRecord record = record_of(order, fetched, std::move(taken), parts_.decide);
    record.links.clear();  // an archive is what it is: nothing else is wanted
    if (!record.root && !record.unchanged && record.why.empty()) {
      record.why = "the archive has nothing of it";
      record.why_kind = "status";
    }
    store::Fence fence{partition.value, 0, record.root ? order.shard.value : 0};
    TRY_ASSIGN(const Recorded done,
               parts_.writer.run(
                   queue::lane_of(partition),
                   store::Fenced{fence, [&record](Tx& tx) { return record_fetch(tx, record); }}));
    if (done.root) {
      for (const std::string& place : done.root->orphans) parts_.blobs.discard(place);
    }
    ++counts_.pages;
    return {};
  }

  const ImportParts& parts_;
  const Crawl& crawl_;
  std::map<std::string, std::int64_t> newest_;  // by the address' key
  ImportCounts counts_;
};

}  // namespace

Result<ImportCounts> import_archive(const ImportParts& parts, const Crawl& crawl,
                                    const std::filesystem::path& file) {
  return Import(parts, crawl).run(file);
}

Result<std::string> first_address(const std::filesystem::path& file) {
  std::string first;
  TRY(for_each_record(file, [&first](WarcReader&, const WarcRecord& record) -> Result<bool> {
    first = address_of(record);
    return first.empty();
  }));
  if (first.empty()) return Error{Errc::Invalid, "the file has no answer of the web"};
  return first;
}

}  // namespace quern::crawl

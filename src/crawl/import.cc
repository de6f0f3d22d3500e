#include "crawl/import.h"

#include <fmt/format.h>

#include <map>

#include "base/crash.h"
#include "crawl/capture.h"
#include "io/file.h"
#include "web/body.h"
#include "web/decoder.h"
#include "web/wacz.h"
#include "web/warc_message.h"
#include "web/warc_time.h"

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

// The canonical address of a record of that type; empty where it is another, or of nowhere.
std::string address_of(const WarcRecord& record, std::string_view type) {
  if (record.type != type || !record.at_us) return {};
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
  fetched.address = web::find_header(record, "WARC-IP-Address");
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

// What a revisit says of itself: the server's head, and whose bytes it had.
struct Revisit {
  web::CaptureOrder order;
  int status = 0;
  std::string type;
};
Result<Revisit> read_revisit(WarcReader& reader, const WarcRecord& record, const std::string& url) {
  Revisit revisit;
  std::string content;
  std::string piece(kPieceBytes, '\0');
  while (content.size() <= web::kWarcHeadBytesMax) {
    TRY_ASSIGN(const std::size_t got, reader.read(piece.data(), piece.size()));
    if (got == 0) break;
    content.append(piece, 0, got);
  }
  TRY_ASSIGN(const web::ArchivedHead head, web::parse_archived_head(content));
  revisit.status = head.status;
  revisit.type = plain_type(web::find_header(head.headers, "Content-Type"));
  web::CaptureOrder& order = revisit.order;
  order.url = url;
  order.at_us = *record.at_us;
  order.address = web::find_header(record, "WARC-IP-Address");
  order.response_head = content.substr(0, head.bytes);
  web::CaptureOrder::Revisit of;
  of.url = web::find_header(record, "WARC-Refers-To-Target-URI");
  if (of.url.empty()) of.url = url;
  const auto at = web::parse_warc_date(web::find_header(record, "WARC-Refers-To-Date"));
  of.at_us = at.value_or(0);
  of.payload_digest = web::find_header(record, "WARC-Payload-Digest");
  const std::string_view profile = web::find_header(record, "WARC-Profile");
  of.not_modified = profile.find("not-modified") != std::string_view::npos;
  order.revisit = std::move(of);
  return revisit;
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
    const std::string url = address_of(record, "response");
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
    const std::string revisited = address_of(record, "revisit");
    if (!revisited.empty()) return take_revisit(reader, record, revisited);
    const std::string url = address_of(record, "response");
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
    NewCapture like;
    like.url = url;
    like.surt = web::surt(parsed);
    like.at_us = *record.at_us;
    like.status = fetched->status;
    TRY_ASSIGN(like.digest, web::payload_digest(fetched->raw));
    TRY_ASSIGN(const std::optional<CaptureId> captured, captured_before(like));
    TRY(page ? take_page(like, parsed, *fetched, captured) : take_capture(url, *fetched, captured));
    if (!captured) ++counts_.captures;
    return true;
  }

  // From an earlier reading, of this file or of another that has the same.
  Result<std::optional<CaptureId>> captured_before(const NewCapture& like) const {
    return parts_.readers.run([&](Tx& tx) { return find_same(tx, crawl_.collection, like); });
  }

  Result<> note(const NewCapture& capture) {
    TRY(parts_.writer.run({}, [&](Tx& tx) -> Result<bool> {
      TRY(expect_open(tx, crawl_.job));
      TRY(add_capture(tx, crawl_.collection, {}, capture));
      crash_point("crawl.import.noted");
      return true;
    }));
    return {};
  }

  Result<> take_capture(const std::string& url, const web::Fetched& fetched,
                        std::optional<CaptureId> captured) {
    if (captured) return {};
    TRY_ASSIGN(const NewCapture capture, archive_answer(url, fetched, parts_.archive));
    return note(capture);
  }

  // Others name digests in other ways, or not at all: then the one it refers to has it.
  Result<std::string> digest_of(const web::CaptureOrder::Revisit& revisit) const {
    TRY_ASSIGN(const std::optional<Capture> original, parts_.readers.run([&](Tx& tx) {
      return find_response(tx, crawl_.collection, revisit.url, revisit.at_us);
    }));
    return original ? original->at.digest : revisit.payload_digest;
  }

  Result<bool> take_revisit(WarcReader& reader, const WarcRecord& record, const std::string& url) {
    Result<Revisit> read = read_revisit(reader, record, url);
    if (!read.ok()) {
      ++counts_.skipped;
      return true;
    }
    web::CaptureOrder& order = read->order;
    const Result<web::Url> of = web::Url::parse(order.revisit->url);
    if (of.ok() && order.revisit->at_us > 0) {
      TRY_ASSIGN(order.revisit->payload_digest, digest_of(*order.revisit));
    }
    NewCapture like;
    like.url = url;
    like.surt = web::surt(*web::Url::parse(url));
    like.at_us = order.at_us;
    like.status = read->status;
    like.digest = order.revisit->payload_digest;
    like.revisit = true;
    TRY_ASSIGN(const std::optional<CaptureId> captured, captured_before(like));
    if (captured) return true;
    TRY_ASSIGN(const NewCapture capture,
               archive_revisit(order, read->status, read->type, parts_.archive));
    TRY(note(capture));
    ++counts_.captures;
    return true;
  }

  Result<> take_page(const NewCapture& like, const web::Url& parsed, const web::Fetched& fetched,
                     std::optional<CaptureId> captured) {
    const std::string& url = like.url;
    TRY_ASSIGN(const Site site,
               ensure_site(parts_.writer, parts_.readers, web::site_of(parsed), 1));
    const queue::PartitionId partition = site.partition;
    TakeOrder order;
    const auto prepare = [&](Tx& tx) -> Result<std::optional<Page>> {
      return put_page(tx, {site, crawl_.job, crawl_.collection, crawl_.order->pages_max, {}}, url,
                      like.at_us);
    };
    TRY_ASSIGN(const std::optional<Page> page,
               parts_.writer.run(queue::lane_of(partition),
                                 store::Fenced{store::Fence{partition.value, 0}, prepare}));
    crash_point("crawl.import.page_put");
    // A crawl is at it, or it is being read: what that finds is newer.
    if (!page) return take_capture(url, fetched, captured);
    order.page = *page;
    if (page->capture) {
      TRY_ASSIGN(order.before,
                 parts_.readers.run([&page](Tx& tx) { return find_capture(tx, *page->capture); }));
    }
    order.job = crawl_.job;
    order.shard = crawl_.shards[static_cast<std::size_t>(page->id.value) % crawl_.shards.size()];
    order.tries = kTriesMax;
    order.from_archive = true;
    order.captured = captured;
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
    first = address_of(record, "response");
    if (first.empty()) first = address_of(record, "revisit");
    return first.empty();
  }));
  if (first.empty()) return Error{Errc::Invalid, "the file has no answer of the web"};
  return first;
}

}  // namespace quern::crawl

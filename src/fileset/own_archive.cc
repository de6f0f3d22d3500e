#include "fileset/own_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "fileset/cdx.h"
#include "fileset/file_meta.h"
#include "fileset/landing.h"
#include "io/file.h"
#include "queue/await.h"
#include "web/body.h"
#include "web/url.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::int64_t kPageMs = 180'000;

// "text/html" of "text/html; charset=utf-8".
std::string plain_type(std::string_view header) {
  header = header.substr(0, header.find(';'));
  while (header.ends_with(' ')) header.remove_suffix(1);
  return header.empty() ? "application/octet-stream" : std::string(header);
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// What a page that is no page says.
Resource refused_page(const Answer& answer, const std::string& url) {
  Resource page =
      failed_page("terminal-bad-status", fmt::format("the server answered {}", answer.status), url);
  page.passing = answer.status == 429 || answer.status >= 500;
  if (answer.status == 504) page.status = "gateway-timeout";
  return page;
}

// The address is that of a file, not of a page about it: nobody needs its bytes now, and who keeps
// the file will capture it.
bool is_large_file(const Answer& answer) {
  const std::string type = plain_type(web::find_header(answer.headers, "Content-Type"));
  return answer.problem == web::FetchProblem::TooLarge && answer.status == 200 &&
         type.find("html") == std::string::npos && type.find("xml") == std::string::npos;
}

Resource large_file(const Answer& answer, const std::string& url) {
  Resource page;
  page.status = "success";
  page.capture.terminal_url = url;
  page.capture.terminal_dt = web::timestamp14(answer.last.began_us);
  page.capture.status_code = answer.status;
  page.capture.meta.mimetype = plain_type(web::find_header(answer.headers, "Content-Type"));
  return page;
}

Capture capture_of(const OwnRecord& record) {
  Capture capture;
  capture.terminal_url = record.url;
  capture.terminal_dt = web::timestamp14(record.at_us);
  capture.status_code = record.status;
  capture.cdx = to_json(record);
  return capture;
}

// The address of the next hop, or why there is none.
struct Hop {
  std::string url;
  std::string status;  // of a failure
  std::string message;
};
Hop next_hop(const Answer& answer, const std::string& url, std::set<std::string>& seen) {
  const std::string location(web::find_header(answer.headers, "Location"));
  const Result<web::Url> base = web::Url::parse(url);
  const Result<web::Url> next =
      base.ok() ? web::Url::parse(location, *base) : Result<web::Url>(base.error());
  if (location.empty() || !next.ok() || !next->is_web()) {
    return {{}, "bad-redirect", fmt::format("a redirect leads nowhere: {}", location)};
  }
  if (!seen.insert(next->href()).second) {
    return {{}, "redirect-loop", fmt::format("redirects lead back to {}", next->href())};
  }
  return {next->href(), {}, {}};
}

web::CaptureOrder order_of(const std::string& url, const Answer& answer) {
  const web::Fetched& fetched = answer.last;
  web::CaptureOrder order;
  order.url = url;
  order.at_us = fetched.began_us;
  order.address = fetched.address;
  order.request_head = fetched.request_head;
  order.response_head = web::archived_head(fetched);
  order.body = fetched.raw;
  return order;
}

// Whether the bytes are still in the content coding that the server named: a coding may have been
// taken off to come to the bytes of the manifest.
bool is_still_coded(const Downloaded& downloaded, const std::string& size,
                    const std::string& mimetype) {
  const std::string coding =
      web::to_lower(web::find_header(downloaded.headers, "Content-Encoding"));
  const std::string_view length = web::find_header(downloaded.headers, "Content-Length");
  const bool partial = !web::find_header(downloaded.headers, "Content-Range").empty();
  if (!length.empty() && length != size && !partial) return false;
  return (coding == "gzip" && mimetype == "application/gzip") ||
         (coding == "zstd" && mimetype == "application/zstd");
}

// The head of an answer that came in pieces, as if it had come at once.
std::string whole_head(const Downloaded& downloaded, const web::Body& body,
                       const std::string& mimetype) {
  web::Fetched whole;
  whole.status = 200;
  whole.raw = body;
  const std::string size = std::to_string(body.size());
  const bool coded = is_still_coded(downloaded, size, mimetype);
  bool told = false;
  for (const auto& [name, value] : downloaded.headers) {
    const std::string lower = web::to_lower(name);
    const bool untrue = lower == "content-range" || (lower == "content-encoding" && !coded);
    whole.headers.emplace_back(untrue ? "X-Archive-Orig-" + name : name, value);
    told = told || (lower == "content-length" && value == size);
  }
  if (!told) whole.headers.emplace_back("Content-Length", size);
  return web::archived_head(whole);
}

Kept failed_kept(std::string status, std::string message, bool passing) {
  Kept kept;
  kept.status = std::move(status);
  kept.message = std::move(message);
  kept.passing = passing;
  return kept;
}

}  // namespace

json::object to_json(const OwnRecord& record) {
  return {{"surt", record.surt},
          {"datetime", web::timestamp14(record.at_us)},
          {"url", record.url},
          {"mimetype", record.mimetype},
          {"status_code", record.status},
          {"sha1b32", record.sha1b32},
          {"sha1hex", sha1_of_base32(record.sha1b32).value_or("")},
          {"warc_csize", record.bytes},
          {"warc_offset", record.offset},
          {"warc_path", record.warc}};
}

net::Task<Result<OwnRecord>> OwnArchive::capture(web::CaptureOrder order, int status,
                                                 std::string mimetype) {
  OwnRecord record;
  record.url = order.url;
  record.at_us = order.at_us;
  record.status = status;
  record.mimetype = std::move(mimetype);
  CO_TRY_ASSIGN(const web::Url url, web::Url::parse(order.url));
  record.surt = web::surt(url);
  auto append = [archive = parts_.archive, order = std::move(order)] {
    return archive->append(order);
  };
  CO_TRY_ASSIGN(const web::ArchiveEntry entry,
                co_await queue::offload(parts_.loop, parts_.pool, std::move(append)));
  record.sha1b32 = entry.payload_digest.substr(entry.payload_digest.find(':') + 1);
  record.warc = entry.filename;
  record.offset = entry.offset;
  record.bytes = entry.length;
  record.end = entry.end;
  OwnRecord noted = record;
  CO_TRY(co_await parts_.note(std::move(noted)));
  co_return record;
}

net::Task<Resource> OwnArchive::find_page(const std::string& url, bool /*force_recrawl*/) {
  return follow(url);
}

net::Task<Resource> OwnArchive::follow(std::string url) {
  std::set<std::string> seen{url};
  for (int hop = 0; hop <= kHopsMax; ++hop) {
    Ask ask;
    ask.url = url;
    ask.bytes_max = kPageBytesMax;
    ask.total_ms = kPageMs;
    ask.follow = false;
    Answer answer = co_await parts_.outside.ask(std::move(ask));
    if (is_large_file(answer)) co_return large_file(answer, url);
    if (answer.problem != web::FetchProblem::None) {
      FetchFailure failure = failure_of(answer.problem);
      Resource page = failed_page(std::move(failure.status), answer.message, url);
      page.passing = failure.passing;
      co_return page;
    }
    web::CaptureOrder order = order_of(url, answer);
    std::string type = plain_type(web::find_header(answer.headers, "Content-Type"));
    Result<OwnRecord> record = co_await capture(std::move(order), answer.status, std::move(type));
    if (!record.ok()) {
      Resource page = failed_page("petabox-error", record.error().message(), url);
      page.passing = true;
      co_return page;
    }
    Capture capture = capture_of(*record);
    if (is_redirect(answer.status)) {
      Hop next = next_hop(answer, url, seen);
      if (next.status.empty()) {
        url = std::move(next.url);
        continue;
      }
      Resource page = failed_page(std::move(next.status), std::move(next.message));
      page.capture = std::move(capture);
      co_return page;
    }
    Resource page;
    if (answer.status < 200 || answer.status >= 300) page = refused_page(answer, url);
    const bool refused = !page.status.empty();
    page.capture = std::move(capture);
    if (refused) co_return page;
    page.status = "success";
    page.body = std::move(answer.body);
    finish_page(page, record->mimetype);
    co_return page;
  }
  co_return failed_page("redirects-exceeded", fmt::format("more than {} redirects", kHopsMax), url);
}

net::Task<std::optional<Kept>> OwnArchive::find_file(const ManifestFile& file) {
  return look_for(file);
}

net::Task<std::optional<Kept>> OwnArchive::look_for(ManifestFile file) {
  // Without a digest nobody can tell whether it is still the same file.
  const bool provable = !file.md5.empty() || !file.sha1.empty() || !file.sha256.empty();
  if (!parts_.find || !provable) co_return std::nullopt;
  std::string url = file.platform_url;
  Result<std::vector<OwnCapture>> found = co_await parts_.find(std::move(url));
  if (!found.ok()) co_return std::nullopt;  // it is fetched again
  for (const OwnCapture& capture : *found) {
    if (capture.record.status != 200) continue;
    if (!mismatch_of(file, capture.meta, Compat::Default).empty()) continue;
    Kept kept;
    kept.status = "success";
    kept.capture = capture_of(capture.record);
    kept.capture.meta = capture.meta;
    co_return kept;
  }
  co_return std::nullopt;
}

net::Task<Kept> OwnArchive::keep_file(const ManifestFile& file, const Downloaded* downloaded,
                                      const std::filesystem::path& part) {
  CHECK(downloaded != nullptr);  // wants_bytes()
  return keep(file, *downloaded, part);
}

net::Task<Kept> OwnArchive::keep(ManifestFile file, Downloaded downloaded,
                                 std::filesystem::path part) {
  struct Opened {
    web::Body body;
    std::string type;
    bool dense = false;
  };
  auto open = [part]() -> Result<Opened> {
    Opened opened;
    TRY_ASSIGN(opened.body, web::BodyWriter::of_file(part));
    TRY_ASSIGN(opened.type, mimetype_of_file(part));
    // Of the middle, where no header is.
    std::string sample(kSniffBytes, '\0');
    TRY_ASSIGN(const std::size_t got, opened.body.read_at(opened.body.size() / 2, sample));
    opened.dense = is_dense(std::string_view(sample).substr(0, got));
    return opened;
  };
  Result<Opened> opened = co_await queue::offload(parts_.loop, parts_.pool, std::move(open));
  if (!opened.ok()) co_return failed_kept("petabox-error", opened.error().message(), true);
  if (opened->body.size() != downloaded.size) {
    co_return failed_kept("mismatch",
                          fmt::format("the part has {} bytes, and {} were verified",
                                      opened->body.size(), downloaded.size),
                          true);
  }
  web::CaptureOrder order;
  order.url = downloaded.terminal_url.empty() ? file.platform_url : downloaded.terminal_url;
  order.at_us = downloaded.began_us;
  order.address = downloaded.address;
  order.request_head = downloaded.request_head;
  order.response_head = whole_head(downloaded, opened->body, opened->type);
  order.body = opened->body;
  order.payload_type = opened->type;
  order.dense = opened->dense;
  std::string type = plain_type(web::find_header(downloaded.headers, "Content-Type"));
  Result<OwnRecord> record = co_await capture(std::move(order), 200, std::move(type));
  if (!record.ok()) co_return failed_kept("petabox-error", record.error().message(), true);
  Kept kept;
  kept.status = "success";
  kept.capture = capture_of(*record);
  FileMeta& meta = kept.capture.meta;
  meta = {downloaded.size, downloaded.md5, downloaded.sha1, downloaded.sha256, opened->type};
  const std::string sha1 = sha1_of_base32(record->sha1b32).value_or("");
  if (!meta.sha1.empty() && meta.sha1 != sha1) {
    co_return failed_kept("mismatch", "the bytes that were archived are not those verified", true);
  }
  meta.sha1 = sha1;
  co_return kept;
}

}  // namespace quern::fileset

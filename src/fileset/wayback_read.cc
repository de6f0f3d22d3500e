#include <fmt/format.h>

#include "blob/digest.h"
#include "fileset/landing.h"
#include "fileset/wayback.h"
#include "web/warc.h"
#include "web/warc_message.h"
#include "web/warc_time.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kReadMs = 300'000;
constexpr std::size_t kReadBytes = 64 * 1024;

web::WarcReader::Source source_of(std::string bytes) {
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  return [kept, at = std::size_t{0}](char* to, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t got = kept->copy(to, size, std::min(at, kept->size()));
    at += got;
    return got;
  };
}

// A record, read whole.
struct Record {
  web::WarcRecord head;
  int status = 0;
  std::string location;
  std::string body;
};
Result<Record> read_record(std::string bytes) {
  web::WarcReader reader(source_of(std::move(bytes)));
  TRY_ASSIGN(std::optional<web::WarcRecord> head, reader.next());
  if (!head) return Error{Errc::Corrupt, "there is no record"};
  Record record;
  record.head = *std::move(head);
  if (record.head.type != "response" && record.head.type != "revisit") {
    return Error{Errc::Corrupt, "the record is a " + record.head.type};
  }
  Result<web::ArchivedMessage> message = web::ArchivedMessage::open(reader);
  // A revisit may keep nothing of the answer.
  if (!message.ok() && record.head.type == "revisit") return record;
  TRY_ASSIGN(web::ArchivedMessage answer, std::move(message));
  record.status = answer.head().status;
  record.location = web::find_header(answer.head().headers, "Location");
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    TRY_ASSIGN(const std::size_t got, answer.read(buffer.data(), buffer.size()));
    if (got == 0) return record;
    record.body.append(buffer, 0, got);
    if (static_cast<std::int64_t>(record.body.size()) > kPageBytesMax) {
      return over_limit("a page", static_cast<std::int64_t>(record.body.size()), kPageBytesMax,
                        "fileset.page_bytes_max");
    }
  }
}

// Bytes as they were indexed: decoded, or as they came.
bool has_digest(const Answer& answer, const std::string& sha1hex) {
  if (sha1hex.empty() || blob::hex_of(blob::sha1_of(answer.body)) == sha1hex) return true;
  const Result<std::string> raw = answer.last.raw.whole(kPageBytesMax);
  return raw.ok() && !raw->empty() && blob::hex_of(blob::sha1_of(*raw)) == sha1hex;
}

}  // namespace

std::string Wayback::replay_url(const CdxRow& row) const {
  return fmt::format("{}{}id_/{}", options_.replay, row.datetime, row.url);
}

std::string Wayback::replayed(std::string_view url, std::string* datetime) const {
  const Result<web::Url> base = web::Url::parse(options_.replay);
  if (!base.ok()) return {};
  std::string_view rest = url;
  if (rest.starts_with(base->href())) {
    rest.remove_prefix(base->href().size());
  } else if (rest.starts_with(base->path())) {  // without its host
    rest.remove_prefix(base->path().size());
  } else {
    return {};
  }
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash < 14) return {};
  *datetime = rest.substr(0, 14);
  return std::string(rest.substr(slash + 1));
}

net::Task<Wayback::Content> Wayback::read(CdxRow row) {
  if (row.in_warc() && !options_.warc_base.empty()) {
    co_return co_await read_warc(std::move(row), false);
  }
  co_return co_await read_replay(std::move(row));
}

net::Task<Wayback::Content> Wayback::read_replay(CdxRow row) {
  Content content;
  const auto failed = [&content](std::string_view status, std::string message, bool passing) {
    content = {};
    content.status = status;
    content.message = std::move(message);
    content.passing = passing;
  };
  std::string url = replay_url(row);
  for (int hop = 0; hop <= kReplayHopsMax; ++hop) {
    Ask ask;
    ask.url = url;
    ask.bytes_max = kPageBytesMax;
    ask.total_ms = kReadMs;
    ask.follow = false;
    Answer answer = co_await outside_.ask(std::move(ask));
    if (answer.problem == web::FetchProblem::TooLarge) {
      failed("body-too-large", answer.message, false);
      co_return content;
    }
    if (answer.problem != web::FetchProblem::None) {
      failed("wayback-error", "the replay does not answer: " + answer.message, true);
      co_return content;
    }
    content.http_status = answer.status;
    if (answer.status >= 300 && answer.status < 400) {
      const std::string location(web::find_header(answer.headers, "Location"));
      std::string datetime;
      const std::string target = replayed(location, &datetime);
      // To a capture of the same page: the archive's own; else it is what was captured.
      if (!target.empty() && same_page(target, row.url) && datetime != row.datetime) {
        row.datetime = datetime;
        url = replay_url(row);
        continue;
      }
      content.location = target.empty() ? location : target;
      co_return content;
    }
    if (web::find_header(answer.headers, "X-Archive-Src").empty()) {
      failed("wayback-error",
             fmt::format("the replay answered {}, and not from an archive", answer.status),
             answer.status >= 500 || answer.status == 429);
      co_return content;
    }
    if (row.status && answer.status != *row.status &&
        !(*row.status == 226 && answer.status == 200)) {
      failed(
          "wayback-content-error",
          fmt::format("the replay answered {}, and the index says {}", answer.status, *row.status),
          false);
      co_return content;
    }
    if (!row.is_revisit() && !has_digest(answer, row.sha1hex)) {
      failed("wayback-content-error", "the replay's bytes are not those of the index", false);
      co_return content;
    }
    content.body = std::move(answer.body);
    co_return content;
  }
  failed("wayback-error", "the replay leads from capture to capture", false);
  co_return content;
}

net::Task<Wayback::Content> Wayback::read_warc(CdxRow row, bool is_original) {
  Content content;
  Ask ask;
  ask.url = options_.warc_base + row.warc_path;
  const std::int64_t last = row.warc_offset + std::max<std::int64_t>(row.warc_csize, 1) - 1;
  ask.headers.emplace_back("Range", fmt::format("bytes={}-{}", row.warc_offset, last));
  if (!options_.warc_token.empty()) {
    ask.headers.emplace_back("Cookie", "webdata-secret=" + options_.warc_token);
  }
  ask.bytes_max = kPageBytesMax;
  ask.total_ms = kReadMs;
  Answer answer = co_await outside_.ask(std::move(ask));
  const auto size = static_cast<std::int64_t>(answer.body.size());
  const bool part = answer.problem == web::FetchProblem::None && answer.status == 206;
  if (!part || size != row.warc_csize) {
    content.status = "petabox-error";
    content.passing = true;
    content.message = fmt::format("a record cannot be read: status {}, {} bytes of {}; {}",
                                  answer.status, size, row.warc_csize, answer.message);
    co_return content;
  }
  Result<Record> record = read_record(std::move(answer.body));
  if (!record.ok()) {
    content.status = "wayback-content-error";
    content.message = record.error().message();
    co_return content;
  }
  content.http_status = record->status;
  content.location = record->location;
  if (record->head.type == "response") {
    content.body = std::move(record->body);
    co_return content;
  }
  // The bytes are elsewhere; one step, for whoever revisits a revisit has lost them.
  const std::string url(web::find_header(record->head, "WARC-Refers-To-Target-URI"));
  const auto at_us = web::parse_warc_date(web::find_header(record->head, "WARC-Refers-To-Date"));
  if (is_original || url.empty() || !at_us) {
    content.status = "wayback-content-error";
    content.message = "a revisit does not say what it revisits";
    co_return content;
  }
  CdxQuery query;
  query.url = url;
  query.from = web::timestamp14(*at_us);
  const Result<std::vector<CdxRow>> rows = co_await ask_cdx(std::move(query));
  std::optional<CdxRow> original;
  if (rows.ok()) {
    for (const CdxRow& found : *rows) {
      if (!original && !found.is_revisit() && same_page(found.url, url)) original = found;
    }
  }
  if (!original) {
    content.status = "wayback-error";
    content.message = "what a revisit refers to is not in the index";
    co_return content;
  }
  CdxRow wanted = *original;
  content = co_await read_warc(std::move(wanted), true);
  content.original = std::move(original);
  co_return content;
}

}  // namespace quern::fileset

#include "crawl/replay.h"

#include <fmt/format.h>

#include "web/archive.h"
#include "web/decoder.h"
#include "web/warc_message.h"

namespace quern::crawl {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

Result<std::string> read_content(web::WarcReader& reader) {
  std::string content;
  std::string piece(kPieceBytes, '\0');
  while (true) {
    TRY_ASSIGN(const std::size_t got, reader.read(piece.data(), piece.size()));
    if (got == 0) return content;
    content.append(piece, 0, got);
    if (static_cast<std::int64_t>(content.size()) > kReplayBytesMax) {
      return over_limit("the capture's bytes", static_cast<std::int64_t>(content.size()),
                        kReplayBytesMax, "crawl.replay_bytes_max");
    }
  }
}

Result<std::string> decoded(std::string_view bytes, std::string_view coding) {
  std::string body;
  const auto take = [&body](std::string_view piece) -> Result<> {
    body += piece;
    if (static_cast<std::int64_t>(body.size()) <= kReplayBytesMax) return {};
    return over_limit("the capture's bytes", static_cast<std::int64_t>(body.size()),
                      kReplayBytesMax, "crawl.replay_bytes_max");
  };
  TRY_ASSIGN(const std::unique_ptr<web::ContentDecoder> decoder, web::make_decoder(coding, take));
  if (!decoder) return std::string(bytes);
  TRY(decoder->write(bytes));
  TRY(decoder->finish());
  return body;
}

}  // namespace

Result<Replay> read_capture(const std::filesystem::path& warcs, const NewCapture& capture) {
  TRY_ASSIGN(const std::unique_ptr<web::WarcReader> reader,
             web::Archive::read_at(warcs / capture.warc, capture.warc_at));
  TRY_ASSIGN(const std::optional<web::WarcRecord> record, reader->next());
  if (!record || record->url != capture.url) {
    return Error{Errc::Corrupt,
                 fmt::format("{} has another record at {}", capture.warc, capture.warc_at)};
  }
  TRY_ASSIGN(const std::string content, read_content(*reader));
  TRY_ASSIGN(const web::ArchivedHead head, web::parse_archived_head(content));
  Replay replay{head.status, head.headers, {}};
  TRY_ASSIGN(replay.body, decoded(std::string_view(content).substr(head.bytes),
                                  web::find_header(head.headers, "Content-Encoding")));
  return replay;
}

Result<std::string> revisited_url(const std::filesystem::path& warcs, const NewCapture& revisit) {
  TRY_ASSIGN(const std::unique_ptr<web::WarcReader> reader,
             web::Archive::read_at(warcs / revisit.warc, revisit.warc_at));
  TRY_ASSIGN(const std::optional<web::WarcRecord> record, reader->next());
  if (!record) return std::string();
  return std::string(web::find_header(*record, "WARC-Refers-To-Target-URI"));
}

}  // namespace quern::crawl

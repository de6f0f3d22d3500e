#include "web/cdxj_index.h"

#include <algorithm>
#include <vector>

#include "web/url.h"
#include "web/warc_digest.h"
#include "web/warc_lines.h"

namespace quern::web {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
// Longer ones are nobody's: an index line stays within what parse_cdxj() takes.
constexpr std::size_t kFieldBytesMax = 256;
constexpr std::string_view kUnknownType = "unk";
constexpr std::string_view kRevisitType = "warc/revisit";

// "Text/HTML; charset=utf-8" is "text/html".
std::string type_of(std::string_view header) {
  std::string type(trimmed(header.substr(0, header.find(';'))));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  const bool odd = type.empty() || type.size() > kFieldBytesMax;
  return odd ? std::string(kUnknownType) : type;
}

struct Content {
  std::string head;  // of the answer; empty where there is none
  std::string digest;
};

// Reads it to its end, whatever it is.
Result<Content> read_content(WarcReader& reader, bool has_head) {
  Content content;
  blob::Digest digest(blob::Digest::Kind::Sha1);
  bool in_head = has_head;
  std::vector<char> buffer(kPieceBytes);
  while (true) {
    TRY_ASSIGN(const std::size_t got, reader.read(buffer.data(), buffer.size()));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), got);
    if (!in_head) {
      digest.add(piece);
      continue;
    }
    content.head += piece;
    const std::size_t end = head_end(content.head);
    in_head = end == std::string::npos && content.head.size() < kWarcHeadBytesMax;
    if (in_head || end == std::string::npos) continue;
    digest.add(std::string_view(content.head).substr(end));
    content.head.resize(end);
  }
  content.digest = sha1_label(digest.finish());
  return content;
}

// Nothing where it is no capture of ours to show.
std::optional<CdxjLine> line_of(const WarcRecord& record, const Content& content) {
  if (record.url.size() > kIndexedUrlBytesMax) return {};
  const auto url = Url::parse(record.url);
  if (!url.ok() || !url->is_web() || !record.at_us || record.shares_member) return {};
  CdxjLine line;
  line.surt = surt(*url);
  line.timestamp = timestamp14(*record.at_us);
  line.url = record.url;
  line.digest = find_header(record, "WARC-Payload-Digest");
  if (line.digest.empty() || line.digest.size() > kFieldBytesMax) line.digest = content.digest;
  line.offset = record.offset;
  if (record.type == "resource") {
    line.status = 200;
    line.mime = type_of(find_header(record, "Content-Type"));
    return line;
  }
  const auto head = parse_archived_head(content.head);
  const bool revisit = record.type == "revisit";
  if (!head.ok() && !revisit) return {};
  line.mime = revisit ? kRevisitType : type_of(find_header(head->headers, "Content-Type"));
  line.status = head.ok() ? head->status : 0;
  return line;
}

}  // namespace

Result<IndexCounts> index_archive(WarcReader& reader, const std::string& filename,
                                  const std::function<Result<>(const CdxjLine&)>& take) {
  IndexCounts counts;
  while (true) {
    TRY_ASSIGN(const auto record, reader.next());
    if (!record) return counts;
    ++counts.records;
    const bool answer = record->type == "response" || record->type == "revisit";
    if (!answer && record->type != "resource") continue;
    TRY_ASSIGN(const Content content, read_content(reader, answer));
    auto line = line_of(*record, content);
    if (!line) {
      ++counts.unreadable;
      continue;
    }
    line->filename = filename;
    line->length = std::max<std::int64_t>(reader.position() - record->offset, 0);
    TRY(take(*line));
    ++counts.lines;
  }
}

}  // namespace quern::web

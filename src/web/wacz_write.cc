#include <fmt/format.h>
#include <zlib.h>

#include <boost/json.hpp>

#include "base/check.h"
#include "base/utf8.h"
#include "blob/digest.h"
#include "io/file.h"
#include "web/wacz.h"
#include "web/warc_gzip.h"
#include "web/warc_time.h"

namespace quern::web {
namespace {

namespace json = boost::json;

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::string_view kVersion = "1.1.1";
constexpr std::string_view kPagesHead =
    R"({"format":"json-pages-1.0","id":"pages","title":"All Pages"})"
    "\n";
constexpr std::string_view kIndexHead =
    R"(!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"})"
    "\n";
constexpr char kPagePath[] = "pages/pages.jsonl";

std::string sha256_label(std::string_view raw) {
  return "sha256:" + blob::hex_of(raw);
}

// Bytes that can be read twice, in pieces.
using Pieces = std::function<Result<>(const ZipWriter::Sink&)>;

Result<> read_pieces(const io::FileReader& reader, std::int64_t bytes,
                     const ZipWriter::Sink& take) {
  std::vector<char> buffer(kPieceBytes);
  for (std::int64_t at = 0; at < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(bytes - at, kPieceBytes));
    TRY_ASSIGN(const std::size_t got, reader.read_at(at, std::span(buffer).first(wanted)));
    if (got != wanted) return Error{Errc::Corrupt, "an archive is shorter than it was"};
    TRY(take(std::string_view(buffer.data(), got)));
    at += static_cast<std::int64_t>(got);
  }
  return {};
}

json::value json_text(const std::string& text) {
  return json::value(valid_utf8(text));
}

}  // namespace

class WaczWriter::Core {
 public:
  Core(WaczOptions options, ZipWriter::Sink sink)
      : options_(std::move(options)),
        zip_(std::move(sink), options_.created_us),
        index_(options_.spool),
        blocks_(options_.spool),
        pages_(options_.spool) {}

  Result<> add_warc(const std::filesystem::path& file, std::int64_t bytes);
  Result<> add_index(const CdxjLine& line);
  Result<> add_page(const WaczPage& page);
  Result<> finish();

 private:
  Result<> add_entry(const std::string& path, std::int64_t bytes, const Pieces& pieces);
  Result<> add_text(const std::string& path, const std::string& text);
  Result<> add_body(const std::string& path, const Body& body);
  Result<> end_block();
  std::string package() const;

  WaczOptions options_;
  ZipWriter zip_;
  json::array resources_;
  BodyWriter index_;   // compressed
  BodyWriter blocks_;  // a line of index.idx for each member of it
  BodyWriter pages_;
  std::string page_lines_{kPagesHead};  // not there yet: lines are short, and writes are not
  std::string block_;                   // lines of the member under way
  int block_lines_ = 0;
  std::string block_key_;  // of its first line
  std::string last_key_;
};

Result<> WaczWriter::Core::add_entry(const std::string& path, std::int64_t bytes,
                                     const Pieces& pieces) {
  ZipEntry entry{.name = path, .bytes = bytes};
  blob::Digest digest(blob::Digest::Kind::Sha256);
  std::int64_t seen = 0;
  TRY(pieces([&](std::string_view piece) -> Result<> {
    entry.crc = static_cast<std::uint32_t>(::crc32(
        entry.crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size())));
    digest.add(piece);
    seen += static_cast<std::int64_t>(piece.size());
    return {};
  }));
  CHECK(seen == bytes);
  json::object resource;
  resource["name"] = valid_utf8(path.substr(path.rfind('/') + 1));
  resource["path"] = valid_utf8(path);
  resource["hash"] = sha256_label(digest.finish());
  resource["bytes"] = bytes;
  resources_.push_back(std::move(resource));
  TRY(zip_.begin(entry));
  return pieces([this](std::string_view piece) { return zip_.add(piece); });
}

Result<> WaczWriter::Core::add_text(const std::string& path, const std::string& text) {
  return add_entry(path, static_cast<std::int64_t>(text.size()),
                   [&text](const ZipWriter::Sink& take) { return take(text); });
}

Result<> WaczWriter::Core::add_body(const std::string& path, const Body& body) {
  return add_entry(path, body.size(),
                   [&body](const ZipWriter::Sink& take) { return body.read(take); });
}

Result<> WaczWriter::Core::add_warc(const std::filesystem::path& file, std::int64_t bytes) {
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(file));
  return add_entry("archive/" + file.filename().native(), bytes,
                   [&](const ZipWriter::Sink& take) { return read_pieces(reader, bytes, take); });
}

Result<> WaczWriter::Core::add_index(const CdxjLine& line) {
  std::string key = line.surt + " " + line.timestamp;
  if (key < last_key_) return Error{Errc::Invalid, "an index is sorted, and this is not: " + key};
  if (block_lines_ == 0) block_key_ = key;
  last_key_ = std::move(key);
  block_ += line.text() + "\n";
  if (++block_lines_ < kWaczBlockLines) return {};
  return end_block();
}

Result<> WaczWriter::Core::end_block() {
  if (block_lines_ == 0) return {};
  const std::int64_t offset = index_.size();
  blob::Digest digest(blob::Digest::Kind::Sha256);
  const GzipMember::Sink sink = [&](std::string_view bytes) {
    digest.add(bytes);
    return index_.add(bytes);
  };
  GzipMember member(sink);
  TRY(member.add(block_));
  TRY_ASSIGN(const std::int64_t length, member.finish());
  json::object place;
  place["offset"] = offset;
  place["length"] = length;
  place["digest"] = sha256_label(digest.finish());
  TRY(blocks_.add(block_key_ + " " + json::serialize(place) + "\n"));
  block_.clear();
  block_lines_ = 0;
  return {};
}

Result<> WaczWriter::Core::add_page(const WaczPage& page) {
  const std::string ts = warc_date(page.at_us);
  json::object line;
  line["id"] = blob::hex_of(blob::sha1_of(ts + page.url)).substr(0, 20);
  line["url"] = json_text(page.url);
  line["ts"] = ts;
  line["title"] = json_text(page.title);
  page_lines_ += json::serialize(line) + "\n";
  if (page_lines_.size() < kPieceBytes) return {};
  TRY(pages_.add(page_lines_));
  page_lines_.clear();
  return {};
}

std::string WaczWriter::Core::package() const {
  json::object package;
  package["profile"] = "data-package";
  package["wacz_version"] = kVersion;
  package["title"] = json_text(options_.title);
  package["description"] = json_text(options_.description);
  package["software"] = json_text(options_.software);
  package["created"] = warc_date(options_.created_us);
  if (!options_.main_page_url.empty()) {
    package["mainPageUrl"] = json_text(options_.main_page_url);
    package["mainPageDate"] = warc_date(options_.main_page_at_us);
  }
  package["resources"] = resources_;
  return json::serialize(package);
}

Result<> WaczWriter::Core::finish() {
  TRY(end_block());
  TRY(pages_.add(page_lines_));
  const Body index = index_.finish();
  const Body blocks = blocks_.finish();
  const Body pages = pages_.finish();
  TRY(add_body("indexes/index.cdx.gz", index));
  TRY(add_entry("indexes/index.idx", static_cast<std::int64_t>(kIndexHead.size()) + blocks.size(),
                [&blocks](const ZipWriter::Sink& take) -> Result<> {
                  TRY(take(kIndexHead));
                  return blocks.read(take);
                }));
  TRY(add_body(kPagePath, pages));
  const std::string described = package();
  json::object digest;
  digest["path"] = "datapackage.json";
  digest["hash"] = sha256_label(blob::sha256_of(described));
  TRY(add_text("datapackage.json", described));
  TRY(add_text("datapackage-digest.json", json::serialize(digest)));
  return zip_.finish();
}

WaczWriter::WaczWriter(WaczOptions options, ZipWriter::Sink sink)
    : core_(std::make_unique<Core>(std::move(options), std::move(sink))) {}

WaczWriter::~WaczWriter() = default;

Result<> WaczWriter::add_warc(const std::filesystem::path& file, std::int64_t bytes) {
  return core_->add_warc(file, bytes);
}

Result<> WaczWriter::add_index(const CdxjLine& line) {
  return core_->add_index(line);
}

Result<> WaczWriter::add_page(const WaczPage& page) {
  return core_->add_page(page);
}

Result<> WaczWriter::finish() {
  return core_->finish();
}

}  // namespace quern::web

// warc_samples FOLDER: writes a web archive with one capture of each kind, for a reader that is not
// ours (web/tests/warc.test.mjs). Prints where each lies: URL, file, offset, length, payload
// digest.
#include <fmt/format.h>
#include <zlib.h>

#include <string>

#include "io/file.h"
#include "web/archive.h"
#include "web/body.h"

namespace quern::web {
namespace {

constexpr std::int64_t kAtUs = 1'794'808'800'123'456;  // 2026-11-16T06:00:00.123456Z
constexpr int kLargeLines = 200'000;

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  CHECK(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// An answer as the fetcher gives it.
Fetched answer(int status, HeaderList headers, std::string body) {
  Fetched fetched;
  fetched.status = status;
  fetched.version = "1.1";
  fetched.headers = std::move(headers);
  fetched.raw = BodyWriter::in_memory(std::move(body));
  fetched.address = "192.0.2.1";
  fetched.request_head = "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n";
  return fetched;
}

class Samples {
 public:
  explicit Samples(std::unique_ptr<Archive> archive) : archive_(std::move(archive)) {}

  Result<> add(const std::string& name, const Fetched& fetched,
               std::optional<CaptureOrder::Revisit> revisit = {}) {
    CaptureOrder order;
    order.url = "https://site.example/" + name;
    order.at_us = kAtUs;
    order.address = fetched.address;
    order.request_head = fetched.request_head;
    order.response_head = archived_head(fetched);
    order.body = fetched.raw;
    order.payload_type = "text/html";
    order.truncated = name == "cut" ? "length" : "";
    order.revisit = std::move(revisit);
    TRY_ASSIGN(const ArchiveEntry entry, archive_->append(order));
    fmt::print("{}\t{}\t{}\t{}\t{}\n", order.url, entry.filename, entry.offset, entry.length,
               entry.payload_digest);
    last_digest_ = entry.payload_digest;
    return {};
  }

  Result<> add_large(const std::filesystem::path& spool) {
    BodyWriter writer(spool);
    for (int i = 0; i < kLargeLines; ++i) TRY(writer.add(fmt::format("line {}\n", i)));
    Fetched fetched = answer(200, {{"Content-Type", "text/plain"}}, "");
    fetched.raw = writer.finish();
    return add("large", fetched);
  }

  const std::string& last_digest() const { return last_digest_; }

 private:
  std::unique_ptr<Archive> archive_;
  std::string last_digest_;
};

Result<> write_samples(const std::filesystem::path& folder) {
  TRY_ASSIGN(auto archive, Archive::open({.folder = folder, .software = "quern/test"}));
  Samples samples(std::move(archive));
  const HeaderList html{
      {"Content-Type", "text/html; charset=utf-8"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}};
  TRY(samples.add("plain", answer(200, html, "<p>Grüße</p>\n")));
  const CaptureOrder::Revisit same{"https://site.example/plain", kAtUs, samples.last_digest(),
                                   false};
  const CaptureOrder::Revisit unchanged{"https://site.example/plain", kAtUs, samples.last_digest(),
                                        true};
  TRY(samples.add("same", answer(200, html, "<p>Grüße</p>\n"), same));
  TRY(samples.add("unchanged", answer(304, {{"ETag", "\"x\""}}, ""), unchanged));
  TRY(samples.add("empty", answer(204, {}, "")));
  TRY(samples.add_large(folder));
  TRY(samples.add("gzip", answer(200, {{"Content-Encoding", "gzip"}}, gzipped("packed text"))));
  Fetched chunked =
      answer(200, {{"Transfer-Encoding", "chunked"}, {"Content-Length", "99"}}, "put together");
  TRY(samples.add("chunked", chunked));
  Fetched second = answer(404, {{"content-type", "text/html"}}, "\r\n\r\nWARC/1.0\r\n\r\n");
  second.version = "2";
  TRY(samples.add("second-version", second));
  TRY(samples.add("grüße/日本", answer(200, html, "unicode")));
  TRY(samples.add("a b\r\nX: y", answer(200, {{"X", "a\r\nb"}}, "hostile")));
  return samples.add("cut", answer(200, html, "half of"));
}

}  // namespace
}  // namespace quern::web

int main(int argc, char** argv) {
  CHECK(argc == 2);
  CHECK_OK(quern::web::write_samples(argv[1]));
  return 0;
}

// Web archives and index lines: whatever the bytes, there are records or an error, never more than
// was given of a plain file.
#include <string>
#include <vector>

#include "base/check.h"
#include "web/cdxj_index.h"
#include "web/warc.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

constexpr std::size_t kPiece = 37;
constexpr std::int64_t kContentBytesMax = 1 << 20;  // small inputs can unpack to much

WarcReader::Source source_of(std::string_view bytes) {
  return [bytes, at = std::size_t{0}](char* to, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t taken = std::min({size, kPiece, bytes.size() - at});
    bytes.copy(to, taken, at);
    at += taken;
    return taken;
  };
}

void read_messages(std::string_view bytes) {
  WarcReader reader(source_of(bytes));
  std::vector<char> buffer(1000);
  std::int64_t total = 0;
  while (total < kContentBytesMax) {
    const auto record = reader.next();
    if (!record.ok() || !*record) return;
    CHECK((*record)->content_bytes >= 0);
    CHECK((*record)->offset >= 0 && (*record)->offset <= static_cast<std::int64_t>(bytes.size()));
    auto message = ArchivedMessage::open(reader);
    if (!message.ok()) continue;
    while (total < kContentBytesMax) {
      const auto got = message->read(buffer.data(), buffer.size());
      if (!got.ok() || *got == 0) break;
      total += static_cast<std::int64_t>(*got);
    }
  }
}

void verify_all(std::string_view bytes) {
  WarcReader reader(source_of(bytes));
  while (true) {
    const auto record = reader.next();
    if (!record.ok() || !*record) return;
    if (!verify_record(reader, **record).ok()) return;
    CHECK(reader.position() == 0 || reader.position() >= (*record)->offset);
    CHECK(reader.position() <= static_cast<std::int64_t>(bytes.size()));
  }
}

void index_all(std::string_view bytes) {
  WarcReader reader(source_of(bytes));
  const auto take = [](const CdxjLine& line) -> Result<> {
    CHECK(line.offset >= 0 && line.length >= 0);
    CHECK_OK(parse_cdxj(line.text()));
    return {};
  };
  (void)index_archive(reader, "a", take);
}

void parse_index(std::string_view bytes) {
  const auto line = parse_cdxj(bytes.substr(0, bytes.find('\n')));
  if (!line.ok()) return;
  const auto again = parse_cdxj(line->text());
  CHECK_OK(again);
  CHECK(again->text() == line->text());
}

}  // namespace
}  // namespace quern::web

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  quern::web::read_messages(bytes);
  quern::web::verify_all(bytes);
  quern::web::index_all(bytes);
  quern::web::parse_index(bytes);
  return 0;
}

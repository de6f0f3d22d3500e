#include "fileset/decode_part.h"

#include <memory>

#include "web/decoder.h"

namespace quern::fileset {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

Result<DecodedPart> decode_part(const std::filesystem::path& part, const std::string& encoding,
                                std::int64_t bytes_max) {
  TRY_ASSIGN(io::DurableFile file,
             io::DurableFile::create(part.parent_path(), part.filename().native()));
  Sums sums;
  const auto write = [&](std::string_view bytes) -> Result<> {
    const std::int64_t size = file.bytes_written() + static_cast<std::int64_t>(bytes.size());
    if (size > bytes_max) return over_limit("the decoded file", size, bytes_max, "bytes_max");
    sums.add(bytes);
    return file.write(bytes);
  };
  TRY_ASSIGN(const std::unique_ptr<web::ContentDecoder> decoder,
             web::make_decoder(encoding, write));
  if (!decoder) return Error{Errc::Invalid, "nobody knows the coding " + encoding};
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(part));
  std::string buffer(kReadBytes, '\0');
  for (std::int64_t at = 0; at < reader.size_bytes();) {
    TRY_ASSIGN(const std::size_t n, reader.read_at(at, buffer));
    if (n == 0) break;
    TRY(decoder->write(std::string_view(buffer).substr(0, n)));
    at += static_cast<std::int64_t>(n);
  }
  TRY(decoder->finish());
  Digests digests = sums.digests();
  return DecodedPart{std::move(file), std::move(digests)};
}

}  // namespace quern::fileset

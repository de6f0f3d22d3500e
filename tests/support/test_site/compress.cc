#include "support/test_site/compress.h"

#include <brotli/encode.h>
#include <fmt/format.h>
#include <iconv.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "base/check.h"

namespace quern::test_site {
namespace {

constexpr std::size_t kMebibyte = 1024 * 1024;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

std::string run_deflate(std::string_view text, int window_bits, int flush) {
  z_stream stream{};
  CHECK(::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 9,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = ::deflate(&stream, flush);
  CHECK(done == Z_STREAM_END || done == Z_OK);
  CHECK(stream.avail_in == 0);
  out.resize(std::min<std::size_t>(stream.total_out, out.size()));
  ::deflateEnd(&stream);
  return out;
}

}  // namespace

std::string deflated(std::string_view text, Deflate format) {
  const int bits = format == Deflate::Gzip ? 15 + 16 : format == Deflate::Zlib ? 15 : -15;
  return run_deflate(text, bits, Z_FINISH);
}

std::string brotli(std::string_view text) {
  std::size_t size = ::BrotliEncoderMaxCompressedSize(text.size()) + 64;
  std::string out(size, '\0');
  CHECK(::BrotliEncoderCompress(5, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, text.size(),
                                reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                                reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_TRUE);
  out.resize(size);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  CHECK(::ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

Bomb gzip_bomb(std::uint64_t mebibytes) {
  const std::string zeros(kMebibyte, '\0');
  Bomb bomb;
  bomb.head = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  // A full flush forgets what came before, so that the same bytes can come again.
  bomb.block = run_deflate(zeros, -15, Z_FULL_FLUSH);
  bomb.blocks = mebibytes;
  const uLong one = ::crc32(0, reinterpret_cast<const Bytef*>(zeros.data()), kMebibyte);
  uLong all = ::crc32(0, nullptr, 0);
  for (std::uint64_t i = 0; i < mebibytes; ++i) all = ::crc32_combine(all, one, kMebibyte);
  bomb.tail =
      std::string("\x03\x00", 2) + little_endian(all, 4) + little_endian(mebibytes * kMebibyte, 4);
  return bomb;
}

std::string converted(std::string_view text, const char* encoding) {
  const iconv_t to = ::iconv_open(encoding, "UTF-8");
  CHECK(to != reinterpret_cast<iconv_t>(-1));
  std::string out(text.size() * 4 + 16, '\0');
  char* in = const_cast<char*>(text.data());
  std::size_t in_left = text.size();
  char* at = out.data();
  std::size_t out_left = out.size();
  CHECK(::iconv(to, &in, &in_left, &at, &out_left) == 0);
  ::iconv_close(to);
  out.resize(out.size() - out_left);
  return out;
}

std::string make_pdf(const std::vector<std::string>& pages) {
  std::string pdf = "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n";
  std::vector<std::size_t> offsets;
  const auto object = [&](const std::string& content) {
    offsets.push_back(pdf.size());
    pdf += fmt::format("{} 0 obj\n{}\nendobj\n", offsets.size(), content);
  };
  // Objects 1 to 3 are the catalog, the tree of pages and the font; then two for each page.
  std::string kids;
  for (std::size_t i = 0; i < pages.size(); ++i) kids += fmt::format("{} 0 R ", 4 + 2 * i);
  object("<< /Type /Catalog /Pages 2 0 R >>");
  object(fmt::format("<< /Type /Pages /Count {} /Kids [{}] >>", pages.size(), kids));
  object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  for (std::size_t i = 0; i < pages.size(); ++i) {
    object(
        fmt::format("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R "
                    "/Resources << /Font << /F1 3 0 R >> >> >>",
                    5 + 2 * i));
    const std::string drawing = fmt::format("BT /F1 24 Tf 72 700 Td ({}) Tj ET", pages[i]);
    object(fmt::format("<< /Length {} >>\nstream\n{}\nendstream", drawing.size(), drawing));
  }
  const std::size_t table = pdf.size();
  pdf += fmt::format("xref\n0 {}\n0000000000 65535 f \n", offsets.size() + 1);
  for (const std::size_t offset : offsets) pdf += fmt::format("{:010} 00000 n \n", offset);
  pdf += fmt::format("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n",
                     offsets.size() + 1, table);
  return pdf;
}

std::string make_zip(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string zip;
  std::string directory;
  for (const auto& [name, bytes] : members) {
    const uLong crc =
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    // Version, flags, method (stored), time and date (1 January 2026), sum, sizes, lengths.
    const std::string common = little_endian(20, 2) + little_endian(0, 4) + little_endian(0, 2) +
                               little_endian((46U << 9) + (1U << 5) + 1, 2) +
                               little_endian(crc, 4) + little_endian(bytes.size(), 4) +
                               little_endian(bytes.size(), 4) + little_endian(name.size(), 2) +
                               little_endian(0, 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(zip.size(), 4) + name;
    zip += "PK\x03\x04" + common + name + bytes;
  }
  return zip + directory + "PK\x05\x06" + little_endian(0, 4) + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(zip.size(), 4) + little_endian(0, 2);
}

std::string make_docx(std::string_view text) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
  const std::string types =
      head +
      "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
      "<Default Extension=\"rels\" "
      "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
      "<Override PartName=\"/word/document.xml\" ContentType=\"application/"
      "vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>";
  const std::string relations =
      head +
      "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">"
      "<Relationship Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/"
      "relationships/officeDocument\" Target=\"word/document.xml\"/></Relationships>";
  const std::string document =
      head +
      "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">"
      "<w:body><w:p><w:r><w:t>" +
      std::string(text) + "</w:t></w:r></w:p></w:body></w:document>";
  return make_zip({{"[Content_Types].xml", types},
                   {"_rels/.rels", relations},
                   {"word/document.xml", document}});
}

}  // namespace quern::test_site

#include "fileset/file_meta.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fileset/sums.h"
#include "io/file.h"
#include "web/decoder.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

using std::literals::operator""sv;

constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kXmlBytes = 1024;  // of the beginning, that say what kind it is

struct Mark {
  std::size_t at;
  std::string_view bytes;
  std::string_view type;
};
// The more particular first.
constexpr std::array kMarks = {
    Mark{0, "\x1F\x8B"sv, "application/gzip"},
    Mark{0, "%PDF-"sv, "application/pdf"},
    Mark{0, "PK\x03\x04"sv, "application/zip"},
    Mark{0, "PK\x05\x06"sv, "application/zip"},  // an empty one
    Mark{0, "BZh"sv, "application/x-bzip2"},
    Mark{0,
         "\xFD"
         "7zXZ\0"sv,
         "application/x-xz"},
    Mark{0, "7z\xBC\xAF\x27\x1C"sv, "application/x-7z-compressed"},
    Mark{0, "Rar!\x1A\x07"sv, "application/x-rar"},
    Mark{0, "\x28\xB5\x2F\xFD"sv, "application/zstd"},
    Mark{0, "\x04\x22\x4D\x18"sv, "application/x-lz4"},
    Mark{257, "ustar"sv, "application/x-tar"},
    Mark{0, "\x89PNG\r\n\x1A\n"sv, "image/png"},
    Mark{0, "\xFF\xD8\xFF"sv, "image/jpeg"},
    Mark{0, "GIF87a"sv, "image/gif"},
    Mark{0, "GIF89a"sv, "image/gif"},
    Mark{0, "II*\0"sv, "image/tiff"},
    Mark{0, "MM\0*"sv, "image/tiff"},
    Mark{0, "II+\0"sv, "image/tiff"},  // of more than 4 GB
    Mark{8, "WEBP"sv, "image/webp"},
    Mark{0, "\0\0\0\x0CjP  \r\n\x87\n"sv, "image/jp2"},
    Mark{8, "WAVE"sv, "audio/x-wav"},
    Mark{8, "AVI "sv, "video/x-msvideo"},
    Mark{0, "fLaC"sv, "audio/flac"},
    Mark{0, "OggS"sv, "application/ogg"},
    Mark{0, "ID3"sv, "audio/mpeg"},
    Mark{0, "\xFF\xFB"sv, "audio/mpeg"},
    Mark{4, "ftypqt"sv, "video/quicktime"},
    Mark{4, "ftypM4A"sv, "audio/x-m4a"},
    Mark{4, "ftyp"sv, "video/mp4"},
    Mark{0, "\x1A\x45\xDF\xA3"sv, "video/x-matroska"},
    Mark{0, "\x89HDF\r\n\x1A\n"sv, "application/x-hdf5"},
    Mark{0, "\x0E\x03\x13\x01"sv, "application/x-hdf"},
    Mark{0, "CDF\x01"sv, "application/x-netcdf"},
    Mark{0, "CDF\x02"sv, "application/x-netcdf"},
    Mark{0, "CDF\x05"sv, "application/x-netcdf"},
    Mark{0, "SIMPLE  ="sv, "image/fits"},
    Mark{0, "SQLite format 3\0"sv, "application/x-sqlite3"},
    Mark{0, "PAR1"sv, "application/vnd.apache.parquet"},
    Mark{0, "\x93NUMPY"sv, "application/x-npy"},
    Mark{0, "MATLAB 5.0 MAT-file"sv, "application/x-matlab-data"},
    Mark{0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "application/x-ole-storage"},
    Mark{0, "$FL2"sv, "application/x-spss-sav"},
    Mark{0, "$FL3"sv, "application/x-spss-sav"},
    Mark{0, "<stata_dta>"sv, "application/x-stata-dta"},
    Mark{0, "GRIB"sv, "application/x-grib"},
    Mark{0, "%!PS"sv, "application/postscript"},
    Mark{0, "{\\rtf"sv, "text/rtf"},
    Mark{128, "DICM"sv, "application/dicom"},
    Mark{0,
         "\x7F"
         "ELF"sv,
         "application/x-executable"},
    Mark{0, "WARC/1."sv, "application/warc"},
};

bool has_mark(std::string_view bytes, const Mark& mark) {
  return bytes.size() >= mark.at && bytes.substr(mark.at).starts_with(mark.bytes);
}

// A zip that says by its first name what it is.
std::string_view zip_type(std::string_view bytes) {
  constexpr std::size_t kNameAt = 30;
  const std::string_view rest = bytes.substr(std::min(bytes.size(), kNameAt));
  if (rest.starts_with("mimetype")) {
    constexpr std::array kTold = {"application/epub+zip"sv,
                                  "application/vnd.oasis.opendocument.spreadsheet"sv,
                                  "application/vnd.oasis.opendocument.presentation"sv,
                                  "application/vnd.oasis.opendocument.text"sv};
    for (const std::string_view type : kTold) {
      if (rest.substr(8).starts_with(type)) return type;
    }
  }
  if (!rest.starts_with("[Content_Types].xml") && !rest.starts_with("_rels/")) {
    return "application/zip";
  }
  const std::string_view near = bytes.substr(0, kSniffBytes);
  if (near.find("xl/") != std::string_view::npos) {
    return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
  }
  if (near.find("ppt/") != std::string_view::npos) {
    return "application/vnd.openxmlformats-officedocument.presentationml.presentation";
  }
  if (near.find("word/") != std::string_view::npos) {
    return "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  }
  return "application/zip";
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

// Whether it is text: no control characters but those of text, UTF-8 or an 8-bit code.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7F : is_blank(c) || c == '\b' || c == 0x1B;
  });
}

std::string xml_type(std::string_view lower) {
  const std::string_view head = lower.substr(0, kXmlBytes);
  const auto has = [head](std::string_view text) {
    return head.find(text) != std::string_view::npos;
  };
  if (has("<htm") && has("xmlns=\"http://www.w3.org/1999/xhtml\"")) return "application/xhtml+xml";
  if (has("<article ") && !has("<html")) return "application/jats+xml";
  if (has("<svg")) return "image/svg+xml";
  if (has("<!doctype html") || has("<html")) return "text/html";
  return "text/xml";
}

std::string text_type(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  while (!bytes.empty() && is_blank(bytes.front())) bytes.remove_prefix(1);
  const std::string lower = web::to_lower(bytes.substr(0, 4 * kXmlBytes));
  if (lower.starts_with("<?xml")) return xml_type(lower);
  if (!lower.starts_with("<")) {
    const bool json = (lower.starts_with("{") || lower.starts_with("[")) &&
                      lower.find('"') != std::string::npos && lower.find(':') != std::string::npos;
    return json ? "application/json" : "text/plain";
  }
  constexpr std::array kHtml = {"<!doctype html"sv, "<html"sv,   "<head"sv, "<body"sv,
                                "<title"sv,         "<script"sv, "<table"sv};
  for (const std::string_view tag : kHtml) {
    if (lower.starts_with(tag)) return "text/html";
  }
  // A comment first, then the page.
  if (lower.starts_with("<!--") && (lower.find("<html") != std::string::npos ||
                                    lower.find("<!doctype html") != std::string::npos)) {
    return "text/html";
  }
  return lower.starts_with("<svg") ? "image/svg+xml" : "text/plain";
}

bool is_coded(std::string_view beginning, std::string_view cdx_mimetype) {
  return mimetype_of(beginning) == "application/gzip" && cdx_mimetype != "application/gzip";
}

// In pieces, as far as it goes.
Result<> read_all(const io::FileReader& reader,
                  const std::function<Result<>(std::string_view)>& take) {
  std::string buffer(kReadBytes, '\0');
  for (std::int64_t at = 0;;) {
    TRY_ASSIGN(const std::size_t got, reader.read_at(at, buffer));
    if (got == 0) return {};
    TRY(take(std::string_view(buffer).substr(0, got)));
    at += static_cast<std::int64_t>(got);
  }
}

// Keeps the beginning, for the type, and the digests.
class MetaSink {
 public:
  explicit MetaSink(std::int64_t bytes_max) : bytes_max_(bytes_max) {}

  Result<> add(std::string_view bytes) {
    size_ += static_cast<std::int64_t>(bytes.size());
    if (size_ > bytes_max_) return over_limit("a file", size_, bytes_max_, "fileset.bytes_max");
    sums_.add(bytes);
    if (beginning_.size() < kSniffBytes) {
      beginning_ += bytes.substr(0, kSniffBytes - beginning_.size());
    }
    return {};
  }
  FileMeta finish() {
    Digests digests = sums_.digests();
    return {size_, std::move(digests.md5), std::move(digests.sha1), std::move(digests.sha256),
            mimetype_of(beginning_)};
  }

 private:
  std::int64_t bytes_max_;
  std::int64_t size_ = 0;
  Sums sums_;
  std::string beginning_;
};

}  // namespace

std::string mimetype_of(std::string_view beginning) {
  beginning = beginning.substr(0, kSniffBytes);
  if (beginning.empty()) return "application/x-empty";
  for (const Mark& mark : kMarks) {
    if (!has_mark(beginning, mark)) continue;
    return std::string(mark.type == "application/zip" ? zip_type(beginning) : mark.type);
  }
  return is_text(beginning) ? text_type(beginning) : "application/octet-stream";
}

bool is_dense(std::string_view sample) {
  constexpr std::size_t kSampleMin = 4096;  // less says too little
  constexpr double kBitsDense = 7.5;        // of 8 for each byte
  if (sample.size() < kSampleMin) return false;
  std::array<double, 256> counts{};
  for (const char c : sample) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const double count : counts) {
    const double share = count / static_cast<double>(sample.size());
    if (share > 0) bits -= share * std::log2(share);
  }
  return bits > kBitsDense;
}

FileMeta file_meta_of(std::string_view bytes) {
  MetaSink sink(static_cast<std::int64_t>(bytes.size()));
  CHECK_OK(sink.add(bytes));
  return sink.finish();
}

Result<FileMeta> meta_of_file(const std::filesystem::path& file) {
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(file));
  MetaSink sink(std::numeric_limits<std::int64_t>::max());
  TRY(read_all(reader, [&sink](std::string_view bytes) { return sink.add(bytes); }));
  return sink.finish();
}

Result<std::string> mimetype_of_file(const std::filesystem::path& file) {
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(file));
  std::string beginning(kSniffBytes, '\0');
  TRY_ASSIGN(const std::size_t got, reader.read_at(0, beginning));
  return mimetype_of(std::string_view(beginning).substr(0, got));
}

Result<std::optional<std::string>> undo_gzip(std::string_view bytes, std::string_view cdx_mimetype,
                                             std::int64_t bytes_max) {
  if (!is_coded(bytes, cdx_mimetype)) return std::optional<std::string>();
  std::string out;
  TRY_ASSIGN(const auto decoder, web::make_decoder("gzip", [&](std::string_view piece) -> Result<> {
               const auto size = static_cast<std::int64_t>(out.size() + piece.size());
               if (size > bytes_max) {
                 return over_limit("a page", size, bytes_max, "fileset.page_bytes_max");
               }
               out += piece;
               return {};
             }));
  TRY(decoder->write(bytes));
  TRY(decoder->finish());
  return std::optional<std::string>(std::move(out));
}

Result<std::optional<FileMeta>> gunzipped_meta(const std::filesystem::path& file,
                                               std::string_view cdx_mimetype,
                                               std::int64_t bytes_max) {
  TRY_ASSIGN(const std::string type, mimetype_of_file(file));
  if (type != "application/gzip" || cdx_mimetype == "application/gzip") {
    return std::optional<FileMeta>();
  }
  MetaSink sink(bytes_max);
  TRY_ASSIGN(const auto decoder, web::make_decoder("gzip", [&sink](std::string_view piece) {
               return sink.add(piece);
             }));
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(file));
  TRY(read_all(reader, [&decoder](std::string_view bytes) { return decoder->write(bytes); }));
  TRY(decoder->finish());
  return std::optional<FileMeta>(sink.finish());
}

}  // namespace quern::fileset

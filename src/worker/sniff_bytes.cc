// Marks in the first bytes that libmagic does not know, confuses, or finds only at the very
// beginning.
#include <array>

#include "worker/sniff.h"

namespace quern::worker {
namespace {

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  std::string_view type;
};

template <std::size_t N>
constexpr std::string_view bytes_of_literal(const char (&text)[N]) {
  return {text, N - 1};
}

constexpr std::array kMagics = {
    Magic{0, "!BDN", "application/vnd.ms-outlook-pst"},
    Magic{0, "{\\rtf", "application/rtf"},
    Magic{0, "WARC/1.", "application/warc"},
    Magic{0, "filedesc://", "application/x-ia-arc"},
    Magic{0, bytes_of_literal("x\x9f\x3e\x22"), "application/vnd.ms-tnef"},
    Magic{0, "7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"},
    Magic{0, "Rar!\x1A\x07", "application/vnd.rar"},
    Magic{0, "MSCF", "application/vnd.ms-cab-compressed"},
    Magic{0, "\x28\xB5\x2F\xFD", "application/zstd"},
    Magic{0,
          bytes_of_literal("\xFD"
                           "7zXZ\0"),
          "application/x-xz"},
    Magic{0, "\x04\x22\x4D\x18", "application/x-lz4"},
    Magic{0, "LZIP", "application/x-lzip"},
    Magic{0, "BZh", "application/x-bzip2"},
    Magic{0, "\x1F\x8B", "application/gzip"},
    Magic{0, "\x1F\x9D", "application/x-compress"},
    Magic{257, "ustar", "application/x-tar"},
    Magic{0, "!<arch>\ndebian", "application/vnd.debian.binary-package"},
    Magic{0, "!<arch>\n", "application/x-archive"},
    Magic{0, "xar!", "application/x-xar"},
    Magic{0, "070701", "application/x-cpio"},
    Magic{0, "070707", "application/x-cpio"},
    Magic{0, "070702", "application/x-cpio"},
    Magic{0, "\xC7\x71", "application/x-cpio"},
    Magic{32769, "CD001", "application/x-iso9660-image"},
    Magic{60, "BOOKMOBI", "application/x-mobipocket-ebook"},
    Magic{60, "TEXtREAd", "application/x-aportisdoc"},
    Magic{0, "SQLite format 3", "application/x-sqlite3"},
    Magic{4, bytes_of_literal("Standard Jet DB"), "application/x-msaccess"},
    Magic{4, bytes_of_literal("Standard ACE DB"), "application/x-msaccess"},
    Magic{0, "fLaC", "audio/flac"},
    Magic{0, "MThd", "audio/midi"},
    Magic{0, "8BPS", "image/vnd.adobe.photoshop"},
    Magic{0, "\xFFWPC", "application/vnd.wordperfect"},
    Magic{0, "\xE4\x52\x5C\x7B\x8C\xD8\xA7\x4D", "application/onenote"},
    Magic{0, bytes_of_literal("\x31\xBE\0\0"), "application/x-mswrite"},
    Magic{0, bytes_of_literal("\x32\xBE\0\0"), "application/x-mswrite"},
    Magic{0, "PAR1", "application/vnd.apache.parquet"},
    Magic{0, "\x89LZO", "application/x-lzop"},
    Magic{0, "LRZI", "application/x-lrzip"},
    Magic{0, "<stata_dta>", "application/x-stata-dta"},
    Magic{12, "\xC2\xEA\x81\x60", "application/x-sas-data"},
    Magic{12, bytes_of_literal("\x61\x15\x06\0"), "application/x-berkeley-db"},
    Magic{12, bytes_of_literal("\x62\x31\x05\0"), "application/x-berkeley-db"},
    Magic{40, " EMF", "image/emf"},
    Magic{0, "icns", "image/icns"},
    Magic{0, "\xFF\x4F\xFF\x51", "image/j2c"},
    Magic{0, "\xFF\xD8\xFF\xF7", "image/jls"},
    Magic{0, "\xABKTX ", "image/ktx"},
    Magic{0, "FUJIFILMCCD-RAW", "image/x-fujifilm-raf"},
    Magic{0, "BPG\xFB", "image/x-bpg"},
    Magic{0, "\x01\xDA\x01", "image/rgb"},
    Magic{0, bytes_of_literal("\x01\xDA\0"), "image/rgb"},
    Magic{0, "\xC0\xB9\x07\x2E\x4F\x93\xF1\x46", "application/x-axcrypt"},
    Magic{0, "DRACO", "application/x-ft-draco"},
    Magic{0, "~\x10\x04", "application/x-mie"},
    Magic{0, "~\x18\x04", "application/x-mie"},
    Magic{0, "DCH\x01", "application/x-ms-nls"},
    Magic{0, "\xA5\x0F\xF0\x5A", "application/x-prt"},
    Magic{0, "SAS     ", "application/x-sas-data-v6"},
    Magic{0, "ttcf", "font/collection"},
    Magic{0, "MAC ", "audio/ape"},
    Magic{44, "SCRM", "audio/x-s3m"},
    Magic{0, "Creative Voice File", "audio/x-voc"},
};

constexpr std::size_t kPdfWithin = 1024;

// A container whose kind stands in its first box.
std::optional<std::string> by_brand(const Sample& sample) {
  if (!sample.begins_with("ftyp", 4)) return std::nullopt;
  struct Brand {
    std::string_view brand;
    std::string_view type;
  };
  constexpr std::array kBrands = {
      Brand{"avif", "image/avif"},      Brand{"avis", "image/avif"},
      Brand{"heic", "image/heic"},      Brand{"heix", "image/heic"},
      Brand{"hevc", "image/heic"},      Brand{"mif1", "image/heif"},
      Brand{"msf1", "image/heif"},      Brand{"crx ", "image/x-canon-cr3"},
      Brand{"qt  ", "video/quicktime"}, Brand{"M4A ", "audio/mp4"},
      Brand{"M4B ", "audio/mp4"},       Brand{"F4A ", "audio/mp4"},
      Brand{"3gp", "video/3gpp"},       Brand{"mjp2", "image/mj2"},
      Brand{"jp2 ", "image/jp2"},
  };
  for (const Brand& brand : kBrands) {
    if (sample.begins_with(brand.brand, 8)) return std::string(brand.type);
  }
  return "video/mp4";
}

std::optional<std::string> by_riff(const Sample& sample) {
  if (!sample.begins_with("RIFF") && !sample.begins_with("RIFX")) return std::nullopt;
  if (sample.begins_with("WEBP", 8)) return "image/webp";
  if (sample.begins_with("WAVE", 8)) return "audio/wav";
  if (sample.begins_with("AVI ", 8)) return "video/x-msvideo";
  return std::nullopt;
}

// Tags may stand in front of other kinds of sound than MPEG's.
std::optional<std::string> by_tag(const Sample& sample) {
  if (!sample.begins_with("ID3")) return std::nullopt;
  const std::string_view head = sample.head();
  std::size_t bytes = 0;
  for (std::size_t i = 6; i < 10 && i < head.size(); ++i) {
    bytes = bytes << 7 | (static_cast<unsigned char>(head[i]) & 0x7F);
  }
  return sample.read(10 + bytes, 4) == "fLaC" ? "audio/flac" : "audio/mpeg";
}

std::optional<std::string> by_ogg(const Sample& sample) {
  if (!sample.begins_with("OggS")) return std::nullopt;
  const std::string_view first = sample.head().substr(0, 4096);
  const bool pictures = first.find("\x80theora") != std::string_view::npos ||
                        first.find("BBCD") != std::string_view::npos;
  return pictures ? "video/ogg" : "audio/ogg";
}

// Apple's property lists; a saved page of Safari's is one of them.
std::optional<std::string> by_property_list(const Sample& sample) {
  if (!sample.begins_with("bplist0")) return std::nullopt;
  const bool page = sample.head().find("WebMainResource") != std::string_view::npos;
  return page ? "application/x-bplist-webarchive" : "application/x-bplist";
}

// Signed or encrypted mail in its binary form: the object identifier stands near the beginning.
std::optional<std::string> by_object_identifier(const Sample& sample) {
  constexpr std::string_view kPkcs7 = "\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07";
  const std::string suffix = suffix_of(sample.filename());
  // A key store holds such objects too.
  if (!sample.begins_with("\x30") || suffix == "p12" || suffix == "pfx") return std::nullopt;
  if (sample.head().substr(0, 32).find(kPkcs7) == std::string_view::npos) return std::nullopt;
  return suffix == "p7s" ? "application/pkcs7-signature" : "application/pkcs7-mime";
}

}  // namespace

std::optional<std::string> sniff_bytes(const Sample& sample) {
  // Things are put in front of PDFs; viewers look a thousand bytes far.
  if (sample.head().substr(0, kPdfWithin).find("%PDF-") != std::string_view::npos) {
    return "application/pdf";
  }
  for (const Magic& magic : kMagics) {
    if (sample.begins_with(magic.bytes, magic.offset)) return std::string(magic.type);
  }
  for (const auto rule :
       {by_brand, by_riff, by_tag, by_ogg, by_property_list, by_object_identifier}) {
    if (auto type = rule(sample)) return type;
  }
  return std::nullopt;
}

}  // namespace quern::worker

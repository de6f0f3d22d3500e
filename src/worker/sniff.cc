#include "worker/sniff.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "model/steps.h"

namespace quern::worker {
namespace {

constexpr std::string_view kUnknown = model::kUnknownType;

// What libmagic says of things that it does not know.
bool is_vague(std::string_view type) {
  return type.empty() || type == kUnknown || type == "application/x-data" ||
         type == "inode/x-empty" || type == "application/x-empty";
}

// Types without any mark in their bytes: whatever the bytes are, they do not contradict.
bool has_no_mark(std::string_view type) {
  constexpr std::array kWithout = {"application/x-lzma", "image/x-tga", "application/x-dbf",
                                   "application/pkix-cert", "application/x-pkcs12"};
  return std::find(kWithout.begin(), kWithout.end(), type) != kWithout.end();
}

// A name may say more about a container of its kind.
std::string refined(std::string_view type, std::string_view suffix) {
  struct Rule {
    std::string_view type;
    std::string_view suffix;
    std::string_view better;
  };
  constexpr std::array kRules = {
      Rule{"application/zip", "cbz", "application/vnd.comicbook+zip"},
      Rule{"application/zip", "apk", "application/vnd.android.package-archive"},
      Rule{"application/zip", "jar", "application/java-archive"},
      Rule{"application/zip", "pages", "application/vnd.apple.pages"},
      Rule{"application/zip", "numbers", "application/vnd.apple.numbers"},
      Rule{"application/zip", "key", "application/vnd.apple.keynote"},
      Rule{"application/java-archive", "zip", "application/zip"},
      Rule{"image/tiff", "dng", "image/x-adobe-dng"},
      Rule{"application/gzip", "abw", "application/x-abiword"},
      Rule{"application/gzip", "gnumeric", "application/x-gnumeric"},
      Rule{"video/mp4", "m4a", "audio/mp4"},
      Rule{"video/mp4", "m4b", "audio/mp4"},
      Rule{"application/vnd.ms-asf", "wma", "audio/x-ms-wma"},
      Rule{"application/vnd.ms-asf", "wmv", "video/x-ms-wmv"},
  };
  for (const Rule& rule : kRules) {
    if (rule.type == type && rule.suffix == suffix) return std::string(rule.better);
  }
  return std::string(type);
}

// A file without bytes is a text where its name says so, and otherwise nothing.
std::string type_of_empty(std::string_view suffix) {
  const std::string_view named = type_of_suffix(suffix);
  return std::string(is_text_type(named) ? named : kUnknown);
}

std::string type_of_text(const Sample& sample, std::string_view magic, std::string_view suffix) {
  if (auto found = sniff_text(sample.head(), suffix)) return *std::move(found);
  const std::string_view named = type_of_suffix(suffix);
  // A name of another kind (a picture, an archive) is wrong about a text.
  if (is_text_type(named)) return std::string(named);
  return is_text_type(magic) ? std::string(magic) : "text/plain";
}

}  // namespace

Sample::Sample(const StepInput& input) : input_(input) {
  head_ = read(0, kHeadBytes);
}

std::string Sample::read(std::uint64_t offset, std::size_t bytes) const {
  if (offset >= input_.bytes) return "";
  std::string text(std::min<std::uint64_t>(bytes, input_.bytes - offset), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::pread(input_.descriptor, text.data() + got, text.size() - got,
                              static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

bool Sample::begins_with(std::string_view magic, std::size_t offset) const {
  return head_.size() >= offset && std::string_view(head_).substr(offset).starts_with(magic);
}

std::string sniffed_type(const Sample& sample, std::string_view magic_type) {
  const std::string suffix = suffix_of(sample.filename());
  if (sample.size() == 0) return type_of_empty(suffix);
  if (const auto type = sniff_bytes(sample)) return model::canonical_type(refined(*type, suffix));
  if (const auto type = sniff_zip(sample)) return model::canonical_type(refined(*type, suffix));
  if (const auto type = sniff_ole(sample)) return model::canonical_type(*type);
  const std::string magic = model::canonical_type(magic_type);
  if (is_text_type(magic) || (is_vague(magic) && looks_like_text(sample.head()))) {
    return model::canonical_type(type_of_text(sample, magic, suffix));
  }
  // Its marks for plotters and old games are words that begin many a text.
  if (suffix == "txt" && !model::step_for_type(magic, model::Ocr::No) &&
      looks_like_text(sample.head())) {
    return model::canonical_type(type_of_text(sample, "text/plain", suffix));
  }
  if (!is_vague(magic)) return model::canonical_type(refined(magic, suffix));
  const std::string_view named = type_of_suffix(suffix);
  return has_no_mark(named) ? model::canonical_type(named) : std::string(kUnknown);
}

}  // namespace quern::worker

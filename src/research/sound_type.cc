#include "research/sound_type.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"

namespace quern::research {
namespace {

constexpr std::string_view kSound[] = {".mp3",  ".m4a", ".m4b",  ".aac", ".ogg",  ".oga",
                                       ".opus", ".wav", ".flac", ".aif", ".aiff", ".wma",
                                       ".mp2",  ".mka", ".amr",  ".au",  ".caf",  ".ac3"};
constexpr std::string_view kFilm[] = {".mp4", ".m4v", ".mov",  ".mkv", ".webm",
                                      ".avi", ".mpg", ".mpeg", ".ogv", ".wmv"};

// ".mp3" of "https://a.test/x/Y.MP3?from=feed".
std::string suffix_of(std::string_view name) {
  name = name.substr(0, name.find_first_of("?#"));
  const std::size_t slash = name.rfind('/');
  if (slash != name.npos) name.remove_prefix(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? std::string() : lower_ascii(name.substr(dot));
}

bool is_one_of(const auto& list, std::string_view text) {
  return std::ranges::find(list, text) != std::end(list);
}

// Frames of MPEG audio: a sync of eleven bits, and no value that is reserved.
bool is_mpeg_frame(std::string_view head) {
  if (head.size() < 3) return false;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  if (at(0) != 0xFF || (at(1) & 0xE0) != 0xE0) return false;
  const bool version = (at(1) >> 3 & 3) != 1;
  const bool layer = (at(1) >> 1 & 3) != 0;
  return version && layer && (at(2) >> 4) != 15 && (at(2) >> 2 & 3) != 3;
}

bool is_adts(std::string_view head) {
  return head.size() > 2 && head[0] == '\xFF' && (head[1] & '\xF6') == '\xF0';
}

std::string type_of_brand(std::string_view brand) {
  const bool sound = brand == "M4A " || brand == "M4B " || brand == "M4P ";
  return sound ? "audio/mp4" : "video/mp4";
}

}  // namespace

int sound_rank(std::string_view type, std::string_view url) {
  const std::string suffix = suffix_of(url);
  if (type.starts_with("audio/") || type == "application/ogg") return 3;
  if (type.starts_with("video/")) return 2;
  const bool vague = type.empty() || type == "application/octet-stream" ||
                     type.starts_with("binary/") || type == "unknown/unknown";
  if (is_one_of(kSound, suffix)) return 3;
  if (is_one_of(kFilm, suffix)) return 2;
  return vague ? 1 : 0;
}

bool has_sound_suffix(std::string_view name) {
  const std::string suffix = suffix_of(name);
  return is_one_of(kSound, suffix) || is_one_of(kFilm, suffix);
}

std::string sound_type_of(std::string_view head) {
  const std::string_view at_eight = head.size() > 8 ? head.substr(8) : std::string_view();
  if (head.starts_with("ID3")) return "audio/mpeg";
  if (head.starts_with("RIFF") && at_eight.starts_with("WAVE")) return "audio/wav";
  if (head.starts_with("RF64") && at_eight.starts_with("WAVE")) return "audio/wav";
  if (head.starts_with("RIFF") && at_eight.starts_with("AVI ")) return "video/x-msvideo";
  if (head.starts_with("FORM") && at_eight.starts_with("AIF")) {
    return "audio/aiff";
  }
  if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return type_of_brand(head.substr(8, 4));
  constexpr std::pair<std::string_view, std::string_view> kBegins[] = {
      {"OggS", "audio/ogg"},
      {"fLaC", "audio/flac"},
      {"#!AMR", "audio/amr"},
      {".snd", "audio/basic"},
      {"caff", "audio/x-caf"},
      {"\x1A\x45\xDF\xA3", "video/webm"},
      {"\x30\x26\xB2\x75\x8E\x66\xCF\x11", "audio/x-ms-wma"},
      {"\x0B\x77", "audio/ac3"},
      {std::string_view("\x00\x00\x01\xBA", 4), "video/mpeg"}};
  for (const auto& [bytes, type] : kBegins) {
    if (head.starts_with(bytes)) return std::string(type);
  }
  if (is_adts(head)) return "audio/aac";
  if (is_mpeg_frame(head)) return "audio/mpeg";
  // Some begin with zeros.
  const std::size_t begin = head.find_first_not_of('\0');
  if (begin != head.npos && begin > 0 && is_mpeg_frame(head.substr(begin))) return "audio/mpeg";
  return "";
}

std::string_view not_sound(std::string_view head) {
  const std::string text = lower_ascii(trimmed(head.substr(0, 512)));
  const std::string_view begin = text;
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) return "a web page";
  if (begin.starts_with("<")) return "a web page or other markup";
  if (begin.starts_with("%pdf")) return "a PDF";
  if (begin.starts_with("{") || begin.starts_with("[")) return "JSON";
  if (head.starts_with("\x89PNG") || head.starts_with("GIF8") || head.starts_with("\xFF\xD8\xFF")) {
    return "a picture";
  }
  if (head.starts_with("PK\x03\x04") || head.starts_with("\x1F\x8B")) return "an archive";
  const bool plain = !head.empty() && std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || is_blank(c);
  });
  return plain ? "text" : "";
}

}  // namespace quern::research

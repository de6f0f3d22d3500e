#include "fileset/bag_path.h"

#include <fmt/format.h>

#include <functional>

#include "base/utf8.h"
#include "blob/digest.h"
#include "io/file.h"
#include "net/target.h"

namespace quern::fileset {
namespace {

constexpr std::size_t kDigestDigits = 16;
constexpr std::size_t kEndingBytesMax = 16;

std::uint64_t key_of(std::string_view path) {
  return std::hash<std::string_view>{}(path);
}

std::string escaped(char byte) {
  return fmt::format("%{:02X}", static_cast<unsigned char>(byte));
}

std::string without_bad_bytes(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t good = std::min(valid_utf8_prefix(name), name.find('\0'));
    text += name.substr(0, good);
    name.remove_prefix(good);
    if (name.empty()) break;
    text += escaped(name.front());
    name.remove_prefix(1);
  }
  return text;
}

// ".csv" of "table.csv"; nothing where it is long, or all there is.
std::string_view ending_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const std::string_view ending = name.substr(dot);
  return ending.size() > kEndingBytesMax || ending.find('/') != ending.npos ? std::string_view()
                                                                            : ending;
}

std::string short_digest(std::string_view text) {
  return blob::hex_of(blob::sha256_of(text)).substr(0, kDigestDigits);
}

std::string cut(const std::string& name) {
  if (name.size() <= kBagNameBytesMax) return name;
  const std::string end = "~" + short_digest(name) + std::string(ending_of(name));
  const std::string_view begin = std::string_view(name).substr(0, kBagNameBytesMax - end.size());
  return std::string(begin.substr(0, valid_utf8_prefix(begin))) + end;
}

std::string part_of(std::string_view name) {
  if (name == "..") return "%2E%2E";
  std::string part = cut(without_bad_bytes(name));
  // Names of this kind are files under way, and removed.
  if (part.starts_with(io::kTempPrefix)) part = cut("%2E" + part.substr(1));
  return part;
}

std::string numbered(std::string_view path, int number) {
  const std::string_view ending = ending_of(path);
  const std::string_view rest = path.substr(0, path.size() - ending.size());
  const std::size_t slash = rest.rfind('/') == rest.npos ? 0 : rest.rfind('/') + 1;
  const std::string mark = fmt::format("~{}{}", number, ending);
  std::string_view name = rest.substr(slash);
  if (name.size() + mark.size() > kBagNameBytesMax) {
    name = name.substr(0, kBagNameBytesMax - mark.size());
    name = name.substr(0, valid_utf8_prefix(name));
  }
  return std::string(rest.substr(0, slash)) + std::string(name) + mark;
}

}  // namespace

std::string bag_path(std::string_view name) {
  std::string path;
  std::size_t depth = 0;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (++depth > 1) path += '/';
    path += part_of(part);
  }
  if (path.empty()) return "unnamed";
  if (path.size() <= kBagPathBytesMax && depth <= kBagDepthMax) return path;
  return "long/" + blob::hex_of(blob::sha256_of(path)) + std::string(ending_of(path));
}

std::string manifest_path(std::string_view path) {
  std::string text;
  for (const char byte : path) {
    const bool must = byte == '\r' || byte == '\n' || byte == '%';
    text += must ? escaped(byte) : std::string(1, byte);
  }
  return text;
}

std::string crate_path(std::string_view path) {
  std::string text;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (at > 0) text += '/';
    text += net::percent_encoded(path.substr(at, slash - at));
    at = slash + 1;
  }
  return text;
}

// The first of "a", "a~2", "a~3", … that nobody has. For files the numbers go on where they ended,
// so that a million files of one name cost no more than others; folders begin again, so that files
// of one folder stay together.
std::string BagPaths::free_path(std::string_view path, Kind kind) {
  const auto taken = [&](std::string_view one) {
    return files_.contains(key_of(one)) || (kind == Kind::File && folders_.contains(key_of(one)));
  };
  if (!taken(path)) return std::string(path);
  int first = 0;
  int& last = kind == Kind::File ? numbers_[key_of(path)] : first;
  std::string free;
  do {
    free = numbered(path, ++last + 1);
  } while (taken(free));
  return free;
}

Result<std::string> BagPaths::take(const std::string& folder, std::string_view name) {
  if (files_.size() == kBagFilesMax) {
    return Error{Errc::TooLarge, fmt::format("a bag has at most {} files", kBagFilesMax)};
  }
  const std::string wanted = (folder.empty() ? "" : folder + "/") + bag_path(name);
  std::string path;
  for (std::size_t at = 0; at < wanted.size();) {
    const std::size_t slash = std::min(wanted.find('/', at), wanted.size());
    const Kind kind = slash == wanted.size() ? Kind::File : Kind::Folder;
    path = free_path(path + wanted.substr(at, slash - at), kind);
    (kind == Kind::File ? files_ : folders_).insert(key_of(path));
    if (kind == Kind::Folder) path += '/';
    at = slash + 1;
  }
  return path;
}

}  // namespace quern::fileset

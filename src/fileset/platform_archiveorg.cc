#include "fileset/platform_archiveorg.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/left_out.h"
#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

struct Format {
  std::string_view name;
  std::string_view mimetype;
};
constexpr Format kFormats[] = {
    {"7z", "application/x-7z-compressed"},
    {"BZIP", "application/x-bzip"},
    {"BZIP2", "application/x-bzip2"},
    {"CSV", "text/csv"},
    {"GIF", "image/gif"},
    {"GZIP", "application/gzip"},
    {"HTML", "text/html"},
    {"JPEG", "image/jpeg"},
    {"JSON", "application/json"},
    {"MP3", "audio/mpeg"},
    {"MP4", "video/mp4"},
    {"MPEG", "video/mpeg"},
    {"PDF", "application/pdf"},
    {"PNG", "image/png"},
    {"RAR", "application/vnd.rar"},
    {"TAR", "application/x-tar"},
    {"TIFF", "image/tiff"},
    {"Text", "text/plain"},
    {"Unknown", ""},
    {"XML", "text/xml"},
    {"ZIP", "application/zip"},
};

const Format* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

// What the archive itself has put beside the files.
constexpr std::string_view kOwnFiles[] = {"_meta.sqlite", "_archive.torrent", "_itemimage.jpg",
                                          "_meta.xml",    "_thumb.png",       "_files.xml"};
constexpr std::string_view kTorrentFiles[] = {"_academictorrents.torrent",
                                              "_academictorrents_torrent.txt", ".bib"};

bool is_own(const std::string& item, const std::string& name) {
  if (name.starts_with("_")) return true;
  const std::string lower = web::to_lower(item);
  const auto is = [&](std::string_view ending) {
    return name == item + std::string(ending) || name == lower + std::string(ending);
  };
  if (std::ranges::any_of(kOwnFiles, is)) return true;
  return item.starts_with("academictorrents_") &&
         std::ranges::any_of(kTorrentFiles, [&](std::string_view ending) {
           return name == item + std::string(ending);
         });
}

bool is_item_name(std::string_view name) {
  return !name.empty() && name.size() <= kItemNameMax && std::ranges::all_of(name, [](char c) {
    return web::is_alpha(c) || web::is_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

std::string escaped_path(std::string_view name) {
  std::string path;
  for (const char c : name) {
    path += c == '/' ? std::string(1, c) : net::percent_encoded(std::string_view(&c, 1));
  }
  return path;
}

class Archiveorg : public ApiPlatform {
 public:
  explicit Archiveorg(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "archiveorg"; }

  bool match(const Landing& landing) const override {
    if (options().strict) {
      const std::string& url =
          landing.terminal_url.empty() ? landing.base_url : landing.terminal_url;
      return url.find("://archive.org/details/") != std::string::npos ||
             url.find("://archive.org/download/") != std::string::npos;
    }
    const auto where = place_of(landing);
    return where && (where->host == "archive.org" || where->host == "www.archive.org") &&
           (where->segment(0) == "details" || where->segment(0) == "download") &&
           is_item_name(where->segment(1));
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    Landing at = landing;
    if (options().strict) at.terminal_url = at.base_url;
    const auto where = place_of(at);
    if (!where || !is_item_name(where->segment(1))) {
      co_return refused(options().strict ? "platform-error" : "platform-scope",
                        "the address names no item");
    }
    if (where->path().size() > 2) {
      co_return refused("platform-scope",
                        "this is one file of an item: ask for the page of the item");
    }
    const std::string id(where->segment(1));
    std::string url = "https://archive.org/metadata/" + id;
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return answer.refusal;
    co_return read(id, answer.field());
  }

  std::string choose_strategy(const PlatformItem& item,
                              const StrategyOptions& options) const override {
    if (!options.forced.empty()) return options.forced;
    return item.manifest.size() == 1 ? "archiveorg-file" : "archiveorg-fileset";
  }

 private:
  static PlatformAnswer judge(Field item) {
    if (item.object() == nullptr) return refused("platform-error", "the answer is no object");
    if (item.object()->empty()) return refused("platform-404", "there is no such item");
    if (item["is_dark"].is_true()) return refused("platform-restricted", "the item is dark");
    const Field about = item["metadata"];
    const std::string type = about["mediatype"].text();
    if (type == "collection" || type == "web" || item["is_collection"].is_true()) {
      return refused("platform-scope", "this is a collection: ask for one of its items");
    }
    if (about["access-restricted-item"].is_true()) {
      return refused("platform-restricted", "the item is only lent");
    }
    return {};
  }

  PlatformAnswer read(const std::string& id, Field about) const {
    PlatformAnswer judged = judge(about);
    if (is_refused(judged)) return judged;
    if (about["files"].list() == nullptr) {
      return refused("platform-error", "the item has no list of files");
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "archive.org";
    item.platform_id = id;
    item.archiveorg_item_name = id;
    if (const json::object* meta = about["metadata"].object()) item.archiveorg_item_meta = *meta;
    LeftOut left_out;
    for (const Field row : about["files"].each()) {
      const std::string path = row["name"].text();
      if (row["source"].text() != "original" || path.empty() || is_own(id, path)) continue;
      if (!options().strict && row["private"].is_true()) {
        left_out.add(path, "private");
        continue;
      }
      const Format* format = find_format(row["format"].text());
      ManifestFile file = read_file(id, path, row);
      if (format != nullptr) file.mimetype = format->mimetype;
      if (options().strict && (format == nullptr || file.sha1.empty() || file.md5.empty())) {
        return refused("platform-error", fmt::format("{}: no known format, sha1 and md5", path));
      }
      item.manifest.push_back(std::move(file));
    }
    if (item.manifest.empty() && !left_out.empty()) return left_out.refusal("platform-restricted");
    return left_out.noted(finished(std::move(item)));
  }

  ManifestFile read_file(const std::string& id, const std::string& path, Field row) const {
    ManifestFile file;
    file.path = path;
    file.size = row["size"].size();
    take_checksum(file, "md5", row["md5"].text());
    take_checksum(file, "sha1", row["sha1"].text());
    file.platform_url = fmt::format("https://archive.org/download/{}/{}", id,
                                    options().strict ? path : escaped_path(path));
    return file;
  }
};

}  // namespace

std::unique_ptr<Platform> make_archiveorg(const PlatformOptions& options) {
  return std::make_unique<Archiveorg>(options);
}

}  // namespace quern::fileset

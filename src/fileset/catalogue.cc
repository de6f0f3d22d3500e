#include "fileset/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fileset/result.h"
#include "fileset/status.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using Entity = Catalogue::Entity;
using std::literals::operator""sv;

constexpr std::array kSources = {"fatcat-changelog"sv,
                                 "fatcat-ingest-container"sv,
                                 "fatcat-ingest"sv,
                                 "arabesque"sv,
                                 "unpaywall-corpus"sv,
                                 "unpaywall"sv,
                                 "doaj"sv,
                                 "dblp"sv};
constexpr std::array kLinkSources = {"arxiv"sv, "pmc"sv, "unpaywall"sv, "doi"sv,
                                     "mag"sv,   "s2"sv,  "doaj"sv,      "dblp"sv};

bool has(const auto& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

Entity skip(std::string why) {
  return {.kind = {}, .skipped = std::move(why), .entity = {}};
}

const json::object* object_in(const json::object* from, std::string_view key) {
  const json::value* value = from == nullptr ? nullptr : from->if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string text_in(const json::object* from, std::string_view key) {
  const json::value* value = from == nullptr ? nullptr : from->if_contains(key);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

std::int64_t number_in(const json::object* from, std::string_view key) {
  const json::value* value = from == nullptr ? nullptr : from->if_contains(key);
  return value == nullptr || !value->is_int64() ? -1 : value->get_int64();
}

json::object url_of(std::string_view rel, const std::string& url) {
  return {{"rel", rel}, {"url", url}};
}

std::string replay_url(const std::string& dt, const std::string& url) {
  return fmt::format("https://web.archive.org/web/{}/{}", dt, url);
}

std::string item_url(const std::string& item, const std::string& path) {
  return fmt::format("https://archive.org/download/{}/{}", item, path);
}

// What every entity tells of where it came from.
void add_origin(json::object& entity, const json::object& result) {
  const json::object* request = object_in(&result, "request");
  const std::string release = text_in(object_in(request, "fatcat"), "release_ident");
  json::array& releases = entity["release_ids"].emplace_array();
  if (!release.empty()) releases.emplace_back(release);
  json::object& extra = entity["edit_extra"].emplace_object();
  for (const char* key : {"ingest_request_source", "link_source", "link_source_id"}) {
    const std::string text = text_in(request, key);
    if (!text.empty()) extra[key] = text;
  }
  if (const json::object* ids = object_in(request, "ext_ids")) extra["ext_ids"] = *ids;
  for (const char* key : {"platform_name", "platform_domain", "platform_id"}) {
    const std::string text = text_in(&result, key);
    if (!text.empty()) extra[key] = text;
  }
}

// Empty where something is missing.
json::object manifest_entry(const json::value& value) {
  const json::object* file = value.if_object();
  json::object entry;
  for (const char* key : {"path", "md5", "sha1", "mimetype"}) {
    const std::string text = text_in(file, key);
    if (text.empty()) return {};
    entry[key] = text;
  }
  const std::int64_t size = number_in(file, "size");
  if (size < 0) return {};
  entry["size"] = size;
  if (const std::string sha256 = text_in(file, "sha256"); !sha256.empty()) {
    entry["sha256"] = sha256;
  }
  json::object extra;
  const std::string origin = text_in(file, "platform_url");
  const std::string url = text_in(file, "terminal_url");
  const std::string dt = text_in(file, "terminal_dt");
  if (!origin.empty()) extra["original_url"] = origin;
  if (!url.empty() && !dt.empty()) extra["wayback_url"] = replay_url(dt, url);
  if (!extra.empty()) entry["extra"] = extra;
  return entry;
}

json::array fileset_urls(const json::object& result) {
  json::array urls;
  const std::string strategy = text_in(&result, "ingest_strategy");
  const std::string item = text_in(&result, "archiveorg_item_name");
  const std::string terminal = text_in(object_in(&result, "terminal"), "terminal_url");
  const json::object* bundle = object_in(&result, "fileset_bundle");
  if (!terminal.empty()) urls.push_back(url_of("web", terminal));
  if (strategy == "archiveorg-fileset" && !item.empty()) {
    urls.push_back(url_of("archive-base", item_url(item, "")));
  }
  const std::string path = text_in(bundle, "archiveorg_bundle_path");
  if (strategy == "archiveorg-fileset-bundled" && !item.empty() && !path.empty()) {
    urls.push_back(url_of("archive-bundle", item_url(item, path)));
  }
  const json::object* at = object_in(bundle, "terminal");
  const std::string url = text_in(at, "terminal_url");
  const std::string dt = text_in(at, "terminal_dt");
  if (strategy == "web-fileset-bundled" && !url.empty() && !dt.empty()) {
    urls.push_back(url_of("webarchive-bundle", replay_url(dt, url)));
  }
  return urls;
}

bool has_good_hashes(const json::object& entry) {
  return text_in(&entry, "md5") != text_in(&entry, "sha1") &&
         text_in(&entry, "sha1").size() == 40 && text_in(&entry, "md5").size() == 32;
}

Entity finished(std::string kind, json::object entity) {
  const std::string sorted = serialize_sorted(entity);
  return {std::move(kind), {}, json::parse(sorted).as_object()};
}

}  // namespace

Entity Catalogue::take(std::string_view line) {
  Entity entity = skip("skip-no-json");
  if (line.size() <= kResultLineBytesMax) {
    boost::system::error_code failed;
    const json::value value = json::parse(line, failed);
    if (!failed && value.is_object()) entity = judge(value.get_object());
  }
  counts_[entity.kind.empty() ? entity.skipped : "insert-" + entity.kind] += 1;
  return entity;
}

Entity Catalogue::judge(const json::object& result) {
  const json::value* hit = result.if_contains("hit");
  if (hit == nullptr || !hit->is_bool() || !hit->get_bool()) return skip("skip-no-hit");
  const json::object* request = object_in(&result, "request");
  const std::string source = text_in(request, "ingest_request_source");
  if (source.starts_with("savepapernow")) return skip("skip-savepapernow");
  // Requests of our own say neither; what is said must be known.
  if (!source.empty() && !has(kSources, source)) return skip("skip-ingest_request_source");
  const std::string link_source = text_in(request, "link_source");
  if (!link_source.empty() && !has(kLinkSources, link_source)) return skip("skip-link_source");
  const std::string type = text_in(request, "ingest_type");
  if (type == "dataset-file") return file_of(result);
  if (type != "dataset") return skip("skip-ingest-type");
  if (!is_hit(text_in(&result, "status"))) return skip("skip-status");
  const std::string strategy = text_in(&result, "ingest_strategy");
  if (is_single(strategy)) return single_of(result);
  if (strategy.find("-fileset") == strategy.npos) return skip("skip-strategy");
  return fileset_of(result);
}

Entity Catalogue::fileset_of(const json::object& result) {
  const json::value* manifest = result.if_contains("manifest");
  const json::array* files = manifest == nullptr ? nullptr : manifest->if_array();
  if (files == nullptr || files->empty()) return skip("skip-empty-manifest");
  if (files->size() == 1) return skip("skip-single-file");
  if (files->size() > kCatalogueFilesMax) return skip("skip-too-many-files");
  const std::int64_t count = number_in(&result, "file_count");
  if (count != static_cast<std::int64_t>(files->size())) return skip("skip-wrong-file-count");
  json::object entity;
  json::array& entries = entity["manifest"].emplace_array();
  std::set<std::string> digests;
  for (const json::value& file : *files) {
    json::object entry = manifest_entry(file);
    if (entry.empty()) return skip("skip-partial-file-info");
    if (!has_good_hashes(entry)) return skip("skip-bad-hashes");
    digests.insert(text_in(&entry, "sha1"));
    entries.push_back(std::move(entry));
  }
  entity["urls"] = fileset_urls(result);
  if (entity["urls"].as_array().empty()) return skip("skip-no-access-url");
  std::string all;
  for (const std::string& digest : digests) all += digest;
  if (!filesets_.insert(std::move(all)).second) return skip("skip-in-queue");
  add_origin(entity, result);
  return finished("fileset", std::move(entity));
}

// A dataset that is one file.
Entity Catalogue::single_of(const json::object& result) {
  const json::value* manifest = result.if_contains("manifest");
  const json::array* files = manifest == nullptr ? nullptr : manifest->if_array();
  if (files == nullptr || files->size() != 1) return skip("skip-no-single-file");
  const json::object* only = files->front().if_object();
  if (!is_kept(text_in(only, "status"))) return skip("skip-file-status");
  json::object entity = manifest_entry(files->front());
  if (entity.empty()) return skip("skip-partial-file-info");
  if (!has_good_hashes(entity)) return skip("skip-bad-hashes");
  if (!files_.insert(text_in(&entity, "sha1")).second) return skip("skip-in-queue");
  const std::string path = text_in(&entity, "path");
  entity.erase("path");
  entity["extra"] = json::object{{"path", path}};
  json::array& urls = entity["urls"].emplace_array();
  const std::string origin = text_in(only, "platform_url");
  if (!origin.empty()) urls.push_back(url_of("web", origin));
  const std::string dt = text_in(only, "terminal_dt");
  const std::string url = text_in(only, "terminal_url");
  if (!dt.empty() && !url.empty()) urls.push_back(url_of("webarchive", replay_url(dt, url)));
  const std::string item = text_in(&result, "archiveorg_item_name");
  if (text_in(&result, "ingest_strategy") == "archiveorg-file" && !item.empty()) {
    urls.push_back(url_of("archive", item_url(item, path)));
  }
  if (urls.empty()) return skip("skip-no-access-url");
  add_origin(entity, result);
  return finished("file", std::move(entity));
}

// A file result, of any mimetype.
Entity Catalogue::file_of(const json::object& result) {
  const json::object* meta = object_in(&result, "file_meta");
  const std::string sha1 = text_in(meta, "sha1hex");
  const std::string md5 = text_in(meta, "md5hex");
  if (sha1.size() != 40) return skip("skip-partial-file-info");
  if (sha1 == md5) return skip("skip-bad-hashes");
  if (!files_.insert(sha1).second) return skip("skip-in-queue");
  json::object entity{{"sha1", sha1}, {"md5", md5}};
  entity["sha256"] = text_in(meta, "sha256hex");
  entity["mimetype"] = text_in(meta, "mimetype");
  entity["size"] = number_in(meta, "size_bytes");
  json::array& urls = entity["urls"].emplace_array();
  const json::object* terminal = object_in(&result, "terminal");
  const std::string url = text_in(terminal, "terminal_url");
  const std::string dt = text_in(terminal, "terminal_dt");
  if (!url.empty()) urls.push_back(url_of("web", url));
  if (!url.empty() && !dt.empty()) urls.push_back(url_of("webarchive", replay_url(dt, url)));
  add_origin(entity, result);
  return finished("file", std::move(entity));
}

}  // namespace quern::fileset

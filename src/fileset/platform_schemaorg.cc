#include "fileset/platform_schemaorg.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kScriptsMax = 50;
constexpr std::size_t kScriptBytesMax = 8 * 1024 * 1024;
constexpr std::size_t kGraphMax = 1'000;  // things of one script that are looked at

// What stands in <script type="application/ld+json">.
std::vector<std::string_view> linked_data(std::string_view html) {
  const std::string lower = web::to_lower(html);
  std::vector<std::string_view> scripts;
  for (std::size_t at = 0; scripts.size() < kScriptsMax;) {
    at = lower.find("<script", at);
    if (at == std::string::npos) break;
    const std::size_t tag = lower.find('>', at);
    const std::size_t end = tag == std::string::npos ? tag : lower.find("</script", tag);
    if (end == std::string::npos) break;
    const bool linked = lower.substr(at, tag - at).find("ld+json") != std::string::npos;
    if (linked && end - tag <= kScriptBytesMax)
      scripts.push_back(html.substr(tag + 1, end - tag - 1));
    at = end;
  }
  return scripts;
}

bool is_dataset(Field thing) {
  return std::ranges::any_of(thing["@type"].each(), [](Field type) {
    const std::string text = type.text();
    return text.substr(text.find_last_of("/:") + 1) == "Dataset";
  });
}

bool has_content(Field thing) {
  for (const Field each : thing["distribution"].each()) {
    for (const Field url : each["contentUrl"].each()) {
      if (!url.trimmed().empty()) return true;
    }
  }
  return false;
}

// The first dataset of the value, of its list or of its "@graph", that says where its content is.
Field dataset_in(Field value) {
  std::vector<Field> things = value.each();
  for (const Field thing : value["@graph"].each()) things.push_back(thing);
  if (things.size() > kGraphMax) things.resize(kGraphMax);
  for (const Field thing : things) {
    if (is_dataset(thing) && has_content(thing)) return thing;
    const Field inner = thing["mainEntity"];
    if (is_dataset(inner) && has_content(inner)) return inner;
  }
  return Field();
}

// Null where the page has none.
json::value dataset_of(std::string_view html) {
  for (const std::string_view script : linked_data(html)) {
    boost::system::error_code failed;
    const json::value value = json::parse(script, failed);
    if (failed) continue;
    const Field dataset = dataset_in(Field(value));
    if (dataset.is_known()) return *dataset.value();
  }
  return {};
}

// A text, {"value": …}, {"@id": …} or {"name": …}; the first of a list.
std::string plain(Field field) {
  for (const Field each : field.each()) {
    if (const std::string text = each.id(); !text.empty()) return text;
    for (const std::string_view key : {"value", "@id", "name", "url"}) {
      if (const std::string text = each[key].id(); !text.empty()) return text;
    }
  }
  return "";
}

// "12345", "12345 B", "12,345 bytes"; "1.2 MB" is no size.
std::optional<std::int64_t> exact_size(Field field) {
  if (field.size()) return field.size();
  std::string text = web::to_lower(field.trimmed());
  std::erase(text, ',');
  for (const std::string_view unit : {"bytes", "byte", "b"}) {
    if (!text.ends_with(unit)) continue;
    text = trim(std::string_view(text).substr(0, text.size() - unit.size()));
    break;
  }
  const json::value digits(text);
  return Field(digits).size();
}

class Schemaorg : public ApiPlatform {
 public:
  explicit Schemaorg(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "schemaorg"; }

  bool match(const Landing& landing) const override {
    return !landing.html.empty() && place_of(landing) && !dataset_of(landing.html).is_null();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside&) const override {
    const auto where = place_of(landing);
    const json::value found = dataset_of(landing.html);
    const Field dataset(found);
    if (!where || !dataset.is_known()) {
      co_return refused("platform-scope", "the page describes no dataset with its content");
    }
    if (dataset["isAccessibleForFree"].is_false()) {
      co_return refused("platform-restricted", "the page says that the dataset is not free");
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where->host;
    for (const Field each : dataset["distribution"].each()) {
      for (const Field url : each["contentUrl"].each()) take(*where, each, url.trimmed(), item);
      if (item.manifest.size() > kManifestFilesMax) break;
    }
    describe(*where, dataset, item);
    co_return finished(std::move(item));
  }

 private:
  static void take(const Place& where, Field row, const std::string& link, PlatformItem& item) {
    if (link.empty()) return;  // which would be the page itself
    const auto url = web::Url::parse(link, where.url);
    if (!url || !url->is_web()) return;
    const auto repeated = [&](const ManifestFile& file) {
      return file.platform_url == url->href();
    };
    if (std::ranges::any_of(item.manifest, repeated)) return;
    ManifestFile file;
    file.platform_url = url->href();
    const std::string format = plain(row["encodingFormat"]);
    if (format.find('/') != std::string::npos && !is_web_address(format)) file.mimetype = format;
    file.path = unused_path(item, path_of(row, *url, file.mimetype));
    file.size = exact_size(row["contentSize"]);
    if (!file.size) set_known(file.extra, "content_size", row["contentSize"].text());
    take_checksum(file, "sha256", row["sha256"].text());
    take_checksum(file, "md5", row["md5"].text());
    item.manifest.push_back(std::move(file));
  }

  static std::string path_of(Field row, const web::Url& url, const std::string& mimetype) {
    std::string path = file_name_of(url);
    if (path.find('/') != std::string::npos) path.clear();
    const std::string extension(extension_of(mimetype));
    const std::string named = row["name"].trimmed();
    const bool good_name =
        named.find('.') != std::string::npos && named.find_first_of("/\\ ") == std::string::npos;
    if (good_name) return named;
    if (path.empty()) path = "data";
    // "…/PANGAEA.902845?format=zip" is no file of type "902845".
    const bool asked = url.query() && !url.query()->empty();
    const bool bare = path.find('.') == std::string::npos;
    if ((asked || bare) && !web::to_lower(path).ends_with(extension)) path += extension;
    return path;
  }

  static void describe(const Place& where, Field dataset, PlatformItem& item) {
    const std::string identifier = plain(dataset["identifier"]);
    std::string doi = doi_in(identifier);
    if (doi.empty()) doi = doi_in(dataset["@id"].text());
    item.platform_id = !doi.empty() ? doi : !identifier.empty() ? identifier : where.url.target();
    item.archiveorg_item_name = item_name({where.host, item.platform_id});
    json::array creators;
    for (const Field creator : dataset["creator"].each()) {
      const std::string who = creator.object() != nullptr ? creator["name"].text() : creator.text();
      if (!who.empty()) creators.emplace_back(who);
    }
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    if (!creators.empty()) meta["creator"] = std::move(creators);
    set_known(meta, "doi", doi);
    set_known(meta, "title", dataset["name"].text());
    set_known(meta, "date", dataset["datePublished"].text());
    meta["source"] = where.url.href();
    set_known(meta, "description", dataset["description"].text());
    set_known(meta, "license", plain(dataset["license"]));
    set_known(meta, "version", dataset["version"].id());
  }
};

}  // namespace

std::unique_ptr<Platform> make_schemaorg(const PlatformOptions& options) {
  return std::make_unique<Schemaorg>(options);
}

}  // namespace quern::fileset

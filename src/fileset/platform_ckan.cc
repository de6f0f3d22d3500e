#include "fileset/platform_ckan.h"

#include <fmt/format.h>

#include "fileset/left_out.h"
#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

struct Package {
  std::string base;  // where the portal begins
  std::string name;
  bool is_resource = false;
};

// "[/…]/dataset/{name}[/…]"; the portal may lie below a folder.
std::optional<Package> package_in(const Place& place) {
  const auto& path = place.path();
  std::string base = place.url.origin();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i] == "dataset") {
      const bool resource = i + 2 < path.size() && path[i + 2] == "resource";
      return Package{base, path[i + 1], resource};
    }
    net::append_segment(base, path[i]);
  }
  return std::nullopt;
}

bool speaks_ckan(std::string_view html) {
  return web::to_lower(html).find("ckan") != std::string::npos;
}

class Ckan : public ApiPlatform {
 public:
  explicit Ckan(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "ckan"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && package_in(*where) && speaks_ckan(landing.html);
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const auto package = where ? package_in(*where) : std::nullopt;
    if (!package) co_return refused("platform-scope", "the address names no dataset");
    if (package->is_resource) {
      co_return refused("platform-scope",
                        "this is one resource of a dataset: ask for the page of the dataset");
    }
    std::string url = fmt::format("{}/api/3/action/package_show?id={}", package->base,
                                  net::percent_encoded(package->name));
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return answer.refusal;
    const Field result = answer.field()["result"];
    if (!answer.field()["success"].is_true() || result.object() == nullptr) {
      co_return refused("platform-error", "the portal says that it did not succeed");
    }
    if (result["private"].is_true()) co_return refused("platform-restricted", "not public");
    if (result["state"].text() == "deleted") {
      co_return refused("platform-404", "the dataset was deleted");
    }
    if (result["resources"].list() == nullptr) {
      co_return refused("platform-error", "the dataset has no list of resources");
    }
    co_return read(*where, *package, result);
  }

 private:
  PlatformAnswer read(const Place& where, const Package& package, Field result) const {
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where.host;
    item.platform_id = result["name"].text().empty() ? package.name : result["name"].text();
    LeftOut left_out;
    for (const Field row : result["resources"].each()) {
      if (item.manifest.size() > kManifestFilesMax) break;
      const std::string url = row["url"].trimmed();
      if (!is_web_address(url)) {
        left_out.add(row["name"].text(), "no address of a file");
        continue;
      }
      take(row, url, item);
    }
    if (item.manifest.empty() && !left_out.empty()) return left_out.refusal("platform-scope");
    item.archiveorg_item_name = item_name({item.platform_domain, item.platform_id});
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    set_known(meta, "creator", result["author"].text());
    set_known(meta, "title", result["title"].text());
    set_known(meta, "date", result["metadata_modified"].text().substr(0, 10));
    meta["source"] = where.url.href();
    set_known(meta, "description", result["notes"].text());
    set_known(meta, "license",
              result["license_url"].text().empty() ? result["license_id"].text()
                                                   : result["license_url"].text());
    set_known(meta, "version", result["version"].text());
    left_out.note(item);
    return left_out.noted(finished(std::move(item)));
  }

  // Named by the address, where that names a file; else by the resource.
  static std::string path_of(Field row, const std::string& url) {
    const auto parsed = web::Url::parse(url);
    const std::string last = parsed ? file_name_of(*parsed) : "";
    if (last.find('.') != std::string::npos && last.find('/') == std::string::npos) return last;
    std::string path = row["name"].trimmed();
    if (path.empty()) path = last.empty() ? row["id"].text() : last;
    for (char& c : path) c = c == '/' || c == '\\' ? '-' : c;
    const std::string format = web::to_lower(row["format"].trimmed());
    const bool simple = !format.empty() && format.find_first_of(" /\\.") == std::string::npos;
    if (simple && !web::to_lower(path).ends_with("." + format)) path += "." + format;
    return path.empty() ? "resource" : path;
  }

  static void take(Field row, const std::string& url, PlatformItem& item) {
    ManifestFile file;
    file.path = unused_path(item, path_of(row, url));
    file.size = row["size"].size();
    file.mimetype = row["mimetype"].text();
    take_checksum(file, row["hash"].trimmed());
    file.platform_url = url;
    set_known(file.extra, "description", row["description"].text());
    item.manifest.push_back(std::move(file));
  }
};

}  // namespace

std::unique_ptr<Platform> make_ckan(const PlatformOptions& options) {
  return std::make_unique<Ckan>(options);
}

}  // namespace quern::fileset

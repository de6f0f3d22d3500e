#include "fileset/platform_dataone.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr char kNode[] = "https://cn.dataone.org";
constexpr std::size_t kIdMax = 400;
constexpr std::size_t kRowsMax = 5'000;

constexpr std::string_view kCatalogues[] = {"search.dataone.org", "arcticdata.io",
                                            "knb.ecoinformatics.org", "opc.dataone.org"};

// What comes behind "/view/": ids have slashes of their own.
std::string id_in(const Place& place) {
  const auto& path = place.path();
  const auto view = std::ranges::find(path, "view");
  std::string id;
  for (auto part = view; part != path.end(); ++part) {
    if (part != view) id += (id.empty() ? "" : "/") + *part;
  }
  return id.size() <= kIdMax ? id : "";
}

// A text between quotes of Solr's language.
std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string query(std::string_view field, std::string_view value, std::string_view wanted) {
  return fmt::format("{}/cn/v2/query/solr/?q={}&fl={}&rows={}&start=0&wt=json", kNode,
                     net::percent_encoded(fmt::format("{}:{}", field, quoted(value))), wanted,
                     kRowsMax);
}

class Dataone : public ApiPlatform {
 public:
  explicit Dataone(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "dataone"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && std::ranges::find(kCatalogues, where->host) != std::end(kCatalogues) &&
           !id_in(*where).empty();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string id = where ? id_in(*where) : "";
    if (id.empty()) co_return refused("platform-scope", "the address names no package");
    std::string url = query("identifier", id, "identifier,formatType,formatId,resourceMap");
    const ApiAnswer found = co_await get(outside, std::move(url));
    if (!found.ok()) co_return found.refusal;
    const Field first = found.field()["response"]["docs"].first();
    if (!first.is_known()) co_return refused("platform-404", "no package has the id " + id);
    // The last is the newest: an object enters the maps of each version in their order.
    const std::vector<Field> maps = first["resourceMap"].each();
    const std::string map = first["formatType"].text() == "RESOURCE" ? id
                            : maps.empty()                           ? ""
                                                                     : maps.back().text();
    if (map.empty()) co_return refused("platform-scope", "this is no package: it has no map");
    std::string listing = query("resourceMap", map,
                                "identifier,formatType,title,size,formatId,fileName,checksum,"
                                "checksumAlgorithm,dataUrl,dateUploaded");
    const ApiAnswer files = co_await get(outside, std::move(listing));
    if (!files.ok()) co_return files.refusal;
    co_return read(*where, id, files.field()["response"]);
  }

 private:
  PlatformAnswer read(const Place& where, const std::string& id, Field response) const {
    if (response["docs"].list() == nullptr) return refused("platform-error", "no list of files");
    const auto count = response["numFound"].size();
    if (count && *count > static_cast<std::int64_t>(response["docs"].each().size())) {
      return refused("too-many-files", fmt::format("{} files", *count));
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where.host;
    item.platform_id = id;
    item.archiveorg_item_name = item_name({item.platform_domain, id});
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    meta["source"] = where.url.href();
    set_known(meta, "doi", doi_in(id));
    for (const Field row : response["docs"].each()) {
      const std::string type = row["formatType"].text();
      if (type == "RESOURCE") continue;  // a map in the map: another package
      take(row, item);
      if (type != "METADATA") continue;
      set_known(meta, "title", row["title"].text());
      set_known(meta, "date", row["dateUploaded"].text().substr(0, 10));
    }
    return finished(std::move(item));
  }

  static void take(Field row, PlatformItem& item) {
    const std::string id = row["identifier"].text();
    ManifestFile file;
    std::string path = row["fileName"].text();
    if (path.empty()) path = id + (row["formatType"].text() == "METADATA" ? ".xml" : "");
    for (char& c : path) c = c == '/' || c == '\\' || c == ':' ? '-' : c;
    file.path = path.empty() ? "" : unused_path(item, path);
    file.size = row["size"].size();
    const std::string format = row["formatId"].text();
    if (format.find('/') != std::string::npos && format.find("://") == std::string::npos) {
      file.mimetype = format;
    }
    take_checksum(file, row["checksumAlgorithm"].text(), row["checksum"].text());
    file.platform_url = row["dataUrl"].text();
    if (file.platform_url.empty() && !id.empty()) {
      file.platform_url = fmt::format("{}/cn/v2/resolve/{}", kNode, net::percent_encoded(id));
    }
    item.manifest.push_back(std::move(file));
  }
};

}  // namespace

std::unique_ptr<Platform> make_dataone(const PlatformOptions& options) {
  return std::make_unique<Dataone>(options);
}

}  // namespace quern::fileset

#include "fileset/platform_single.h"

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

class Single : public ApiPlatform {
 public:
  explicit Single(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "single"; }

  bool match(const Landing& landing) const override {
    const std::string type = web::to_lower(landing.mimetype);
    if (type.empty() || !landing.html.empty()) return false;
    return type.find("html") == std::string::npos && place_of(landing);
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside&) const override {
    const auto where = place_of(landing);
    if (!where) co_return refused("platform-scope", "not an address of the web");
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where->host;
    const std::string doi = doi_in(landing.base_url);
    item.platform_id = doi.empty() ? where->url.target() : doi;
    ManifestFile file;
    file.path = file_name_of(where->url);
    if (file.path.empty() || file.path.find('/') != std::string::npos) file.path = "data";
    if (file.path.find('.') == std::string::npos) file.path += extension_of(landing.mimetype);
    file.mimetype = landing.mimetype;
    file.platform_url = where->url.href();
    item.manifest.push_back(std::move(file));
    item.archiveorg_item_name = item_name({where->host, item.platform_id});
    boost::json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    meta["source"] = where->url.href();
    set_known(meta, "doi", doi);
    co_return finished(std::move(item));
  }
};

}  // namespace

std::unique_ptr<Platform> make_single(const PlatformOptions& options) {
  return std::make_unique<Single>(options);
}

}  // namespace quern::fileset

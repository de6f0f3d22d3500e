#include "fileset/platform_datacite.h"

#include <fmt/format.h>

#include "fileset/platform_api.h"
#include "fileset/platform_archiveorg.h"
#include "fileset/platform_dataone.h"
#include "fileset/platform_dataverse.h"
#include "fileset/platform_dryad.h"
#include "fileset/platform_figshare.h"
#include "fileset/platform_github.h"
#include "fileset/platform_osf.h"
#include "fileset/platform_zenodo.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

std::string doi_of(const Landing& landing) {
  const std::string asked = doi_in(landing.base_url);
  return asked.empty() ? doi_in(Field(landing.html_biblio.if_contains("doi")).text()) : asked;
}

class Datacite : public ApiPlatform {
 public:
  explicit Datacite(const PlatformOptions& options) : ApiPlatform(options) {
    // Those that an address alone is enough for.
    known_.push_back(make_dataverse(options));
    known_.push_back(make_figshare(options));
    known_.push_back(make_zenodo(options));
    known_.push_back(make_archiveorg(options));
    known_.push_back(make_dryad(options));
    known_.push_back(make_osf(options));
    known_.push_back(make_github(options));
    known_.push_back(make_dataone(options));
  }
  std::string_view name() const override { return "datacite"; }

  bool match(const Landing& landing) const override { return !doi_of(landing).empty(); }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const std::string doi = doi_of(landing);
    if (doi.empty()) co_return refused("no-platform-match", "there is no DOI");
    std::string url = "https://api.datacite.org/dois/" + net::percent_encoded(doi);
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (answer.http_status == 404) {
      co_return refused("no-platform-match", "DataCite does not know " + doi);
    }
    if (!answer.ok()) co_return answer.refusal;
    const Field about = answer.field()["data"]["attributes"];
    PlatformItem item = read(doi, about);
    if (!item.manifest.empty()) co_return finished(std::move(item));
    Landing behind;
    behind.base_url = landing.base_url;
    behind.terminal_url = about["url"].trimmed();
    for (const auto& platform : known_) {
      if (behind.terminal_url.empty() || !platform->match(behind)) continue;
      co_return co_await platform->process(behind, outside);
    }
    co_return refused("no-platform-match", fmt::format("{} leads to no platform that is known: {}",
                                                       doi, behind.terminal_url.substr(0, 200)));
  }

 private:
  PlatformItem read(const std::string& doi, Field about) const {
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "doi.org";
    item.platform_id = doi;
    item.archiveorg_item_name = item_name({"doi.org", doi});
    const std::vector<Field> formats = about["formats"].each();
    for (const Field content : about["contentUrl"].each()) {
      const auto url = web::Url::parse(content.trimmed());
      if (!url || !url->is_web() || item.manifest.size() > kManifestFilesMax) continue;
      ManifestFile file;
      std::string path = file_name_of(*url);
      if (path.empty() || path.find('/') != std::string::npos) path = "data";
      file.path = unused_path(item, path);
      file.platform_url = url->href();
      if (formats.size() == 1 && formats.front().text().find('/') != std::string::npos) {
        file.mimetype = formats.front().text();
      }
      item.manifest.push_back(std::move(file));
    }
    describe(doi, about, item.archiveorg_item_meta);
    return item;
  }

  static void describe(const std::string& doi, Field about, json::object& meta) {
    json::array creators;
    for (const Field creator : about["creators"].each()) {
      const std::string who = creator["name"].text();
      if (!who.empty()) creators.emplace_back(who);
    }
    meta["collection"] = "datasets";
    if (!creators.empty()) meta["creator"] = std::move(creators);
    meta["doi"] = doi;
    set_known(meta, "title", about["titles"].first()["title"].text());
    set_known(meta, "date", about["published"].id());
    set_known(meta, "source", about["url"].text());
    set_known(meta, "description", about["descriptions"].first()["description"].text());
    set_known(meta, "license", about["rightsList"].first()["rightsUri"].text());
    set_known(meta, "version", about["version"].text());
  }

  std::vector<std::unique_ptr<Platform>> known_;
};

}  // namespace

std::unique_ptr<Platform> make_datacite(const PlatformOptions& options) {
  return std::make_unique<Datacite>(options);
}

}  // namespace quern::fileset

#include "fileset/platform_dryad.h"

#include <fmt/format.h>

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr char kApi[] = "https://datadryad.org";

// "/dataset/doi:10.5061/dryad.x", "/stash/dataset/doi:10.…": the DOI has a "/" of its own.
std::string doi_of(const Place& place) {
  const auto& path = place.path();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i] != "dataset") continue;
    std::string rest = path[i + 1];
    if (i + 2 < path.size()) rest += "/" + path[i + 2];
    return rest.starts_with("doi:") ? doi_in(rest) : "";
  }
  const bool shown = place.segment(0) == "landing" || place.segment(1) == "landing";
  return shown ? doi_in(place.parameter("id")) : "";
}

class Dryad : public ApiPlatform {
 public:
  explicit Dryad(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "dryad"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && (where->host == "datadryad.org" || where->host == "www.datadryad.org") &&
           !doi_of(*where).empty();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string doi = where ? doi_of(*where) : "";
    if (doi.empty()) co_return refused("platform-scope", "the address has no DOI");
    std::string url =
        fmt::format("{}/api/v2/datasets/{}", kApi, net::percent_encoded("doi:" + doi));
    web::HeaderList headers = with_token();
    const ApiAnswer answer = co_await get(outside, std::move(url), std::move(headers));
    if (!answer.ok()) co_return answer.refusal;
    const Field dataset = answer.field();
    if (dataset["visibility"].text() == "restricted" ||
        dataset["curationStatus"].text() == "Embargoed") {
      co_return refused("platform-restricted", "the dataset is not public yet");
    }
    const std::string version =
        link_within(kApi, dataset["_links"]["stash:version"]["href"].text());
    if (version.empty()) co_return refused("platform-error", "the dataset names no version");
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "datadryad.org";
    item.platform_id = doi;
    std::string listing = version + "/files";
    PlatformAnswer listed = co_await list_files(std::move(listing), outside, &item);
    if (is_refused(listed)) co_return listed;
    describe(doi, dataset, item);
    item.web_bundle_url = version + "/download";
    co_return finished(std::move(item));
  }

  web::HeaderList download_headers(const std::string& url) const override {
    const bool ours = url.starts_with(kApi) && url.substr(sizeof kApi - 1).starts_with("/");
    return ours ? token() : web::HeaderList();
  }

 private:
  web::HeaderList token() const {
    if (options().dryad_token.empty()) return {};
    return {{"Authorization", "Bearer " + options().dryad_token}};
  }
  web::HeaderList with_token() const {
    web::HeaderList headers = token();
    headers.emplace_back("Accept", "application/json");
    return headers;
  }

  net::Task<PlatformAnswer> list_files(std::string url, Outside& outside,
                                       PlatformItem* item) const {
    for (int page = 0; page < kPagesMax && item->manifest.size() <= kManifestFilesMax; ++page) {
      web::HeaderList headers = with_token();
      const ApiAnswer answer = co_await get(outside, std::move(url), std::move(headers));
      if (!answer.ok()) co_return answer.refusal;
      const Field files = answer.field()["_embedded"]["stash:files"];
      if (files.list() == nullptr) co_return refused("platform-error", "the list of files is none");
      for (const Field row : files.each()) take(row, *item);
      const std::string next = answer.field()["_links"]["next"]["href"].text();
      if (next.empty()) co_return PlatformAnswer{};
      url = link_within(kApi, next);
      if (url.empty()) co_return refused("platform-error", "the next page is elsewhere: " + next);
    }
    co_return refused("too-many-files", "the dataset has more files than are listed");
  }

  static void take(Field row, PlatformItem& item) {
    if (row["status"].text() == "deleted") return;
    ManifestFile file;
    file.path = row["path"].text();
    file.size = row["size"].size();
    file.mimetype = row["mimeType"].text();
    take_checksum(file, row["digestType"].text(), row["digest"].text());
    set_known(file.extra, "description", row["description"].text());
    const Field links = row["_links"];
    std::string link = links["stash:download"]["href"].text();
    if (link.empty()) link = links["stash:file-download"]["href"].text();
    file.platform_url = link_within(kApi, link);
    item.manifest.push_back(std::move(file));
  }

  static void describe(const std::string& doi, Field dataset, PlatformItem& item) {
    const std::string version = dataset["versionNumber"].id();
    std::vector<std::string> parts = {item.platform_domain, doi.substr(doi.rfind('/') + 1)};
    if (!version.empty()) parts.push_back("v" + version);
    item.archiveorg_item_name = item_name(parts);
    json::array creators;
    for (const Field author : dataset["authors"].each()) {
      const std::string who = trim(author["firstName"].text() + " " + author["lastName"].text());
      if (!who.empty()) creators.emplace_back(who);
    }
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    if (!creators.empty()) meta["creator"] = std::move(creators);
    meta["doi"] = doi;
    set_known(meta, "title", dataset["title"].text());
    set_known(meta, "date", dataset["publicationDate"].text());
    meta["source"] = fmt::format("https://datadryad.org/dataset/doi:{}", doi);
    set_known(meta, "description", dataset["abstract"].text());
    set_known(meta, "license", dataset["license"].text());
    set_known(meta, "version", version);
  }
};

}  // namespace

std::unique_ptr<Platform> make_dryad(const PlatformOptions& options) {
  return std::make_unique<Dryad>(options);
}

}  // namespace quern::fileset

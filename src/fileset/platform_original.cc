#include "fileset/platform_original.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/platform_api.h"
#include "fileset/platform_archiveorg.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kIdLength = 6;

// What the original took for granted. The first thing that is not there is remembered.
class Demands {
 public:
  Field need(Field from, std::string_view key) {
    const Field found = from[key];
    if (!found.is_there()) miss(key);
    return found;
  }
  json::value value(Field from, std::string_view key) {
    const Field found = need(from, key);
    return found.is_there() ? *found.value() : json::value();
  }
  std::string text(Field from, std::string_view key) {
    const Field found = need(from, key);
    if (found.is_there() && found.value()->is_string()) return found.text();
    miss(key);
    return "";
  }
  std::optional<std::int64_t> size(Field from, std::string_view key) {
    const Field found = need(from, key);
    if (found.is_there() && !found.value()->is_string() && found.size()) return found.size();
    miss(key);
    return std::nullopt;
  }
  const json::array& list(Field from, std::string_view key) {
    static const json::array nothing;
    const Field found = need(from, key);
    if (found.list() != nullptr) return *found.list();
    miss(key);
    return nothing;
  }
  void miss(std::string_view what) {
    if (missing_.empty()) missing_ = what;
  }
  bool met() const { return missing_.empty(); }
  PlatformAnswer complaint() const {
    return refused("platform-error", "the platform's answer has no usable " + missing_);
  }

 private:
  std::string missing_;
};

class Original : public ApiPlatform {
 protected:
  using ApiPlatform::ApiPlatform;
  // Without the last look: paths may repeat, as they did.
  static PlatformAnswer made(PlatformItem item) {
    PlatformAnswer answer;
    if (item.manifest.empty()) answer = refused("empty-manifest", "");
    answer.item = std::move(item);
    return answer;
  }
  // The words that it had for a failure: only the status.
  static PlatformAnswer plainly(ApiAnswer answer) {
    if (answer.http_status >= 300) answer.refusal.message = std::to_string(answer.http_status);
    return std::move(answer.refusal);
  }
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// -- Dataverse --

class OriginalDataverse : public Original {
 public:
  explicit OriginalDataverse(const PlatformOptions& options) : Original(options) {}
  std::string_view name() const override { return "dataverse"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && parse_original_pid(where->parameter("persistentId")).has_value();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    if (!where) co_return refused("platform-scope", "not an address");
    const auto pid = parse_original_pid(where->parameter("persistentId"));
    if (!pid || pid->is_file) {
      co_return refused("platform-scope",
                        "only entire dataverse datasets can be archived with this tool");
    }
    const std::string api = fmt::format("https://{}/api/datasets/:persistentId/?persistentId={}",
                                        where->host, pid->whole);
    std::string version = where->parameter("version");
    if (version.empty()) {
      std::string unpinned = api;
      ApiAnswer latest = co_await get(outside, std::move(unpinned));
      if (!latest.ok()) co_return plainly(std::move(latest));
      const Field row = latest.field()["data"]["latestVersion"];
      if (!row.is_known()) co_return refused("platform-scope", "the dataset has no latest version");
      version = version_of(row);
    }
    std::string pinned = fmt::format("{}&version={}", api, version);
    ApiAnswer answer = co_await get(outside, std::move(pinned));
    if (!answer.ok()) co_return plainly(std::move(answer));
    co_return read(where->host, pid->whole, version, answer.field()["data"]["latestVersion"]);
  }

 private:
  static std::string version_of(Field row) {
    return row["versionNumber"].id() + "." + row["versionMinorNumber"].id();
  }

  static ManifestFile read_file(Demands& demands, const std::string& host, Field row) {
    const Field data = demands.need(row, "dataFile");
    const bool original = !data["originalFileName"].text().empty();
    ManifestFile file;
    file.path = original ? data["originalFileName"].text() : demands.text(data, "filename");
    const auto size = data["originalFileSize"].size();
    file.size = size.value_or(0) != 0 ? size : demands.size(data, "filesize");
    file.md5 = demands.text(data, "md5");
    file.mimetype = demands.text(data, "contentType");
    file.platform_url =
        fmt::format("https://{}/api/access/datafile/:persistentId/?persistentId={}{}", host,
                    demands.text(data, "persistentId"), original ? "&format=original" : "");
    if (row["version"].id() != "1") set_known(file.extra, "version", row["version"]);
    set_known(file.extra, "description", data["description"]);
    return file;
  }

  static void read_citation(Demands& demands, Field row, json::object& meta) {
    const Field citation = row["metadataBlocks"]["citation"];
    for (const json::value& each : demands.list(citation, "fields")) {
      const Field block(each);
      const std::string type = demands.text(block, "typeName");
      if (type == "title") meta["title"] = demands.value(block, "value");
      if (type == "depositor") meta["creator"] = demands.value(block, "value");
      if (type != "dsDescription") continue;
      const Field first = demands.need(block, "value").first();
      meta["description"] = demands.value(first["dsDescriptionValue"], "value");
    }
    const std::string terms = row["termsOfUse"].text();
    if (terms.empty()) return;
    meta["description"] = Field(meta.if_contains("description")).text() + "\n<br>\n" + terms;
  }

  PlatformAnswer read(const std::string& host, const std::string& pid, const std::string& version,
                      Field row) const {
    Demands demands;
    if (version_of(row) != version) {
      return refused("platform-error",
                     fmt::format("asked for version {}, got {}", version, version_of(row)));
    }
    if (demands.text(row, "datasetPersistentId") != pid) demands.miss("datasetPersistentId");
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = host;
    item.platform_id = pid;
    for (const json::value& file : demands.list(row, "files")) {
      item.manifest.push_back(read_file(demands, host, Field(file)));
    }
    item.archiveorg_item_name = fmt::format("{}-{}-v{}", host, split(pid, '/').back(), version);
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    meta["date"] = split(demands.text(row, "releaseTime"), 'T').front();
    meta["source"] =
        fmt::format("https://{}/dataset.xhtml?persistentId={}&version={}", host, pid, version);
    if (pid.starts_with("doi:10.")) meta["doi"] = pid.substr(4);
    read_citation(demands, row, meta);
    item.web_bundle_url = fmt::format(
        "https://{}/api/access/dataset/:persistentId/?persistentId={}&format=original", host, pid);
    return demands.met() ? made(std::move(item)) : demands.complaint();
  }
};

// -- Figshare --

struct FigshareId {
  std::string article;
  std::string version;
};

// "/articles/[type/]{slug}/{id}/{version}".
std::optional<FigshareId> parse_original_figshare(const Place& place) {
  const std::vector<std::string> parts = split(place.url.path(), '/');
  constexpr std::string_view kTypes[] = {"dataset", "journal_contribution", "presentation",
                                         "poster", "thesis"};
  if (parts.size() < 5 || parts.size() > 6 || parts[1] != "articles") return std::nullopt;
  if (parts.size() == 6 && std::ranges::find(kTypes, parts[2]) == std::end(kTypes)) {
    return std::nullopt;
  }
  FigshareId id{parts[parts.size() - 2], parts.back()};
  if (!is_digits(id.article) || !is_digits(id.version)) return std::nullopt;
  return id;
}

class OriginalFigshare : public Original {
 public:
  explicit OriginalFigshare(const PlatformOptions& options) : Original(options) {}
  std::string_view name() const override { return "figshare"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && where->host.find("figshare.com") != std::string::npos &&
           parse_original_figshare(*where);
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const auto id = where ? parse_original_figshare(*where) : std::nullopt;
    if (!id) co_return refused("platform-error", "no article and version in the address");
    std::string url = fmt::format("https://api.figshare.com/v2/articles/{}/versions/{}",
                                  id->article, id->version);
    ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return plainly(std::move(answer));
    co_return read(where->host, *id, answer.field());
  }

 private:
  PlatformAnswer read(const std::string& host, const FigshareId& id, Field article) const {
    Demands demands;
    if (!demands.need(article, "is_public").is_true() && demands.met()) {
      return refused("platform-restricted", fmt::format("not public: {} {}", id.article, host));
    }
    if (demands.need(article, "is_embargoed").is_true()) {
      return refused("platform-restricted", fmt::format("embargoed: {} {}", id.article, host));
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = host;
    item.platform_id = id.article;
    for (const json::value& each : demands.list(article, "files")) {
      const Field row(each);
      if (demands.need(row, "is_link_only").is_true()) {
        return refused("platform-scope", "a file of the article is only a link");
      }
      ManifestFile file;
      file.path = demands.text(row, "name");
      file.size = demands.size(row, "size");
      file.md5 = demands.text(row, "computed_md5");
      file.platform_url = demands.text(row, "download_url");
      item.manifest.push_back(std::move(file));
    }
    item.archiveorg_item_name = fmt::format("{}-{}-v{}", host, id.article, id.version);
    read_meta(demands, article, item.archiveorg_item_meta);
    item.web_bundle_url = fmt::format("https://ndownloader.figshare.com/articles/{}/versions/{}",
                                      id.article, id.version);
    return demands.met() ? made(std::move(item)) : demands.complaint();
  }

  static void read_meta(Demands& demands, Field article, json::object& meta) {
    json::array creators;
    for (const json::value& author : demands.list(article, "authors")) {
      creators.push_back(demands.value(Field(author), "full_name"));
    }
    meta = {{"collection", "datasets"},
            {"creator", std::move(creators)},
            {"doi", demands.value(article, "doi")},
            {"title", demands.value(article, "title")},
            {"date", demands.value(article, "published_date")},
            {"source", demands.value(article, "url_public_html")},
            {"description", demands.value(article, "description")},
            {"license", demands.value(demands.need(article, "license"), "url")},
            {"version", demands.value(article, "version")}};
  }
};

// -- Zenodo --

class OriginalZenodo : public Original {
 public:
  explicit OriginalZenodo(const PlatformOptions& options) : Original(options) {}
  std::string_view name() const override { return "zenodo"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && where->host == "zenodo.org" &&
           where->url.path().find("/record/") != std::string::npos;
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string id(where ? where->segment(1) : "");
    if (!is_digits(id)) co_return refused("platform-error", "no number of a record in the address");
    std::string url = fmt::format("https://zenodo.org/api/records/{}", id);
    ApiAnswer answer = co_await get(outside, std::move(url));
    if (answer.http_status == 410) co_return refused("platform-restricted", "record deleted");
    if (!answer.ok()) co_return plainly(std::move(answer));
    co_return read(id, answer.field());
  }

 private:
  PlatformAnswer read(const std::string& id, Field record) const {
    Demands demands;
    if (demands.need(record, "id").id() != id) demands.miss("id");
    const Field about = demands.need(record, "metadata");
    const std::string access = demands.text(about, "access_right");
    if (!demands.met()) return demands.complaint();
    if (access != "open") {
      // Recorded like this: the original never filled in the braces.
      return refused("platform-restricted",
                     "not publicly available ({obj['metadata']['access_right']}): "
                     "{platform_domain} {platform_id}");
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "zenodo.org";
    item.platform_id = id;
    for (const json::value& each : demands.list(record, "files")) {
      const Field row(each);
      ManifestFile file;
      file.path = demands.text(row, "key");
      file.size = demands.size(row, "size");
      file.platform_url = demands.text(demands.need(row, "links"), "self");
      const std::string checksum = demands.text(row, "checksum");
      if (!checksum.starts_with("md5:")) demands.miss("md5 checksum");
      file.md5 = checksum.substr(std::min<std::size_t>(4, checksum.size()));
      item.manifest.push_back(std::move(file));
    }
    item.archiveorg_item_name = "zenodo.org-" + id;
    read_meta(demands, record, item.archiveorg_item_meta);
    return demands.met() ? made(std::move(item)) : demands.complaint();
  }

  static void read_meta(Demands& demands, Field record, json::object& meta) {
    const Field about = record["metadata"];
    json::array creators;
    for (const json::value& creator : demands.list(about, "creators")) {
      creators.push_back(demands.value(Field(creator), "name"));
    }
    meta = {{"collection", "datasets"},
            {"creator", std::move(creators)},
            {"doi", demands.value(record, "doi")},
            {"title", demands.value(about, "title")},
            {"date", demands.value(about, "publication_date")},
            {"source", demands.value(demands.need(record, "links"), "html")},
            {"description", demands.value(about, "description")},
            {"license", demands.value(demands.need(about, "license"), "id")},
            {"version", demands.value(record, "revision")}};
  }
};

}  // namespace

std::optional<OriginalPid> parse_original_pid(std::string_view pid) {
  if (!pid.starts_with("doi:10.") && !pid.starts_with("hdl:")) return std::nullopt;
  const std::vector<std::string> parts = split(pid, '/');
  if (parts.size() < 2) return std::nullopt;
  // Authority, then perhaps a shoulder, then the dataset, then perhaps a file of it.
  const std::size_t dataset = parts[1].size() == kIdLength ? 1 : 2;
  if (parts.size() <= dataset || parts.size() > dataset + 2) return std::nullopt;
  for (std::size_t i = dataset; i < parts.size(); ++i) {
    if (parts[i].size() != kIdLength) return std::nullopt;
  }
  return OriginalPid{std::string(pid), parts.size() == dataset + 2};
}

std::vector<std::unique_ptr<Platform>> original_platforms(const PlatformOptions& options) {
  std::vector<std::unique_ptr<Platform>> all;
  all.push_back(std::make_unique<OriginalDataverse>(options));
  all.push_back(std::make_unique<OriginalFigshare>(options));
  all.push_back(std::make_unique<OriginalZenodo>(options));
  all.push_back(make_archiveorg(options));
  return all;
}

}  // namespace quern::fileset

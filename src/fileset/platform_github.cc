#include "fileset/platform_github.h"

#include <fmt/format.h>

#include "fileset/platform_api.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

struct Release {
  std::string owner;
  std::string repository;
  std::string tag;  // empty: the latest
};

// "/{owner}/{repository}/releases/tag/{tag…}", "…/releases/latest", "…/releases".
std::optional<Release> release_in(const Place& place) {
  const auto& path = place.path();
  if (path.size() < 3 || path[2] != "releases") return std::nullopt;
  Release release{path[0], path[1], ""};
  if (release.owner.empty() || release.repository.empty()) return std::nullopt;
  if (path.size() == 3 || (path.size() == 4 && path[3] == "latest")) return release;
  if (path.size() < 5 || path[3] != "tag") return std::nullopt;
  for (std::size_t i = 4; i < path.size(); ++i) release.tag += (i > 4 ? "/" : "") + path[i];
  return release;
}

class Github : public ApiPlatform {
 public:
  explicit Github(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "github"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && (where->host == "github.com" || where->host == "www.github.com") &&
           release_in(*where);
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const auto release = where ? release_in(*where) : std::nullopt;
    if (!release) co_return refused("platform-scope", "the address names no release");
    std::string url =
        fmt::format("https://api.github.com/repos/{}/{}/releases/{}",
                    net::percent_encoded(release->owner), net::percent_encoded(release->repository),
                    release->tag.empty() ? "latest" : tag_path(release->tag));
    web::HeaderList headers{{"Accept", "application/vnd.github+json"},
                            {"X-GitHub-Api-Version", "2022-11-28"}};
    if (!options().github_token.empty()) {
      headers.emplace_back("Authorization", "Bearer " + options().github_token);
    }
    const ApiAnswer answer = co_await get(outside, std::move(url), std::move(headers));
    if (!answer.ok()) co_return answer.refusal;
    co_return read(*release, answer.field());
  }

 private:
  static std::string tag_path(const std::string& tag) {
    return "tags/" + net::percent_encoded(tag);
  }

  PlatformAnswer read(const Release& release, Field about) const {
    const std::string tag = about["tag_name"].text();
    if (tag.empty()) return refused("platform-error", "the answer has no tag_name");
    if (about["draft"].is_true()) return refused("platform-restricted", "a draft is not public");
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "github.com";
    item.platform_id = fmt::format("{}/{}@{}", release.owner, release.repository, tag);
    for (const Field asset : about["assets"].each()) {
      const std::string state = asset["state"].text();
      if (!state.empty() && state != "uploaded") continue;
      ManifestFile file;
      file.path = asset["name"].text();
      file.size = asset["size"].size();
      file.mimetype = asset["content_type"].text();
      take_checksum(file, asset["digest"].text());
      file.platform_url = asset["browser_download_url"].text();
      item.manifest.push_back(std::move(file));
    }
    if (item.manifest.empty()) take_source(release, tag, about, item);
    item.archiveorg_item_name =
        item_name({item.platform_domain, release.owner, release.repository, tag});
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    set_known(meta, "creator", about["author"]["login"].text());
    const std::string title = about["name"].text();
    set_known(meta, "title", title.empty() ? fmt::format("{} {}", release.repository, tag) : title);
    set_known(meta, "date", about["published_at"].text().substr(0, 10));
    set_known(meta, "source", about["html_url"].text());
    set_known(meta, "description", about["body"].text());
    meta["version"] = tag;
    return finished(std::move(item));
  }

  static void take_source(const Release& release, const std::string& tag, Field about,
                          PlatformItem& item) {
    ManifestFile file;
    file.platform_url = about["zipball_url"].text();
    if (file.platform_url.empty()) return;
    std::string version = tag;
    for (char& c : version) c = c == '/' ? '-' : c;
    file.path = fmt::format("{}-{}.zip", release.repository, version);
    file.mimetype = "application/zip";
    item.manifest.push_back(std::move(file));
  }
};

}  // namespace

std::unique_ptr<Platform> make_github(const PlatformOptions& options) {
  return std::make_unique<Github>(options);
}

}  // namespace quern::fileset

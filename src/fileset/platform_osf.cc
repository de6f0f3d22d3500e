#include "fileset/platform_osf.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kGuidMin = 5;
constexpr std::size_t kGuidMax = 10;
constexpr int kFolderDepthMax = 32;

bool is_guid(std::string_view text) {
  return text.size() >= kGuidMin && text.size() <= kGuidMax &&
         std::ranges::all_of(text, [](char c) { return web::is_alpha(c) || web::is_digit(c); });
}

// Pages of the site itself that look like a project's.
bool is_page(std::string_view text) {
  constexpr std::string_view kPages[] = {"search",   "support",    "dashboard",  "preprints",
                                         "meetings", "login",      "register",   "institutions",
                                         "download", "registries", "myprojects", "collections"};
  return std::ranges::find(kPages, text) != std::end(kPages);
}

std::string guid_in(const Place& place) {
  std::size_t at = 0;
  if (place.segment(0) == "project" || place.segment(0) == "registries") at = 1;
  const std::string guid = web::to_lower(place.segment(at));
  return is_guid(guid) && !is_page(guid) ? guid : "";
}

struct Folder {
  std::string url;
  int depth = 0;
};

class Osf : public ApiPlatform {
 public:
  explicit Osf(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "osf"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && is_osf(*where) && !guid_in(*where).empty();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string guid = where ? guid_in(*where) : "";
    if (guid.empty()) co_return refused("platform-scope", "the address names no project");
    const std::string api =
        where->host == "test.osf.io" ? "https://api.test.osf.io" : "https://api.osf.io";
    // Leads to whatever has this id.
    std::string url = fmt::format("{}/v2/guids/{}/", api, guid);
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return answer.refusal;
    const Field node = answer.field()["data"];
    const std::string type = node["type"].text();
    PlatformAnswer judged = judge(type, node["attributes"]);
    if (is_refused(judged)) co_return judged;
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = "osf.io";
    item.platform_id = guid;
    std::string files = fmt::format("{}/v2/{}/{}/files/osfstorage/", api, type, guid);
    judged = co_await list_files(std::move(files), outside, &item);
    if (is_refused(judged)) co_return judged;
    describe(guid, node["attributes"], item);
    item.web_bundle_url = fmt::format(
        "https://files.{}/v1/resources/{}/providers/osfstorage/?zip=", where->host, guid);
    co_return finished(std::move(item));
  }

 private:
  static bool is_osf(const Place& place) {
    return place.host == "osf.io" || place.host == "test.osf.io" || place.host == "www.osf.io";
  }

  static PlatformAnswer judge(const std::string& type, Field about) {
    if (type != "nodes" && type != "registrations") {
      return refused(type.empty() ? "platform-error" : "platform-scope",
                     "this is no project and no registration: " + type.substr(0, 40));
    }
    if (about["withdrawn"].is_true()) {
      return refused("platform-restricted", "the registration was withdrawn");
    }
    if (about["embargoed"].is_true()) {
      return refused("platform-restricted",
                     "under embargo until " + about["embargo_end_date"].text());
    }
    if (about["public"].is_false()) return refused("platform-restricted", "not public");
    return {};
  }

  // Folder after folder, page after page.
  net::Task<PlatformAnswer> list_files(std::string root, Outside& outside,
                                       PlatformItem* item) const {
    const std::string api = root;
    std::deque<Folder> folders;
    folders.push_back({std::move(root), 0});
    for (int page = 0; page < kPagesMax; ++page) {
      if (folders.empty()) co_return PlatformAnswer{};
      Folder folder = std::move(folders.front());
      folders.pop_front();
      std::string url = folder.url;
      const ApiAnswer answer = co_await get(outside, std::move(url));
      if (!answer.ok()) co_return answer.refusal;
      if (answer.field()["data"].list() == nullptr) {
        co_return refused("platform-error", "the list of files is none");
      }
      for (const Field entry : answer.field()["data"].each()) {
        if (entry["attributes"]["kind"].text() != "folder") {
          take(entry, *item);
          continue;
        }
        const Field link = entry["relationships"]["files"]["links"]["related"]["href"];
        Folder inner{link_within(api, link.text()), folder.depth + 1};
        if (inner.url.empty()) co_return refused("platform-error", "a folder leads elsewhere");
        if (inner.depth > kFolderDepthMax) {
          co_return refused("platform-scope",
                            fmt::format("folders deeper than {}", kFolderDepthMax));
        }
        folders.push_back(std::move(inner));
      }
      const std::string next = answer.field()["links"]["next"].text();
      if (!next.empty()) folders.push_front({link_within(api, next), folder.depth});
      if (!folders.empty() && folders.front().url.empty()) {
        co_return refused("platform-error", "the next page is elsewhere: " + next);
      }
      if (item->manifest.size() > kManifestFilesMax) break;
    }
    co_return refused("too-many-files", "the project has more files and folders than are listed");
  }

  static void take(Field entry, PlatformItem& item) {
    const Field about = entry["attributes"];
    ManifestFile file;
    file.path = about["materialized_path"].text();
    if (file.path.starts_with('/')) file.path.erase(0, 1);
    if (file.path.empty()) file.path = about["name"].text();
    file.size = about["size"].size();
    const Field hashes = about["extra"]["hashes"];
    take_checksum(file, "md5", hashes["md5"].text());
    take_checksum(file, "sha256", hashes["sha256"].text());
    file.platform_url = entry["links"]["download"].text();
    item.manifest.push_back(std::move(file));
  }

  static void describe(const std::string& guid, Field about, PlatformItem& item) {
    item.archiveorg_item_name = item_name({item.platform_domain, guid});
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    set_known(meta, "title", about["title"].text());
    set_known(meta, "date", about["date_modified"].text().substr(0, 10));
    meta["source"] = fmt::format("https://osf.io/{}/", guid);
    set_known(meta, "description", about["description"].text());
  }
};

}  // namespace

std::unique_ptr<Platform> make_osf(const PlatformOptions& options) {
  return std::make_unique<Osf>(options);
}

}  // namespace quern::fileset

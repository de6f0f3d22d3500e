#include "fileset/platform_zenodo.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/platform_api.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kIdMax = 40;

bool is_zenodo(const Place& place) {
  return place.host == "zenodo.org" || place.host == "www.zenodo.org" ||
         place.host == "sandbox.zenodo.org";
}

// "77" on Zenodo, "82kn8-3nk04" elsewhere.
bool is_record_id(std::string_view id) {
  return !id.empty() && id.size() <= kIdMax && std::ranges::all_of(id, [](char c) {
    return web::is_alpha(c) || web::is_digit(c) || c == '-';
  });
}

std::string record_in(const Place& place) {
  if (place.segment(0) != "record" && place.segment(0) != "records") return "";
  const std::string id(place.segment(1));
  if (is_zenodo(place)) return is_digits(id) && id.size() <= kIdMax ? id : "";
  return is_record_id(id) ? id : "";
}

// The first of them that has a text.
std::string any_of(std::initializer_list<Field> fields) {
  for (const Field field : fields) {
    const std::string text = field.id();
    if (!text.empty()) return text;
  }
  return "";
}

class Zenodo : public ApiPlatform {
 public:
  explicit Zenodo(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "zenodo"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    if (!where || record_in(*where).empty()) return false;
    return is_zenodo(*where) || speaks_invenio(landing.html);
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string id = where ? record_in(*where) : "";
    if (id.empty()) co_return refused("platform-scope", "the address names no record");
    std::string url = fmt::format("{}/api/records/{}", where->url.origin(), id);
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (answer.http_status == 410) {
      co_return refused("platform-restricted", "the record was deleted");
    }
    if (!answer.ok()) co_return answer.refusal;
    PlatformAnswer judged = judge(id, answer);
    if (is_refused(judged)) co_return judged;
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where->host;
    const Field record = answer.field();
    if (!take_files(record["files"], item)) {
      // Older versions of InvenioRDM only say where the list is.
      std::string list =
          fmt::format("{}/api/records/{}/files", where->url.origin(), record["id"].id());
      const ApiAnswer files = co_await get(outside, std::move(list));
      if (!files.ok()) co_return files.refusal;
      if (!take_files(files.field(), item)) {
        co_return refused("platform-error", "the record has no list of files");
      }
    }
    describe(record, item);
    co_return finished(std::move(item));
  }

 private:
  static bool speaks_invenio(std::string_view html) {
    const std::string lower = web::to_lower(html);
    return lower.find("invenio") != std::string::npos;
  }

  static PlatformAnswer judge(const std::string& id, const ApiAnswer& answer) {
    const Field record = answer.field();
    const std::string said = record["id"].id();
    if (!is_record_id(said)) return refused("platform-error", "the answer has no id");
    const bool concept_of = record["conceptrecid"].id() == id || record["parent"]["id"].id() == id;
    if (said != id && !concept_of) {
      return refused("platform-error", fmt::format("asked for {}, got {}", id, said));
    }
    const std::string access =
        any_of({record["metadata"]["access_right"], record["access"]["status"]});
    const std::string until =
        any_of({record["metadata"]["embargo_date"], record["access"]["embargo"]["until"]});
    if (access == "embargoed" || record["access"]["embargo"]["active"].is_true()) {
      return refused("platform-restricted",
                     until.empty() ? "under embargo" : "under embargo until " + until);
    }
    if (record["access"]["files"].text() == "restricted") {
      return refused("platform-restricted", "the files are restricted");
    }
    if (!access.empty() && access != "open" && access != "metadata-only") {
      return refused("platform-restricted", "not public: access is " + access);
    }
    return {};
  }

  static void take(Field row, std::string_view key, PlatformItem& item) {
    ManifestFile file;
    file.path = any_of({row["key"], row["filename"]});
    if (file.path.empty()) file.path = key;
    file.size = row["size"].size();
    if (!file.size) file.size = row["filesize"].size();
    take_checksum(file, row["checksum"].text());
    file.mimetype = row["mimetype"].text();
    const Field links = row["links"];
    file.platform_url = any_of({links["content"], links["download"], links["self"]});
    item.manifest.push_back(std::move(file));
  }

  // A list (Zenodo), or an object whose "entries" are an object or a list. False where neither is.
  static bool take_files(Field files, PlatformItem& item) {
    if (files["enabled"].is_false()) return true;
    const Field entries = files.list() != nullptr ? files : files["entries"];
    if (entries.list() != nullptr) {
      for (const Field row : entries.each()) take(row, "", item);
      return true;
    }
    if (entries.object() == nullptr) return false;
    for (const auto& [key, row] : *entries.object()) take(Field(row), key, item);
    return true;
  }

  static void describe(Field record, PlatformItem& item) {
    const Field about = record["metadata"];
    const Field links = record["links"];
    item.platform_id = record["id"].id();
    item.archiveorg_item_name = item_name({item.platform_domain, item.platform_id});
    json::array creators;
    for (const Field creator : about["creators"].each()) {
      const std::string who = any_of({creator["name"], creator["person_or_org"]["name"]});
      if (!who.empty()) creators.emplace_back(who);
    }
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    if (!creators.empty()) meta["creator"] = std::move(creators);
    set_known(meta, "doi", any_of({record["doi"], record["pids"]["doi"]["identifier"]}));
    set_known(meta, "title", about["title"].text());
    set_known(meta, "date", about["publication_date"].text());
    set_known(meta, "source", any_of({links["self_html"], links["html"]}));
    set_known(meta, "description", about["description"].text());
    set_known(meta, "license", any_of({about["license"]["id"], about["rights"].first()["id"]}));
    set_known(meta, "version", any_of({about["version"], record["revision"]}));
    item.web_bundle_url = links["archive"].text();
  }
};

}  // namespace

std::unique_ptr<Platform> make_zenodo(const PlatformOptions& options) {
  return std::make_unique<Zenodo>(options);
}

}  // namespace quern::fileset

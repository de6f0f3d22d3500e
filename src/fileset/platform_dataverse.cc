#include "fileset/platform_dataverse.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/left_out.h"
#include "fileset/platform_api.h"
#include "fileset/platform_original.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

// "doi:10.5072/FK2/J8SJZB", "hdl:20.500.12690/RIN/IDDOAH", and the same as an address.
std::string pid_in(const Place& place) {
  std::string pid;
  for (const auto& [key, value] : place.target.parameters) {
    if (web::to_lower(key) == "persistentid" && pid.empty()) pid = trim(value);
  }
  if (const std::string doi = doi_in(pid); !doi.empty()) return "doi:" + doi;
  for (const std::string_view before : {"https://hdl.handle.net/", "http://hdl.handle.net/"}) {
    if (pid.starts_with(before)) pid = "hdl:" + pid.substr(before.size());
  }
  const bool handle = pid.starts_with("hdl:") && pid.find('/') != std::string::npos;
  return handle && pid.back() != '/' ? pid : "";
}

bool is_version(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return is_digits(text);
  return is_digits(text.substr(0, dot)) && is_digits(text.substr(dot + 1));
}

std::string escaped_pid(std::string_view pid) {
  std::string escaped;
  for (const char c : pid) {
    const bool plain = web::is_alpha(c) || web::is_digit(c) ||
                       std::string_view("-._~:/").find(c) != std::string_view::npos;
    plain ? escaped.push_back(c) : web::append_escaped(escaped, static_cast<unsigned char>(c));
  }
  return escaped;
}

class Dataverse : public ApiPlatform {
 public:
  explicit Dataverse(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "dataverse"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    return where && !pid_in(*where).empty();
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    const std::string pid = where ? pid_in(*where) : "";
    if (pid.empty()) co_return refused("platform-scope", "the address has no persistentId");
    const auto divided = parse_original_pid(pid);
    const bool page_of_file = !where->path().empty() && where->path().back() == "file.xhtml";
    if (page_of_file || (divided && divided->is_file)) {
      co_return refused("platform-scope",
                        "this is one file of a dataset: ask for the page of the dataset");
    }
    const std::string version = where->parameter("version");
    if (web::to_lower(version) == "draft") {
      co_return refused("platform-restricted", "a draft is not public: ask for a version");
    }
    const bool pinned = is_version(version);
    std::string url =
        fmt::format("{}/api/datasets/:persistentId/{}?persistentId={}", where->url.origin(),
                    pinned ? "versions/" + version : "", escaped_pid(pid));
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return answer.refusal;
    const Field data = answer.field()["data"];
    co_return read({*where, pid, answer}, pinned ? data : data["latestVersion"]);
  }

 private:
  struct Asked {
    const Place& place;
    const std::string& pid;
    const ApiAnswer& answer;
  };

  static std::string file_url(const Asked& asked, Field data, bool original) {
    const std::string base = asked.place.url.origin() + "/api/access/datafile/";
    const std::string pid = data["persistentId"].text();
    if (!pid.empty()) {
      return fmt::format("{}:persistentId/?persistentId={}{}", base, escaped_pid(pid),
                         original ? "&format=original" : "");
    }
    const std::string id = data["id"].id();
    if (!is_digits(id)) return "";
    return base + id + (original ? "?format=original" : "");
  }

  static ManifestFile read_file(const Asked& asked, Field row) {
    const Field data = row["dataFile"];
    const std::string uploaded = data["originalFileName"].text();
    const bool original = !uploaded.empty() || data["originalFileFormat"].is_known();
    ManifestFile file;
    file.path = uploaded.empty() ? data["filename"].text() : uploaded;
    if (file.path.empty()) file.path = row["label"].text();
    std::string folder = row["directoryLabel"].text();
    while (folder.ends_with('/')) folder.pop_back();
    if (!folder.empty() && !file.path.empty()) file.path = folder + "/" + file.path;
    file.size = original ? data["originalFileSize"].size() : data["filesize"].size();
    file.mimetype = original ? data["originalFileFormat"].text() : "";
    if (file.mimetype.empty()) file.mimetype = data["contentType"].text();
    take_checksum(file, "md5", data["md5"].text());
    take_checksum(file, data["checksum"]["type"].text(), data["checksum"]["value"].text());
    file.platform_url = file_url(asked, data, original);
    if (row["version"].id() != "1") set_known(file.extra, "version", row["version"]);
    set_known(file.extra, "description", data["description"].text());
    return file;
  }

  // Why nobody may have the file; empty where everybody may.
  static std::string closed(const Asked& asked, Field row) {
    if (row["restricted"].is_true() || row["dataFile"]["restricted"].is_true()) return "restricted";
    const std::string until = row["dataFile"]["embargo"]["dateAvailable"].text();
    if (!until.empty() && asked.answer.is_ahead(until)) return "under embargo until " + until;
    return "";
  }

  static void read_citation(Field row, json::object& meta) {
    json::array creators;
    std::string depositor;
    for (const Field block : row["metadataBlocks"]["citation"]["fields"].each()) {
      const std::string type = block["typeName"].text();
      const Field value = block["value"];
      if (type == "title") set_known(meta, "title", value.text());
      if (type == "depositor") depositor = value.text();
      if (type == "dsDescription") {
        set_known(meta, "description", value.first()["dsDescriptionValue"]["value"].text());
      }
      if (type != "author") continue;
      for (const Field author : value.each()) {
        const std::string who = author["authorName"]["value"].text();
        if (!who.empty()) creators.emplace_back(who);
      }
    }
    if (creators.empty() && !depositor.empty()) creators.emplace_back(depositor);
    if (!creators.empty()) meta["creator"] = std::move(creators);
    const Field license = row["license"];
    set_known(meta, "license",
              license.object() != nullptr ? license["uri"].text() : license.text());
    const std::string terms = row["termsOfUse"].text();
    if (terms.empty()) return;
    meta["description"] = Field(meta.if_contains("description")).text() + "\n<br>\n" + terms;
  }

  PlatformAnswer read(const Asked& asked, Field row) const {
    if (row.object() == nullptr) {
      return refused("platform-scope", "the dataset has no published version");
    }
    if (row["versionState"].text() == "DEACCESSIONED") {
      return refused("platform-restricted", "this version was withdrawn");
    }
    const std::string said = row["datasetPersistentId"].text();  // answers of 2019 have none
    if (!said.empty() && web::to_lower(said) != web::to_lower(asked.pid)) {
      return refused("platform-error", fmt::format("asked for {}, got {}", asked.pid, said));
    }
    const std::string major = row["versionNumber"].id();
    if (!is_digits(major)) return refused("platform-error", "the answer has no versionNumber");
    const std::string minor = row["versionMinorNumber"].id();
    if (row["files"].list() == nullptr) return refused("platform-error", "the answer has no files");
    const std::string version = major + "." + (minor.empty() ? "0" : minor);
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = asked.place.host;
    item.platform_id = asked.pid;
    LeftOut left_out;
    for (const Field file : row["files"].each()) {
      ManifestFile read = read_file(asked, file);
      const std::string why = closed(asked, file);
      if (!why.empty()) {
        left_out.add(read.path, why);
      } else {
        item.manifest.push_back(std::move(read));
      }
    }
    if (item.manifest.empty() && !left_out.empty()) return left_out.refusal("platform-restricted");
    describe(asked, version, row, item);
    left_out.note(item);
    return left_out.noted(finished(std::move(item)));
  }

  static void describe(const Asked& asked, const std::string& version, Field row,
                       PlatformItem& item) {
    const std::string& pid = asked.pid;
    const std::string origin = asked.place.url.origin();
    item.archiveorg_item_name =
        item_name({asked.place.host, pid.substr(pid.rfind('/') + 1), "v" + version});
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    set_known(meta, "date", row["releaseTime"].text().substr(0, 10));
    meta["source"] = fmt::format("{}/dataset.xhtml?persistentId={}&version={}", origin,
                                 escaped_pid(pid), version);
    meta["version"] = version;
    if (pid.starts_with("doi:")) meta["doi"] = pid.substr(4);
    read_citation(row, meta);
    item.web_bundle_url = fmt::format(
        "{}/api/access/dataset/:persistentId/versions/{}?persistentId={}&format=original", origin,
        version, escaped_pid(pid));
  }
};

}  // namespace

std::unique_ptr<Platform> make_dataverse(const PlatformOptions& options) {
  return std::make_unique<Dataverse>(options);
}

}  // namespace quern::fileset

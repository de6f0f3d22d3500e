// archive.org, Dryad, OSF, GitHub, CKAN, DataONE, DataCite, a page with JSON-LD, a plain file.
#include <fmt/format.h>

#include <algorithm>

#include "support/platform_site/hosts.h"

namespace quern::platform_site {
namespace {

namespace json = boost::json;

std::string joined(const Request& request, std::size_t begin) {
  std::string path;
  for (std::size_t i = begin; i < request.parts.segments.size(); ++i) {
    path += (i > begin ? "/" : "") + request.parts.segments[i];
  }
  return path;
}

// "NAME/3": the fourth file of a dataset.
std::optional<Reply> numbered_file(const Request& request, const Dataset* dataset,
                                   std::string_view number) {
  if (dataset == nullptr) return std::nullopt;
  return file_of(request.host, *dataset, number_of(number));
}

}  // namespace

// -- archive.org: https://archive.org/developers/md-read.html --

std::optional<Reply> answer_archiveorg(const Request& request, const Shelf& shelf) {
  const std::string item(request.segment(1));
  const Dataset* dataset = item.starts_with("quern-") ? shelf.named(item.substr(6)) : nullptr;
  if (request.segment(0) == "metadata" && dataset == nullptr) {
    Reply nothing;
    nothing.body = "{}";
    return nothing;
  }
  if (dataset == nullptr) return std::nullopt;
  if (request.segment(0) == "download") {
    const std::string path = joined(request, 2);
    for (std::size_t i = 0; i < dataset->files.size(); ++i) {
      if (dataset->files[i].path == path) return file_of(request.host, *dataset, i);
    }
    return failed(404);
  }
  if (request.segment(0) != "metadata") return page("Item " + dataset->name, "");
  json::array files;
  for (const DataFile& file : dataset->files) {
    if (!lists_files(*dataset)) break;
    files.push_back({{"name", file.path},
                     {"source", "original"},
                     {"format", "Unknown"},
                     {"mtime", "1700000000"},
                     {"size", std::to_string(file.size)},
                     {"md5", file.md5},
                     {"crc32", "00000000"},
                     {"sha1", file.sha1}});
  }
  files.push_back({{"name", item + "_files.xml"}, {"source", "original"}, {"format", "Metadata"}});
  return api(*dataset, {{"created", 1700000000},
                        {"d1", "ia600000.us.archive.org"},
                        {"dir", "/1/items/" + item},
                        {"is_dark", dataset->api == ApiFault::Restricted},
                        {"files_count", files.size()},
                        {"metadata",
                         {{"identifier", item},
                          {"mediatype", "data"},
                          {"collection", json::array{"datasets"}},
                          {"title", "Item " + dataset->name}}},
                        {"files", std::move(files)}});
}

// -- Dryad: https://datadryad.org/api (OpenAPI: /datasets/{doi}, /versions/{id}/files) --

std::optional<Reply> answer_dryad(const Request& request, const Shelf& shelf) {
  if (request.segment(0) == "dataset") {
    const std::string id = joined(request, 1);
    const Dataset* dataset = shelf.named(id.substr(id.rfind('.') + 1));
    return dataset == nullptr ? std::nullopt : std::optional(page("Dryad " + dataset->name, ""));
  }
  if (request.segment(2) == "files") {
    const std::size_t id = number_of(request.segment(3));
    return numbered_file(request, shelf.numbered(std::to_string(id / 100)),
                         std::to_string(id % 100));
  }
  if (request.segment(2) == "versions") {
    const Dataset* dataset = shelf.numbered(request.segment(3));
    if (dataset == nullptr || request.segment(4) != "files") return std::nullopt;
    // Two a page, as the documentation pages any collection.
    const std::string* page_number = request.parts.find("page");
    const std::size_t at = page_number == nullptr ? 1 : number_of(*page_number);
    const std::size_t count = lists_files(*dataset) ? dataset->files.size() : 0;
    json::array files;
    for (std::size_t i = (at - 1) * 2; i < std::min(at * 2, count); ++i) {
      const DataFile& file = dataset->files[i];
      const std::string href =
          fmt::format("/api/v2/files/{}", dataset->number * 100 + static_cast<int>(i));
      files.push_back(
          {{"_links",
            {{"self", {{"href", href}}}, {"stash:download", {{"href", href + "/download"}}}}},
           {"path", file.path},
           {"size", file.size},
           {"mimeType", file.mimetype},
           {"status", "created"},
           {"digest", file.sha256},
           {"digestType", "sha-256"}});
    }
    const std::string self = fmt::format("/api/v2/versions/{}/files", dataset->number);
    json::object links = {{"self", {{"href", self}}}};
    if (at * 2 < count) links["next"] = {{"href", fmt::format("{}?page={}", self, at + 1)}};
    return api(*dataset, {{"_links", std::move(links)},
                          {"count", files.size()},
                          {"total", count},
                          {"_embedded", {{"stash:files", std::move(files)}}}});
  }
  const std::string id(request.segment(3));
  const Dataset* dataset = shelf.named(id.substr(id.rfind('.') + 1));
  if (dataset == nullptr) return std::nullopt;
  const std::string version = fmt::format("/api/v2/versions/{}", dataset->number);
  return api(*dataset,
             {{"_links",
               {{"self", {{"href", "/api/v2/datasets/" + net::percent_encoded(id)}}},
                {"stash:version", {{"href", version}}}}},
              {"identifier", id},
              {"id", dataset->number},
              {"title", "Dryad " + dataset->name},
              {"authors", json::array{{{"firstName", "Jane"}, {"lastName", "Doe"}}}},
              {"abstract", "Made up"},
              {"versionNumber", 1},
              {"visibility", dataset->api == ApiFault::Restricted ? "restricted" : "public"},
              {"publicationDate", "2024-01-01"}});
}

// -- OSF: https://developer.osf.io/#tag/Nodes, #operation/nodes_files_list, JSON:API --

namespace {

// The entries of one folder ("" or "a/"): files, and the folders in it.
json::array osf_entries(const Dataset& dataset, const std::string& folder) {
  json::array entries;
  std::vector<std::string> inner;
  for (std::size_t i = 0; i < dataset.files.size() && lists_files(dataset); ++i) {
    const DataFile& file = dataset.files[i];
    if (!file.path.starts_with(folder)) continue;
    const std::string rest = file.path.substr(folder.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) {
      const std::string link =
          fmt::format("https://osf.io/download/{}/", dataset.number * 100 + static_cast<int>(i));
      entries.push_back({{"id", std::to_string(i)},
                         {"type", "files"},
                         {"attributes",
                          {{"name", rest},
                           {"kind", "file"},
                           {"size", file.size},
                           {"provider", "osfstorage"},
                           {"materialized_path", "/" + file.path},
                           {"extra", {{"hashes", {{"md5", file.md5}, {"sha256", file.sha256}}}}}}},
                         {"links", {{"download", link}}}});
      continue;
    }
    const std::string name = rest.substr(0, slash);
    if (std::find(inner.begin(), inner.end(), name) != inner.end()) continue;
    inner.push_back(name);
    const std::string href = fmt::format("https://api.osf.io/v2/nodes/q{}/files/osfstorage/{}/",
                                         dataset.number, net::percent_encoded(folder + name));
    entries.push_back(
        {{"id", name},
         {"type", "files"},
         {"attributes",
          {{"name", name}, {"kind", "folder"}, {"materialized_path", "/" + folder + name + "/"}}},
         {"relationships", {{"files", {{"links", {{"related", {{"href", href}}}}}}}}}});
  }
  return entries;
}

}  // namespace

std::optional<Reply> answer_osf(const Request& request, const Shelf& shelf) {
  if (request.segment(0) == "download") {
    const std::size_t id = number_of(request.segment(1));
    return numbered_file(request, shelf.numbered(std::to_string(id / 100)),
                         std::to_string(id % 100));
  }
  const std::string guid(request.segment(request.host == "osf.io" ? 0 : 2));
  const Dataset* dataset = guid.starts_with("q") ? shelf.numbered(guid.substr(1)) : nullptr;
  if (dataset == nullptr) return std::nullopt;
  if (request.host == "osf.io") return page("OSF " + dataset->name, "");
  if (request.segment(1) == "guids") {
    return moved(fmt::format("https://api.osf.io/v2/nodes/{}/", guid));
  }
  if (request.segment(3) != "files") {
    return api(*dataset, {{"data",
                           {{"id", guid},
                            {"type", "nodes"},
                            {"attributes",
                             {{"title", "OSF " + dataset->name},
                              {"description", "Made up"},
                              {"public", dataset->api != ApiFault::Restricted},
                              {"date_modified", "2024-01-01T00:00:00"}}}}}});
  }
  const std::string folder(request.segment(5));
  json::array entries = osf_entries(*dataset, folder.empty() ? "" : folder + "/");
  return api(*dataset, {{"data", std::move(entries)},
                        {"links", {{"first", nullptr}, {"next", nullptr}, {"prev", nullptr}}}});
}

// -- GitHub: https://docs.github.com/en/rest/releases/releases#get-a-release-by-tag-name --

std::optional<Reply> answer_github(const Request& request, const Shelf& shelf) {
  if (request.host == "github.com") {
    const Dataset* dataset = shelf.named(request.segment(4));
    if (dataset == nullptr) return std::nullopt;
    if (request.segment(3) == "tag") return page("Release " + dataset->name, "");
    return numbered_file(request, dataset, request.segment(5));
  }
  const Dataset* dataset = shelf.named(request.segment(5));
  if (dataset == nullptr) return std::nullopt;
  json::array assets;
  for (std::size_t i = 0; i < dataset->files.size() && lists_files(*dataset); ++i) {
    const DataFile& file = dataset->files[i];
    std::string name = file.path;  // assets have no folders
    for (char& c : name) c = c == '/' ? '.' : c;
    assets.push_back(
        {{"id", i},
         {"name", name},
         {"state", "uploaded"},
         {"content_type", file.mimetype},
         {"size", file.size},
         {"digest", "sha256:" + file.sha256},
         {"browser_download_url",
          fmt::format("https://github.com/quern/data/releases/download/{}/{}", dataset->name, i)}});
  }
  return api(*dataset, {{"id", dataset->number},
                        {"tag_name", dataset->name},
                        {"name", "Release " + dataset->name},
                        {"draft", dataset->api == ApiFault::Restricted},
                        {"prerelease", false},
                        {"html_url", "https://github.com/quern/data/releases/tag/" + dataset->name},
                        {"published_at", "2024-01-01T00:00:00Z"},
                        {"author", {{"login", "quern"}}},
                        {"assets", std::move(assets)}});
}

// -- CKAN: https://docs.ckan.org/en/latest/api/#ckan.logic.action.get.package_show --

std::optional<Reply> answer_ckan(const Request& request, const Shelf& shelf) {
  if (request.segment(0) == "download") {
    return numbered_file(request, shelf.named(request.segment(1)), request.segment(2));
  }
  if (request.segment(0) == "dataset") {
    const Dataset* dataset = shelf.named(request.segment(1));
    if (dataset == nullptr) return std::nullopt;
    return page("CKAN " + dataset->name, "<meta name=\"generator\" content=\"ckan 2.10.4\" />\n");
  }
  const std::string* id = request.parts.find("id");
  const Dataset* dataset = id == nullptr ? nullptr : shelf.named(*id);
  if (dataset == nullptr) return std::nullopt;
  json::array resources;
  for (std::size_t i = 0; i < dataset->files.size() && lists_files(*dataset); ++i) {
    const DataFile& file = dataset->files[i];
    resources.push_back(
        {{"id", fmt::format("r{}", i)},
         {"name", fmt::format("{}", file.path)},
         {"format", "BIN"},
         {"mimetype", nullptr},
         {"size", i == 0 ? json::value(file.size) : json::value()},
         {"hash", i == 0 ? file.md5 : ""},
         {"url_type", nullptr},
         {"url", fmt::format("https://data.example.gov/download/{}/{}", dataset->name, i)}});
  }
  return api(*dataset, {{"help", "https://data.example.gov/api/3/action/help_show"},
                        {"success", true},
                        {"result",
                         {{"id", std::to_string(dataset->number)},
                          {"name", dataset->name},
                          {"title", "CKAN " + dataset->name},
                          {"private", dataset->api == ApiFault::Restricted},
                          {"state", "active"},
                          {"notes", "Made up"},
                          {"resources", std::move(resources)}}}});
}

// -- DataONE: https://releases.dataone.org/online/api-documentation-v2.0/design/SearchMetadata.html
// --

std::optional<Reply> answer_dataone(const Request& request, const Shelf& shelf) {
  if (request.host == "arcticdata.io") {
    const Dataset* dataset = shelf.named(request.parts.segments.back());
    return dataset == nullptr ? std::nullopt : std::optional(page("DataONE " + dataset->name, ""));
  }
  if (request.segment(2) == "resolve") {
    const std::string id(request.segment(3));  // urn:NAME:3
    const std::size_t colon = id.rfind(':');
    return numbered_file(request, shelf.named(id.substr(4, colon - 4)), id.substr(colon + 1));
  }
  const std::string* query = request.parts.find("q");
  if (query == nullptr) return std::nullopt;
  const std::size_t slash = query->rfind('/');
  const Dataset* dataset = shelf.named(query->substr(slash + 1, query->size() - slash - 2));
  json::array docs;
  const std::string id = dataset == nullptr ? "" : "doi:10.18739/" + dataset->name;
  if (dataset != nullptr && query->starts_with("identifier:")) {
    docs.push_back({{"identifier", id},
                    {"formatType", "METADATA"},
                    {"formatId", "eml://ecoinformatics.org/eml-2.1.1"},
                    {"resourceMap", json::array{"resource_map_" + id}}});
  } else if (dataset != nullptr) {
    for (std::size_t i = 0; i < dataset->files.size() && lists_files(*dataset); ++i) {
      const DataFile& file = dataset->files[i];
      docs.push_back({{"identifier", fmt::format("urn:{}:{}", dataset->name, i)},
                      {"formatType", "DATA"},
                      {"formatId", file.mimetype},
                      {"fileName", file.path},
                      {"size", file.size},
                      {"checksum", file.sha1},
                      {"checksumAlgorithm", "SHA-1"},
                      {"dataUrl", fmt::format("https://cn.dataone.org/cn/v2/resolve/urn%3A{}%3A{}",
                                              dataset->name, i)}});
    }
  }
  json::value body = {{"responseHeader", {{"status", 0}}},
                      {"response", {{"numFound", docs.size()}, {"start", 0}, {"docs", docs}}}};
  if (dataset != nullptr) return api(*dataset, std::move(body));
  Reply none;
  none.body = json::serialize(body);
  return none;
}

// -- DOIs; DataCite: https://support.datacite.org/reference/get_dois-id --

std::optional<Reply> answer_doi(const Request& request, const Shelf& shelf) {
  const bool is_api = request.host == "api.datacite.org";
  const std::string doi = joined(request, is_api ? 1 : 0);
  if (!is_api && doi.starts_with("10.5281/zenodo.")) {
    return moved("https://zenodo.org/records/" + doi.substr(15));
  }
  if (!doi.starts_with("10.9999/")) return std::nullopt;
  const Dataset* dataset = shelf.named(doi.substr(8));
  if (dataset == nullptr) return std::nullopt;
  const std::string url = "https://museum.example/bare/" + dataset->name;
  if (!is_api) return moved(url);
  json::array contents;
  for (std::size_t i = 0; i < dataset->files.size() && lists_files(*dataset); ++i) {
    contents.emplace_back(
        fmt::format("https://files.example/of/{}/{}/file{}.bin", dataset->name, i, i));
  }
  return api(*dataset, {{"data",
                         {{"id", doi},
                          {"type", "dois"},
                          {"attributes",
                           {{"doi", doi},
                            {"titles", json::array{{{"title", "DataCite " + dataset->name}}}},
                            {"creators", json::array{{{"name", "Doe, Jane"}}}},
                            {"publicationYear", 2024},
                            {"url", url},
                            {"contentUrl", std::move(contents)},
                            {"state", "findable"}}}}}});
}

// -- schema.org: https://schema.org/Dataset, https://schema.org/DataDownload --

std::optional<Reply> answer_museum(const Request& request, const Shelf& shelf) {
  const Dataset* dataset = shelf.named(request.segment(1));
  if (dataset == nullptr) return std::nullopt;
  if (request.segment(0) != "page") return page("Museum " + dataset->name, "");
  json::array distribution;
  for (std::size_t i = 0; i < dataset->files.size() && lists_files(*dataset); ++i) {
    const DataFile& file = dataset->files[i];
    distribution.push_back({{"@type", "DataDownload"},
                            {"encodingFormat", file.mimetype},
                            {"contentSize", fmt::format("{} B", file.size)},
                            {"sha256", file.sha256},
                            {"contentUrl", fmt::format("https://files.example/of/{}/{}/file{}.bin",
                                                       dataset->name, i, i)}});
  }
  const json::value about = {{"@context", "https://schema.org/"},
                             {"@type", "Dataset"},
                             {"name", "Museum " + dataset->name},
                             {"description", "Made up"},
                             {"identifier", "https://museum.example/page/" + dataset->name},
                             {"isAccessibleForFree", dataset->api != ApiFault::Restricted},
                             {"distribution", std::move(distribution)}};
  return page(
      "Museum " + dataset->name,
      fmt::format("<script type=\"application/ld+json\">{}</script>\n", json::serialize(about)));
}

// "/of/NAME/3/…", and "/get/NAME.bin": the first file.
std::optional<Reply> answer_files(const Request& request, const Shelf& shelf) {
  if (request.segment(0) == "of") {
    return numbered_file(request, shelf.named(request.segment(1)), request.segment(2));
  }
  const std::string name(request.segment(1));
  return numbered_file(request, shelf.named(name.substr(0, name.rfind('.'))), "0");
}

}  // namespace quern::platform_site

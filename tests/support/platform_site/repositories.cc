// Zenodo, InvenioRDM, Figshare, Dataverse.
#include <fmt/format.h>

#include <algorithm>

#include "support/platform_site/hosts.h"

namespace quern::platform_site {
namespace {

namespace json = boost::json;

std::size_t file_called(const Dataset& dataset, std::string_view path) {
  for (std::size_t i = 0; i < dataset.files.size(); ++i) {
    if (dataset.files[i].path == path) return i;
  }
  return dataset.files.size();
}

// -- Zenodo: https://developers.zenodo.org/#records (the answer of GET /api/records/:id) --

json::value zenodo_record(const Dataset& dataset) {
  const std::string base = fmt::format("https://zenodo.org/api/records/{}", dataset.number);
  json::array files;
  if (lists_files(dataset)) {
    for (const DataFile& file : dataset.files) {
      const std::string self =
          fmt::format("{}/files/{}/content", base, net::percent_encoded(file.path));
      files.push_back({{"id", "0f0f"},
                       {"key", file.path},
                       {"size", file.size},
                       {"checksum", "md5:" + file.md5},
                       {"links", {{"self", self}}}});
    }
  }
  json::object about = {
      {"title", "Zenodo " + dataset.name},
      {"doi", fmt::format("10.5281/zenodo.{}", dataset.number)},
      {"publication_date", "2024-01-01"},
      {"description", "<p>Made up</p>"},
      {"access_right", dataset.api == ApiFault::Restricted ? "embargoed" : "open"},
      {"creators", json::array{{{"name", "Doe, Jane"}, {"affiliation", nullptr}}}},
      {"resource_type", {{"title", "Dataset"}, {"type", "dataset"}}},
      {"license", {{"id", "cc-by-4.0"}}}};
  if (dataset.api == ApiFault::Restricted) about["embargo_date"] = "2099-01-01";
  return {{"id", dataset.number},
          {"recid", std::to_string(dataset.number)},
          {"conceptrecid", std::to_string(dataset.number - 500)},
          {"doi", fmt::format("10.5281/zenodo.{}", dataset.number)},
          {"created", "2024-01-01T00:00:00.000000+00:00"},
          {"revision", 3},
          {"metadata", std::move(about)},
          {"links",
           {{"self", base},
            {"self_html", fmt::format("https://zenodo.org/records/{}", dataset.number)},
            {"archive", base + "/files-archive"}}},
          {"files", std::move(files)}};
}

// -- InvenioRDM: https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/#get-a-record --

json::value invenio_record(const Dataset& dataset) {
  const std::string id = fmt::format("q{}-00000", dataset.number);
  const std::string base = "https://repo.example.org/api/records/" + id;
  json::object entries;
  if (lists_files(dataset)) {
    for (const DataFile& file : dataset.files) {
      const std::string self = fmt::format("{}/files/{}", base, net::percent_encoded(file.path));
      entries[file.path] = {{"key", file.path},
                            {"ext", "bin"},
                            {"mimetype", file.mimetype},
                            {"size", file.size},
                            {"checksum", "md5:" + file.md5},
                            {"links", {{"self", self}, {"content", self + "/content"}}}};
    }
  }
  const bool restricted = dataset.api == ApiFault::Restricted;
  return {{"id", id},
          {"revision_id", 4},
          {"parent", {{"id", "p0000-00000"}}},
          {"pids", {{"doi", {{"identifier", "10.1234/" + id}, {"provider", "datacite"}}}}},
          {"access",
           {{"record", "public"},
            {"files", restricted ? "restricted" : "public"},
            {"embargo", {{"active", false}, {"reason", nullptr}}},
            {"status", restricted ? "restricted" : "open"}}},
          {"metadata",
           {{"title", "Invenio " + dataset.name},
            {"publication_date", "2024"},
            {"creators", json::array{{{"person_or_org", {{"name", "Doe, Jane"}}}}}},
            {"rights", json::array{{{"id", "cc-by-4.0"}}}}}},
          {"links",
           {{"self", base},
            {"self_html", "https://repo.example.org/records/" + id},
            {"files", base + "/files"},
            {"archive", base + "/files-archive"}}},
          {"files",
           {{"enabled", lists_files(dataset)},
            {"count", entries.size()},
            {"order", json::array{}},
            {"entries", std::move(entries)}}}};
}

// "/api/records/{id}[/files/{key}/content]" of both.
std::optional<Reply> record_reply(const Request& request, const Dataset& dataset,
                                  json::value (*record)(const Dataset&)) {
  if (request.segment(3).empty()) return api(dataset, record(dataset));
  if (request.segment(3) != "files" || request.segment(5) != "content") return std::nullopt;
  return file_of(request.host, dataset, file_called(dataset, request.segment(4)));
}

}  // namespace

std::optional<Reply> answer_zenodo(const Request& request, const Shelf& shelf) {
  const bool is_api = request.segment(0) == "api";
  const Dataset* dataset = shelf.numbered(request.segment(is_api ? 2 : 1));
  if (dataset == nullptr) return std::nullopt;
  if (is_api) return record_reply(request, *dataset, zenodo_record);
  if (request.segment(0) == "record") {
    return moved(fmt::format("https://zenodo.org/records/{}", dataset->number));
  }
  return page("Zenodo " + dataset->name, "");
}

std::optional<Reply> answer_invenio(const Request& request, const Shelf& shelf) {
  const bool is_api = request.segment(0) == "api";
  const std::string id(request.segment(is_api ? 2 : 1));
  const Dataset* dataset =
      id.starts_with("q") ? shelf.numbered(id.substr(1, id.find('-') - 1)) : nullptr;
  if (dataset == nullptr) return std::nullopt;
  if (is_api) return record_reply(request, *dataset, invenio_record);
  return page("Invenio " + dataset->name,
              "<script src=\"/static/dist/js/invenio-app-rdm.js\"></script>\n");
}

// -- Figshare: https://docs.figshare.com/#public_article, #article_version_details,
// #article_version_files --

namespace {

json::array figshare_files(const Dataset& dataset, std::size_t begin, std::size_t end) {
  json::array files;
  if (!lists_files(dataset)) return files;
  for (std::size_t i = begin; i < std::min(end, dataset.files.size()); ++i) {
    const DataFile& file = dataset.files[i];
    files.push_back({{"id", dataset.number * 100 + static_cast<int>(i)},
                     {"name", file.path},
                     {"size", file.size},
                     {"is_link_only", false},
                     {"download_url", fmt::format("https://ndownloader.figshare.com/files/{}",
                                                  dataset.number * 100 + static_cast<int>(i))},
                     {"supplied_md5", ""},
                     {"computed_md5", file.md5},
                     {"mimetype", file.mimetype}});
  }
  return files;
}

json::value figshare_article(const Dataset& dataset) {
  constexpr std::size_t kShown = 10;
  const bool restricted = dataset.api == ApiFault::Restricted;
  const std::string title = "Figshare " + dataset.name;
  return {{"id", dataset.number},
          {"version", 1},
          {"title", title},
          {"doi", fmt::format("10.6084/m9.figshare.{}.v1", dataset.number)},
          {"status", "public"},
          {"is_public", true},
          {"is_confidential", false},
          {"is_metadata_record", false},
          {"is_embargoed", restricted},
          {"embargo_date", restricted ? json::value("2099-01-01") : json::value()},
          {"published_date", "2024-01-01T00:00:00Z"},
          {"description", "<p>Made up</p>"},
          {"url_public_html", fmt::format("https://figshare.com/articles/dataset/{}/{}",
                                          dataset.name, dataset.number)},
          {"license", {{"value", 1}, {"name", "CC BY 4.0"}, {"url", "https://cc.example/by"}}},
          {"authors", json::array{{{"id", 1}, {"full_name", "Jane Doe"}}}},
          {"files", restricted ? json::array{} : figshare_files(dataset, 0, kShown)}};
}

}  // namespace

std::optional<Reply> answer_figshare(const Request& request, const Shelf& shelf) {
  if (request.host == "ndownloader.figshare.com") {
    const std::size_t id = number_of(request.segment(1));
    const Dataset* dataset = shelf.numbered(std::to_string(id / 100));
    if (dataset == nullptr || request.segment(0) != "files") return std::nullopt;
    return file_of(request.host, *dataset, id % 100);
  }
  if (request.host == "figshare.com") {
    const Dataset* dataset = shelf.numbered(request.segment(3));
    if (dataset == nullptr) return std::nullopt;
    return page("Figshare " + dataset->name, "");
  }
  const Dataset* dataset = shelf.numbered(request.segment(2));
  if (dataset == nullptr || request.segment(1) != "articles") return std::nullopt;
  if (request.segment(5) != "files") return api(*dataset, figshare_article(*dataset));
  const std::string* page_number = request.parts.find("page");
  const std::string* page_size = request.parts.find("page_size");
  const std::size_t size = page_size == nullptr ? 10 : number_of(*page_size);
  const std::size_t begin = size * ((page_number == nullptr ? 1 : number_of(*page_number)) - 1);
  return api(*dataset, figshare_files(*dataset, begin, begin + size));
}

// -- Dataverse:
// https://guides.dataverse.org/en/latest/api/native-api.html#get-json-representation-of- a-dataset
// and #get-version-of-a-dataset; files by https://guides.dataverse.org/en/latest/api/
// dataaccess.html --

namespace {

std::string dataverse_pid(const Dataset& dataset) {
  return fmt::format("doi:10.5072/FK2/DS{}", dataset.number);
}

json::array dataverse_files(const Dataset& dataset) {
  json::array files;
  if (!lists_files(dataset)) return files;
  for (std::size_t i = 0; i < dataset.files.size(); ++i) {
    const DataFile& file = dataset.files[i];
    const std::size_t slash = file.path.rfind('/');
    const std::string label = file.path.substr(slash + 1);  // npos + 1 is 0
    json::object row = {{"label", label},
                        {"restricted", dataset.api == ApiFault::Restricted},
                        {"version", 1},
                        {"datasetVersionId", dataset.number}};
    if (slash != std::string::npos) row["directoryLabel"] = file.path.substr(0, slash);
    row["dataFile"] = {{"id", dataset.number * 100 + static_cast<int>(i)},
                       {"persistentId", ""},
                       {"filename", label},
                       {"contentType", file.mimetype},
                       {"filesize", file.size},
                       {"checksum", {{"type", "SHA-256"}, {"value", file.sha256}}}};
    files.push_back(std::move(row));
  }
  return files;
}

json::object dataverse_version(const Dataset& dataset) {
  return {
      {"id", dataset.number},
      {"datasetPersistentId", dataverse_pid(dataset)},
      {"versionNumber", 1},
      {"versionMinorNumber", 2},
      {"versionState", "RELEASED"},
      {"releaseTime", "2024-01-01T00:00:00Z"},
      {"license", {{"name", "CC0 1.0"}, {"uri", "https://cc.example/zero"}}},
      {"metadataBlocks",
       {{"citation",
         {{"fields", json::array{{{"typeName", "title"}, {"value", "Dataverse " + dataset.name}},
                                 {{"typeName", "depositor"}, {"value", "Doe, Jane"}}}}}}}},
      {"files", dataverse_files(dataset)}};
}

}  // namespace

std::optional<Reply> answer_dataverse(const Request& request, const Shelf& shelf) {
  if (request.segment(1) == "access" && request.segment(2) == "datafile") {
    const std::size_t id = number_of(request.segment(3));
    const Dataset* dataset = shelf.numbered(std::to_string(id / 100));
    if (dataset == nullptr) return std::nullopt;
    return file_of(request.host, *dataset, id % 100);
  }
  const std::string* pid = request.parts.find("persistentId");
  constexpr std::string_view kBefore = "doi:10.5072/FK2/DS";
  if (pid == nullptr || !pid->starts_with(kBefore)) return std::nullopt;
  const Dataset* dataset = shelf.numbered(pid->substr(kBefore.size()));
  if (dataset == nullptr) return std::nullopt;
  if (request.segment(0) == "dataset.xhtml") return page("Dataverse " + dataset->name, "");
  if (request.segment(1) != "datasets") return std::nullopt;
  json::object version = dataverse_version(*dataset);
  if (request.segment(3) == "versions") {
    if (request.segment(4) != "1.2" && request.segment(4) != ":latest") return failed(404);
    return api(*dataset, {{"status", "OK"}, {"data", std::move(version)}});
  }
  return api(*dataset, {{"status", "OK"},
                        {"data",
                         {{"id", dataset->number},
                          {"identifier", fmt::format("FK2/DS{}", dataset->number)},
                          {"protocol", "doi"},
                          {"authority", "10.5072"},
                          {"latestVersion", std::move(version)}}}});
}

}  // namespace quern::platform_site

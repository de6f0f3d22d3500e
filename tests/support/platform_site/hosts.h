// The platforms that the stand-in plays: landing pages, and answers of their interfaces as their
// documentation describes them. The sources are named at each in the .cc files; nothing here knows
// how quern reads them.
//
//   platform    landing page of the dataset NAME with NUMBER
//   zenodo      https://zenodo.org/records/NUMBER, https://doi.org/10.5281/zenodo.NUMBER
//   invenio     https://repo.example.org/records/qNUMBER-00000
//   figshare    https://figshare.com/articles/dataset/NAME/NUMBER/1
//   dataverse   https://dataverse.example.edu/dataset.xhtml?persistentId=doi:10.5072/FK2/DSNUMBER
//   archiveorg  https://archive.org/details/quern-NAME
//   dryad       https://datadryad.org/dataset/doi:10.5061/dryad.NAME
//   osf         https://osf.io/qNUMBER/
//   github      https://github.com/quern/data/releases/tag/NAME
//   ckan        https://data.example.gov/dataset/NAME
//   dataone     https://arcticdata.io/catalog/view/doi:10.18739/NAME
//   datacite    https://doi.org/10.9999/NAME
//   schemaorg   https://museum.example/page/NAME
//   single      https://files.example/get/NAME.bin
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/target.h"
#include "support/platform_site/dataset.h"

namespace quern::platform_site {

struct Request {
  std::string host;    // "zenodo.org"
  std::string target;  // "/records/1000?x=y"
  net::Target parts;

  std::string_view segment(std::size_t i) const {
    return i < parts.segments.size() ? std::string_view(parts.segments[i]) : std::string_view();
  }
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string location;
  const Dataset* dataset = nullptr;  // whose fault this answer of an interface may have
};

class Shelf {
 public:
  Shelf() : all_(all_datasets()) {}
  const std::vector<Dataset>& all() const { return all_; }
  const Dataset* named(std::string_view name) const;
  const Dataset* numbered(std::string_view number) const;

 private:
  std::vector<Dataset> all_;
};

using Answering = std::optional<Reply> (*)(const Request&, const Shelf&);
struct PlayedHost {
  std::string_view host;
  Answering answer;
};
const std::vector<PlayedHost>& played_hosts();

// What all of them are made with.
Reply page(std::string_view title, std::string_view head);
Reply api(const Dataset& dataset, boost::json::value body);
Reply moved(std::string location);
Reply failed(int status);
// Where the bytes of a file are: the stand-in moves who asks for it to the server of the files.
Reply file_of(std::string_view host, const Dataset& dataset, std::size_t file);
std::string file_path(std::string_view host, const Dataset& dataset, std::size_t file);
bool lists_files(const Dataset& dataset);
std::size_t number_of(std::string_view text);  // SIZE_MAX where it is none

std::optional<Reply> answer_zenodo(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_invenio(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_figshare(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_dataverse(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_archiveorg(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_dryad(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_osf(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_github(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_ckan(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_dataone(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_doi(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_museum(const Request& request, const Shelf& shelf);
std::optional<Reply> answer_files(const Request& request, const Shelf& shelf);

}  // namespace quern::platform_site

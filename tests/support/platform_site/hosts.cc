#include "support/platform_site/hosts.h"

#include <fmt/format.h>

#include <algorithm>

namespace quern::platform_site {

const Dataset* Shelf::named(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &Dataset::name);
  return found == all_.end() ? nullptr : &*found;
}

const Dataset* Shelf::numbered(std::string_view number) const {
  const auto is = [&](const Dataset& dataset) { return std::to_string(dataset.number) == number; };
  const auto found = std::ranges::find_if(all_, is);
  return found == all_.end() ? nullptr : &*found;
}

const std::vector<PlayedHost>& played_hosts() {
  static const std::vector<PlayedHost> kHosts = {
      {"zenodo.org", answer_zenodo},
      {"repo.example.org", answer_invenio},
      {"figshare.com", answer_figshare},
      {"api.figshare.com", answer_figshare},
      {"ndownloader.figshare.com", answer_figshare},
      {"dataverse.example.edu", answer_dataverse},
      {"archive.org", answer_archiveorg},
      {"datadryad.org", answer_dryad},
      {"osf.io", answer_osf},
      {"api.osf.io", answer_osf},
      {"github.com", answer_github},
      {"api.github.com", answer_github},
      {"data.example.gov", answer_ckan},
      {"arcticdata.io", answer_dataone},
      {"cn.dataone.org", answer_dataone},
      {"doi.org", answer_doi},
      {"api.datacite.org", answer_doi},
      {"museum.example", answer_museum},
      {"files.example", answer_files},
  };
  return kHosts;
}

Reply page(std::string_view title, std::string_view head) {
  Reply reply;
  reply.content_type = "text/html; charset=utf-8";
  reply.body = fmt::format(
      "<!DOCTYPE html>\n<html><head><title>{0}</title>\n<meta name=\"citation_title\" "
      "content=\"{0}\">\n{1}</head>\n<body><h1>{0}</h1><p>A made-up dataset.</p></body></html>\n",
      title, head);
  return reply;
}

Reply api(const Dataset& dataset, boost::json::value body) {
  Reply reply;
  reply.body = boost::json::serialize(body);
  reply.dataset = &dataset;
  return reply;
}

Reply moved(std::string location) {
  Reply reply = failed(302);
  reply.location = std::move(location);
  return reply;
}

Reply failed(int status) {
  Reply reply;
  reply.status = status;
  reply.body = fmt::format("{{\"status\":{},\"message\":\"made for tests\"}}", status);
  return reply;
}

std::string file_path(std::string_view host, const Dataset& dataset, std::size_t file) {
  return fmt::format("/{}/{}/{}", host, dataset.name, file);
}

Reply file_of(std::string_view host, const Dataset& dataset, std::size_t file) {
  // The server of the files has no address yet: its own path stands for it.
  return file < dataset.files.size() ? moved(file_path(host, dataset, file)) : failed(404);
}

std::size_t number_of(std::string_view text) {
  constexpr std::size_t kDigitsMax = 12;
  std::size_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || text.size() > kDigitsMax) return SIZE_MAX;
    number = number * 10 + static_cast<std::size_t>(c - '0');
  }
  return text.empty() ? SIZE_MAX : number;
}

bool lists_files(const Dataset& dataset) {
  return dataset.api != ApiFault::Empty;
}

}  // namespace quern::platform_site

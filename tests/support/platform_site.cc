#include "support/platform_site.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/loop.h"

namespace quern::support {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} * 1024 * 1024;

// NAME and NUMBER stand for the dataset's.
const std::map<std::string, std::string>& landings() {
  static const std::map<std::string, std::string> kLandings = {
      {"archiveorg", "https://archive.org/details/quern-NAME"},
      {"ckan", "https://data.example.gov/dataset/NAME"},
      {"datacite", "https://doi.org/10.9999/NAME"},
      {"dataone", "https://arcticdata.io/catalog/view/doi:10.18739/NAME"},
      {"dataverse",
       "https://dataverse.example.edu/dataset.xhtml?persistentId=doi:10.5072/FK2/DSNUMBER"},
      {"dryad", "https://datadryad.org/dataset/doi:10.5061/dryad.NAME"},
      {"figshare", "https://figshare.com/articles/dataset/NAME/NUMBER/1"},
      {"github", "https://github.com/quern/data/releases/tag/NAME"},
      {"invenio", "https://repo.example.org/records/qNUMBER-00000"},
      {"osf", "https://osf.io/qNUMBER/"},
      {"schemaorg", "https://museum.example/page/NAME"},
      {"single", "https://files.example/get/NAME.bin"},
      {"zenodo", "https://zenodo.org/records/NUMBER"},
  };
  return kLandings;
}

void replace(std::string& text, std::string_view from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

net::Task<Result<io::Descriptor>> connect_later(net::Loop* loop, net::Endpoint endpoint) {
  co_return co_await net::connect(*loop, std::move(endpoint), 10'000);
}

}  // namespace

PlatformSite::PlatformSite() {
  auto started = Program::start({.program = "quern_platform_site"});
  CHECK_OK(started);
  program_ = *std::move(started);
  const auto line = program_->wait_for_line(Output::Standard, "listening ");
  CHECK_OK(line);
  port_ = std::atoi(line->substr(line->rfind(':') + 1).c_str());
  const boost::json::value datasets = boost::json::parse(fetch("/__datasets").body);
  for (const auto& each : datasets.as_array()) {
    datasets_[std::string(each.at("name").as_string())] = each.as_object();
  }
}

PlatformSite::~PlatformSite() = default;

net::Response PlatformSite::fetch(const std::string& target) {
  net::Loop loop;
  const std::string place = fmt::format("127.0.0.1:{}", port_);
  const net::Endpoint to = *net::Endpoint::parse(place);
  net::Client client(loop, [&loop, to] { return connect_later(&loop, to); }, place, {});
  net::Request request;
  request.target = target;
  auto response = loop.run_until(client.fetch(std::move(request), kAnswerBytesMax));
  if (!response) return net::text_response(0, response.error().message());
  return *std::move(response);
}

net::Response PlatformSite::get(const std::string& url) {
  EXPECT_TRUE(url.starts_with("https://")) << url;
  return fetch("/" + url.substr(8));
}

std::map<std::string, std::string> PlatformSite::bases() {
  std::map<std::string, std::string> all;
  const std::string text = fetch("/__bases").body;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at);
    all[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    at = end + 1;
  }
  return all;
}

Environment PlatformSite::environment() {
  return {{"QUERN_PLATFORM_BASES", fetch("/__bases").body}};
}

std::string PlatformSite::landing(const std::string& platform, const std::string& name) {
  std::string url = landings().at(platform);
  replace(url, "NAME", name);
  replace(url, "NUMBER", std::to_string(dataset(name).at("number").to_number<int>()));
  return url;
}

const boost::json::object& PlatformSite::dataset(const std::string& name) {
  return datasets_.at(name);
}

std::vector<boost::json::object> PlatformSite::lines(const std::string& target) {
  const std::string text = fetch(target).body;
  std::vector<boost::json::object> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    all.push_back(boost::json::parse(text.substr(at, end - at)).as_object());
    at = end + 1;
  }
  return all;
}

std::vector<boost::json::object> PlatformSite::log() {
  return lines("/__log");
}

std::vector<boost::json::object> PlatformSite::file_log() {
  return lines("/__files");
}

}  // namespace quern::support

#include "app/config_reader.h"
#include "io/file.h"

namespace quern::app {
namespace {

// A file with ACCESS:SECRET in it; else the variables that tools of archive.org use.
Result<> interpret_keys(const Reader& read, const Lookup& environment,
                        fileset::NetworkOptions& network) {
  std::string access = environment("IA_ACCESS_KEY").value_or("");
  std::string secret = environment("IA_SECRET_KEY").value_or("");
  if (const std::string& file = read.text("archive-keys"); !file.empty()) {
    TRY_ASSIGN(std::string keys, io::read_file(file, kTokenFileBytesMax));
    while (!keys.empty() && keys.back() <= ' ') keys.pop_back();
    const std::size_t colon = keys.find(':');
    if (colon == keys.npos) {
      return Error{Errc::Invalid, "archive-keys: expected a file with ACCESS:SECRET in it"};
    }
    access = keys.substr(0, colon);
    secret = keys.substr(colon + 1);
  }
  network.items.access_key = network.wayback_options.spn.access_key = access;
  network.items.secret_key = network.wayback_options.spn.secret_key = secret;
  network.wayback_options.cdx_token = environment("CDX_AUTH_TOKEN").value_or("");
  network.github_token = environment("GITHUB_TOKEN").value_or("");
  network.dryad_token = environment("DRYAD_TOKEN").value_or("");
  return {};
}

}  // namespace

Result<> interpret_datasets(const Reader& read, const Lookup& environment, Config& config) {
  fileset::NetworkOptions& network = config.network;
  network.user_agent = config.crawl.user_agent;
  network.allow_private = config.crawl.allow_private;
  network.connect_to = config.crawl.connect_to;
  network.ca_file = config.crawl.ca_file;
  TRY_ASSIGN(network.bases, parse_mapping("platform-bases", config.chosen.at("platform-bases"),
                                          "https://api.figshare.com=http://127.0.0.1:8081"));
  TRY_ASSIGN(const std::size_t backend, read.choice("dataset-backend", {"own", "wayback"}));
  network.wayback = backend == 1;
  network.wayback_options.cdx = read.text("wayback-cdx");
  network.wayback_options.replay = read.text("wayback-replay");
  network.wayback_options.spn.save = read.text("wayback-save");
  TRY_ASSIGN(network.wayback_options.spn_on, read.on_or_off("wayback-spn"));
  network.items.s3 = read.text("archive-s3");
  network.items.base = read.text("archive-base");
  TRY(interpret_keys(read, environment, network));
  fileset::ServiceOptions& filesets = config.filesets;
  filesets.topic_prefix = read.text("topic-prefix");
  TRY_ASSIGN(filesets.at_once, read.number("dataset-at-once", 1, 200));
  TRY_ASSIGN(filesets.defaults.files_max, read.number("dataset-files-max", 1, 1'000'000));
  TRY_ASSIGN(filesets.defaults.bytes_max,
             read.number("dataset-bytes-max", 1, std::int64_t{1} << 50));
  return {};
}

}  // namespace quern::app

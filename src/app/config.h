// Config: what the program was told, and by whom. A flag wins over the environment (QUERN_…), that
// over the file (--config, or `quern.conf` in the data folder), that over the default.
//
// One table of settings drives all four, --help, --print-config and the file's grammar:
//     # a comment
//     listen = 127.0.0.1:9000
// An unknown name, or a value out of range, is an error that names its source.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "blob/url.h"
#include "crawl/service.h"
#include "fileset/network.h"
#include "fileset/service.h"
#include "net/endpoint.h"
#include "queue/engine.h"
#include "queue/http_processor.h"
#include "research/curator.h"
#include "research/service.h"
#include "search/service.h"
#include "step/options.h"
#include "store/url.h"
#include "store/writer.h"

namespace quern::app {

struct Setting {
  std::string name;        // the flag without dashes; QUERN_NAME in the environment
  std::string value_name;  // empty: a switch, on or off
  std::string default_text;
  std::string help;
};

// Every setting, in the order in which people are shown them.
const std::vector<Setting>& settings();
std::string environment_name(const Setting& setting);

enum class Source { Default, File, Environment, Flag };
std::string_view to_string(Source source);

struct Chosen {
  std::string text;
  Source source = Source::Default;
};

// Which workers this machine starts by itself.
struct LocalSteps {
  bool on_demand = true;               // auto; otherwise only these, and detection
  std::map<model::StepId, int> fixed;  // always so many
};

struct Config {
  std::map<std::string, Chosen> chosen;  // by setting

  std::filesystem::path data;
  store::DatabaseUrl database{store::StoreKind::Sqlite, ""};
  std::optional<net::Endpoint> server;  // --server: be a client
  std::string authorization;            // of its requests, by --token
  net::Endpoint listen;
  bool insecure = false;
  bool ask_everybody = false;
  bool migrate = true;
  std::int64_t grace_ms = 10'000;
  std::int64_t owner_wait_ms = 30'000;
  store::WriterOptions writer;
  queue::EngineOptions engine;
  queue::HttpProcessorOptions handlers;
  blob::BlobUrl blobs;
  step::PipelineOptions pipeline;
  search::ServiceOptions search;
  crawl::ServiceOptions crawl;
  fileset::ServiceOptions filesets;
  fileset::NetworkOptions network;  // of datasets
  research::CuratorOptions curator;
  research::ServiceOptions research;
  std::int64_t local_researchers = 1;
  LocalSteps steps;
  std::filesystem::path steps_program;  // empty: quern-steps beside this program, or in PATH
  std::int64_t shards = 1;              // of a new import
  std::int64_t free_bytes_min = std::int64_t{1} << 30;
  LogLevel log_level = LogLevel::Info;
  LogFormat log_format = LogFormat::Human;

  // Where a SQLite folder's owner is found by other commands.
  std::filesystem::path socket_path() const { return data / "quern.sock"; }
};

using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// `flag` and `environment` find a value by the setting's or the variable's name.
Result<Config> load_config(const Lookup& flag, const Lookup& environment);

// As the file would say it, with the source of each value behind it.
std::string describe(const Config& config);
std::string describe_json(const Config& config);

}  // namespace quern::app

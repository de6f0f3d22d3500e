#include "app/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "access/token.h"
#include "app/config_reader.h"
#include "io/file.h"
#include "net/http.h"
#include "tree/job.h"

namespace quern::app {
namespace {

constexpr std::size_t kConfigBytesMax = 64 * 1024;
constexpr std::string_view kConfigFile = "quern.conf";
constexpr int kLocalWorkersMax = 256;

std::string default_lanes() {
  return std::to_string(std::max(1U, std::thread::hardware_concurrency() / 2));
}

// "XDG_DATA_HOME/quern", else "HOME/.local/share/quern".
Result<std::string> default_data(const Lookup& environment) {
  const auto data_home = environment("XDG_DATA_HOME");
  if (data_home && !data_home->empty()) return *data_home + "/quern";
  const auto home = environment("HOME");
  if (home && !home->empty()) return *home + "/.local/share/quern";
  return Error{Errc::Invalid, "neither HOME nor XDG_DATA_HOME is set: say --data FOLDER"};
}

Result<std::map<std::string, std::string>> parse_file(const std::string& text,
                                                      const std::string& path) {
  std::map<std::string, std::string> values;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = net::trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    const std::string name(net::trimmed(line.substr(0, equals)));
    const bool known = std::any_of(settings().begin(), settings().end(),
                                   [&](const Setting& s) { return s.name == name; });
    if (equals == std::string_view::npos || !known || name == "config") {
      return Error{
          Errc::Invalid,
          fmt::format("{}:{}: expected NAME = VALUE with a name that 'quern --print-config' "
                      "shows, got '{}'",
                      path, number, line)};
    }
    values[name] = net::trimmed(line.substr(equals + 1));
  }
  return values;
}

Result<std::map<std::string, std::string>> load_file(const Lookup& flag, const Lookup& environment,
                                                     const std::string& data) {
  std::optional<std::string> named = flag("config");
  if (!named) named = environment("QUERN_CONFIG");
  const std::string path = named ? *named : data + "/" + std::string(kConfigFile);
  const Result<std::string> text = io::read_file(path, kConfigBytesMax);
  if (text.ok()) return parse_file(*text, path);
  // Nobody promised a file in the data folder.
  if (!named && text.error().kind() == Errc::Missing) return std::map<std::string, std::string>();
  return text.error();
}

Result<std::map<std::string, Chosen>> choose(const Lookup& flag, const Lookup& environment) {
  std::map<std::string, Chosen> chosen;
  const auto told = [&](const Setting& setting) -> std::optional<Chosen> {
    if (const auto value = flag(setting.name)) return Chosen{*value, Source::Flag};
    if (const auto value = environment(environment_name(setting))) {
      return Chosen{*value, Source::Environment};
    }
    return std::nullopt;
  };
  // The folder comes first: it is where the file is looked for, so the file cannot move it.
  const Setting& data = settings().front();
  if (const auto value = told(data)) {
    chosen["data"] = *value;
  } else {
    TRY_ASSIGN(chosen["data"].text, default_data(environment));
  }
  TRY_ASSIGN(const auto file, load_file(flag, environment, chosen["data"].text));
  if (file.contains("data")) {
    return Error{Errc::Invalid, "the configuration file cannot set data: say --data or QUERN_DATA"};
  }
  for (const Setting& setting : settings()) {
    if (setting.name == "data") continue;
    const auto from_file = file.find(setting.name);
    if (const auto value = told(setting)) {
      chosen[setting.name] = *value;
    } else if (from_file != file.end()) {
      chosen[setting.name] = {from_file->second, Source::File};
    } else {
      chosen[setting.name] = {setting.default_text, Source::Default};
    }
  }
  return chosen;
}

Result<net::Endpoint> parse_server(const std::string& text) {
  std::string_view address = text;
  if (address.starts_with("http://")) address.remove_prefix(7);
  while (!address.empty() && address.back() == '/' && !address.starts_with("unix:")) {
    address.remove_suffix(1);
  }
  return net::Endpoint::parse(address);
}

Result<> interpret_writer(const Reader& read, Config& config) {
  TRY_ASSIGN(const std::int64_t lanes, read.number("writer-lanes", 1, 64));
  TRY_ASSIGN(const std::int64_t queue, read.number("writer-queue", 1, 1'000'000));
  TRY_ASSIGN(const std::int64_t batch, read.number("batch-ops-max", 1, 10'000));
  config.writer.lanes = static_cast<int>(lanes);
  config.writer.queue_ops_max = static_cast<std::size_t>(queue);
  config.writer.batch_ops_max = static_cast<std::size_t>(batch);
  return {};
}

Result<> interpret_engine(const Reader& read, Config& config) {
  TRY_ASSIGN(const std::int64_t lease, read.number("lease", 1, 3600));
  TRY_ASSIGN(config.engine.scan_ms, read.number("scan", 10, 60'000));
  TRY_ASSIGN(config.engine.held_max, read.number("held-max", 1, 100'000));
  TRY_ASSIGN(config.engine.in_flight_max, read.number("in-flight-max", 1, 100'000));
  TRY_ASSIGN(config.engine.in_flight_per_handler_max,
             read.number("in-flight-per-handler", 1, 100'000));
  TRY_ASSIGN(const std::int64_t answer, read.number("handler-timeout", 1, 86'400));
  config.engine.lease_ms = lease * 1000;
  config.handlers.answer_ms = answer * 1000;
  return {};
}

// "auto", "none", or "Text=2,Archive=1".
Result<LocalSteps> parse_steps(const Chosen& chosen) {
  LocalSteps steps;
  if (chosen.text == "auto") return steps;
  steps.on_demand = false;
  if (chosen.text == "none") return steps;
  const Error wrong = bad_value("steps", chosen, "auto, none, or a list such as Text=2,Archive=1");
  std::string_view rest = chosen.text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    const auto step = model::parse_step(one.substr(0, equals));
    int count = 0;
    if (!step || equals == one.npos) return wrong;
    const std::string_view number = one.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc{} || end != number.data() + number.size()) return wrong;
    if (count < 0 || count > kLocalWorkersMax) return wrong;
    steps.fixed[*step] = count;
  }
  return steps;
}

Result<> interpret_pipeline(const Reader& read, Config& config) {
  const std::string& url = read.text("blobs");
  config.blobs = blob::BlobUrl::of_folder(config.data / "blobs");
  if (!url.empty()) {
    TRY_ASSIGN(config.blobs, blob::BlobUrl::parse(url));
  }
  TRY_ASSIGN(config.steps, parse_steps(config.chosen.at("steps")));
  config.steps_program = read.text("steps-program");
  // Whoever starts no workers of its own expects others to come.
  config.pipeline.waits_for_workers = !config.steps.on_demand;
  TRY_ASSIGN(config.pipeline.poll_hold_ms, read.number("poll-hold", 1, 60'000));
  TRY_ASSIGN(config.pipeline.task_idle_ms, read.number("task-idle", 10, 86'400'000));
  TRY_ASSIGN(config.pipeline.limits.depth_max, read.number("depth-max", 1, 1000));
  TRY_ASSIGN(config.pipeline.limits.members_max, read.number("members-max", 1, 99'999'999));
  TRY_ASSIGN(config.pipeline.limits.files_per_root_max,
             read.number("files-per-root-max", 1, 1'000'000'000));
  TRY_ASSIGN(config.pipeline.limits.bytes_per_root_max,
             read.number("bytes-per-root-max", 1, std::int64_t{1} << 60));
  TRY_ASSIGN(config.pipeline.limits.rendering_bytes_max,
             read.number("rendering-max", 1, std::int64_t{1} << 40));
  TRY_ASSIGN(config.pipeline.limits.renderings_wanted_max,
             read.number("renderings-max", 1, 1'000'000));
  TRY_ASSIGN(config.shards, read.number("shards", 1, tree::kShardsMax));
  // A SQLite folder has one owner: there is nobody to share with.
  if (config.database.kind == store::StoreKind::Sqlite) config.shards = 1;
  TRY_ASSIGN(const std::int64_t free_mib, read.number("free-min", 0, 1 << 30));
  config.free_bytes_min = free_mib * 1024 * 1024;
  return {};
}

Result<> interpret_search(const Reader& read, Config& config) {
  search::ServiceOptions& search = config.search;
  TRY_ASSIGN(search.catalog.local, read.on_or_off("search-here"));
  TRY_ASSIGN(search.watch.settle_ms, read.number("search-settle", 1, 86'400'000));
  TRY_ASSIGN(search.watch.delay_ms_max, read.number("search-delay", 1, 86'400'000));
  TRY_ASSIGN(const std::int64_t copies, read.number("search-copies", 1, 100));
  search.orchestrator.copies = static_cast<std::size_t>(copies);
  TRY_ASSIGN(const std::int64_t merged, read.number("search-merge", 2, 100));
  search.packing.merge_fan_in = static_cast<std::size_t>(merged);
  return {};
}

Result<> interpret_crawl(const Reader& read, Config& config) {
  crawl::ServiceOptions& crawl = config.crawl;
  const std::string& contact = read.text("contact");
  const auto odd = [](unsigned char c) { return c < 0x20 || c >= 0x7f || c == '(' || c == ')'; };
  if (contact.size() > 200 || std::any_of(contact.begin(), contact.end(), odd)) {
    return bad_value("contact", config.chosen.at("contact"),
                     "an address in plain letters, without brackets");
  }
  crawl.user_agent = fmt::format("quern/0.1 (+{})", contact.empty() ? "no contact set" : contact);
  crawl.allow_private = read.text("allow-private");
  const auto allowed = web::AllowedHosts::parse(crawl.allow_private);
  if (!allowed.ok()) {
    return bad_value("allow-private", config.chosen.at("allow-private"), allowed.error().message());
  }
  TRY_ASSIGN(crawl.connect_to,
             parse_mapping("connect-to", config.chosen.at("connect-to"), "*=127.0.0.1:8081"));
  crawl.ca_file = read.text("ca-file");
  crawl.shards = config.shards;
  return {};
}

Result<> interpret_addresses(const Reader& read, Config& config) {
  const std::string& url = read.text("db");
  TRY_ASSIGN(config.database,
             store::DatabaseUrl::parse(url.empty() ? "sqlite:" + (config.data / "quern.db").string()
                                                   : url));
  TRY_ASSIGN(config.listen, net::Endpoint::parse(read.text("listen")));
  if (!read.text("server").empty()) {
    TRY_ASSIGN(config.server, parse_server(read.text("server")));
  }
  TRY_ASSIGN(config.insecure, read.on_or_off("insecure"));
  TRY_ASSIGN(config.ask_everybody, read.on_or_off("ask-everybody"));
  if (config.insecure && config.ask_everybody) {
    return Error{Errc::Invalid,
                 "--insecure asks nobody, --ask-everybody everybody: say one of them"};
  }
  return {};
}

bool is_secret(std::string_view text) {
  return text.starts_with(access::kSecretPrefix);
}

// A file, or in the environment the secret itself. Read only where it is needed: a client that has
// no token must be able to ask for help.
Result<> interpret_token(const Reader& read, Config& config) {
  const Chosen& chosen = config.chosen.at("token");
  std::string secret = read.text("token");
  if (secret.empty() || !config.server) return {};
  if (is_secret(secret) && chosen.source == Source::Flag) {
    return Error{Errc::Invalid,
                 "--token takes a file: whoever lists the processes would see the token itself"};
  }
  if (!is_secret(secret)) {
    TRY_ASSIGN(secret, io::read_file(secret, kTokenFileBytesMax));
    while (!secret.empty() && secret.back() <= ' ') secret.pop_back();
  }
  const bool plain = std::all_of(secret.begin(), secret.end(),
                                 [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (secret.empty() || secret.size() > access::kSecretBytesMax || !plain) {
    return Error{Errc::Invalid, "token: expected a file with one token in it, and nothing else"};
  }
  config.authorization = "Bearer " + secret;
  return {};
}

// As people may see it.
std::string shown(const Config& config, const Setting& setting) {
  const std::string& text = config.chosen.at(setting.name).text;
  if (setting.name == "db") return config.database.redacted();
  if (setting.name == "token" && is_secret(text)) return std::string(access::kSecretPrefix) + "…";
  return text;
}

}  // namespace

// long: one table.
const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"data", "FOLDER", "", "data folder; default: quern in your data home"},
      {"config", "FILE", "", "configuration file; default: quern.conf in the data folder"},
      {"db", "URL", "", "sqlite:PATH or postgres://…; default: SQLite in the data folder"},
      {"server", "URL", "", "be a client of this server, e.g. http://127.0.0.1:8080"},
      {"token", "FILE", "",
       "holds the token for that server; the variable may be the token itself"},
      {"listen", "HOST:PORT", "127.0.0.1:8080", "where 'serve' listens; port 0: any free one"},
      {"ask-everybody", "", "off", "ask also this machine's programs and browsers for a token"},
      {"insecure", "", "off", "ask nobody for a token, wherever they come from"},
      {"no-migrate", "", "off", "refuse a store whose schema is older, instead of migrating it"},
      {"grace", "SECONDS", "10", "how long requests may finish after SIGTERM"},
      {"owner-wait", "SECONDS", "30", "how long to wait for a data folder that is in use"},
      {"writer-lanes", "N", default_lanes(), "connections that write to PostgreSQL"},
      {"writer-queue", "N", "4096", "operations that may wait for one of them"},
      {"batch-ops-max", "N", "512", "operations in one commit"},
      {"lease", "SECONDS", "15", "how long a silent server keeps its partitions"},
      {"scan", "MS", "1000", "how often a server looks for partitions that are free"},
      {"held-max", "N", "10000", "partitions that a server holds at once"},
      {"in-flight-max", "N", "4096", "items that a server works on at once"},
      {"in-flight-per-handler", "N", "64", "of those, how many for one handler"},
      {"handler-timeout", "SECONDS", "60", "how long a handler may take to answer"},
      {"blobs", "URL", "", "file:PATH or s3://BUCKET/…; default: blobs in the data folder"},
      {"steps", "LIST", "auto", "workers started here: auto, none, or NAME=N,…"},
      {"steps-program", "FILE", "", "the worker program; default: quern-steps beside this one"},
      {"poll-hold", "MS", "15000", "how long a worker's question is held while nothing waits"},
      {"task-idle", "MS", "15000", "how long a worker may be silent before its task is lent again"},
      {"depth-max", "N", "32", "generations below a root file"},
      {"members-max", "N", "1000000", "members of one archive"},
      {"files-per-root-max", "N", "10000000", "files below one root"},
      {"bytes-per-root-max", "BYTES", "1099511627776", "what one root may expand to"},
      {"rendering-max", "BYTES", "268435456", "the PDF of a web page"},
      {"renderings-max", "N", "1000", "web pages whose PDFs may be wanted at once"},
      {"shards", "N", "8", "parts of an import that servers on PostgreSQL share"},
      {"search-settle", "MS", "2000", "how long a collection is quiet before it is packed"},
      {"search-delay", "MS", "3000", "how long at most documents wait for that"},
      {"search-copies", "N", "2", "searchers that hold each segment, where there are so many"},
      {"search-merge", "N", "8", "segments of about one size that become one"},
      {"search-here", "on|off", "on",
       "open the segments in this process too, not only in searchers"},
      {"contact", "ADDRESS", "", "who runs this, for the sites that are crawled: a URL or mail"},
      {"allow-private", "HOSTS", "", "hosts whose private addresses may be asked, for all crawls"},
      {"connect-to", "LIST", "", "HOST=ADDRESS:PORT,… for tests and mirrors; * is every host"},
      {"ca-file", "FILE", "", "certificates to trust when crawling; default: the system's"},
      {"dataset-backend", "own|wayback", "own", "where captures of datasets are kept"},
      {"dataset-at-once", "N", "6", "files of datasets that are fetched at once"},
      {"dataset-files-max", "N", "200", "files of one dataset"},
      {"dataset-bytes-max", "BYTES", "68719476736", "bytes of one dataset"},
      {"platform-bases", "LIST", "", "URL=URL,… for tests and mirrors of platforms' interfaces"},
      {"topic-prefix", "TEXT", "sandcrawler-dev.", "how names of topics begin"},
      {"archive-keys", "FILE", "", "ACCESS:SECRET of archive.org; or IA_ACCESS_KEY, IA_SECRET_KEY"},
      {"archive-s3", "URL", "https://s3.us.archive.org", "where items are uploaded to"},
      {"archive-base", "URL", "https://archive.org", "where items are looked up"},
      {"wayback-cdx", "URL", "https://web.archive.org/cdx/search/cdx", "index of captures"},
      {"wayback-replay", "URL", "https://web.archive.org/web/", "captures themselves"},
      {"wayback-save", "URL", "https://web.archive.org/save", "where captures are asked for"},
      {"wayback-spn", "on|off", "on", "whether captures are asked for at all"},
      {"feed-check", "SECONDS", "3600",
       "how often feeds of episodes and clips are looked at again"},
      {"curate-at-once", "N", "4", "episodes and clips that are fetched at once"},
      {"curate-gap", "MS", "1000", "pause between two requests to one host for them"},
      {"media-bytes-max", "BYTES", "8589934592", "bytes of one episode or clip"},
      {"local-research", "N", "1", "researchers started here while clips are to be looked for"},
      {"research-clips", "N", "100", "clips that are looked for in an episode at once"},
      {"research-lease", "MS", "600000", "how long a silent researcher keeps what it has leased"},
      {"research-offer", "MS", "480000", "how long a lease waits for a researcher"},
      {"free-min", "MIB", "1024", "free space that uploads leave (or 2 % of the disk, if less)"},
      {"log", "FORMAT", "human", "human or json"},
      {"log-level", "LEVEL", "info", "debug, info, warn, error or off"},
  };
  return all;
}

std::string environment_name(const Setting& setting) {
  std::string name = "QUERN_";
  for (const char c : setting.name) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::string_view to_string(Source source) {
  constexpr std::string_view kNames[] = {"default", "file", "environment", "flag"};
  return kNames[static_cast<int>(source)];
}

Result<Config> load_config(const Lookup& flag, const Lookup& environment) {
  Config config;
  TRY_ASSIGN(config.chosen, choose(flag, environment));
  const Reader read(config.chosen);
  config.data = read.text("data");
  if (config.data.empty()) return bad_value("data", config.chosen["data"], "a folder");
  TRY(interpret_addresses(read, config));
  TRY(interpret_token(read, config));
  TRY(interpret_writer(read, config));
  TRY(interpret_engine(read, config));
  TRY(interpret_pipeline(read, config));
  TRY(interpret_search(read, config));
  TRY(interpret_crawl(read, config));
  TRY(interpret_datasets(read, environment, config));
  TRY(interpret_research(read, config));
  TRY(interpret_researchers(read, config));
  TRY_ASSIGN(const bool no_migrate, read.on_or_off("no-migrate"));
  config.migrate = !no_migrate;
  TRY_ASSIGN(const std::int64_t grace, read.number("grace", 0, 3600));
  config.grace_ms = grace * 1000;
  TRY_ASSIGN(const std::int64_t owner_wait, read.number("owner-wait", 0, 86'400));
  config.owner_wait_ms = owner_wait * 1000;
  TRY_ASSIGN(const std::size_t format, read.choice("log", {"human", "json"}));
  config.log_format = static_cast<LogFormat>(format);
  TRY_ASSIGN(const std::size_t level,
             read.choice("log-level", {"debug", "info", "warn", "error", "off"}));
  config.log_level = static_cast<LogLevel>(level);
  return config;
}

std::string describe(const Config& config) {
  std::string text;
  for (const Setting& setting : settings()) {
    const Chosen& chosen = config.chosen.at(setting.name);
    text += fmt::format("{:<21} = {:<40} # {}\n", setting.name, shown(config, setting),
                        to_string(chosen.source));
  }
  return text;
}

std::string describe_json(const Config& config) {
  boost::json::object all;
  for (const Setting& setting : settings()) {
    const Chosen& chosen = config.chosen.at(setting.name);
    all[setting.name] = {{"value", shown(config, setting)}, {"source", to_string(chosen.source)}};
  }
  return boost::json::serialize(all) + "\n";
}

}  // namespace quern::app

#include "fileset/network.h"

#include "io/file.h"

namespace quern::fileset {

Result<std::unique_ptr<Network>> Network::open(Parts parts, NetworkOptions options) {
  std::unique_ptr<Network> network(new Network(std::move(parts), std::move(options)));
  const NetworkOptions& wanted = network->options_;
  const std::filesystem::path& data = network->parts_.data;
  const std::filesystem::path spool = data / "spool";
  const std::filesystem::path warcs = data / "warcs";
  const std::filesystem::path scratch = data / "datasets" / "scratch";
  TRY(io::make_folders_durably(spool));
  TRY(io::make_folders_durably(warcs));
  TRY(io::make_folders_durably(scratch));
  web::FetcherOptions fetching;
  fetching.user_agent = wanted.user_agent;
  fetching.spool = spool;
  fetching.connect_to = wanted.connect_to;
  fetching.ca_file = wanted.ca_file;
  TRY_ASSIGN(network->fetcher_, web::Fetcher::open(std::move(fetching)));
  NetOutsideOptions reaching;
  TRY_ASSIGN(reaching.allowed, web::AllowedHosts::parse(wanted.allow_private));
  reaching.bases = wanted.bases;
  network->outside_ = std::make_unique<NetOutside>(
      NetOutsideParts{network->parts_.loop, *network->fetcher_, network->parts_.pool},
      std::move(reaching));
  network->options_.wayback_options.scratch = scratch;
  std::shared_ptr<web::Archives>& archives = network->parts_.archives;
  if (!archives) {
    archives = std::make_shared<web::Archives>(web::Archives::Options{warcs, "quern"});
  }
  return network;
}

Network::~Network() {
  close();
}

void Network::close() {
  if (outside_) outside_->close();
  if (fetcher_) fetcher_->cancel_all();
}

std::shared_ptr<const Platforms> Network::platforms_of(bool strict) {
  std::shared_ptr<const Platforms>& kept = platforms_[strict];
  if (!kept) {
    PlatformOptions wanted;
    wanted.strict = strict;
    wanted.github_token = options_.github_token;
    wanted.dryad_token = options_.dryad_token;
    kept = std::make_shared<const Platforms>(platforms(wanted));
  }
  return kept;
}

Tools Network::tools(const ToolOrder& order) {
  const Compat compat = order.strict ? Compat::Strict : Compat::Default;
  Tools tools;
  tools.platforms = platforms_of(order.strict);
  if (options_.wayback) {
    WaybackOptions wanted = options_.wayback_options;
    wanted.compat = compat;
    tools.web =
        std::make_shared<Wayback>(parts_.loop, parts_.pool, order.outside, std::move(wanted));
  } else {
    OwnArchiveParts own{.loop = parts_.loop,
                        .pool = parts_.pool,
                        .outside = order.outside,
                        .archive = parts_.archives->of(order.archive),
                        .note = {},
                        .find = {}};
    // Noted with all else that a step has found, in one transaction.
    own.note = [records = order.records](OwnRecord record) -> net::Task<Result<>> {
      records->push_back(std::move(record));
      co_return Result<>();
    };
    tools.web = std::make_shared<OwnArchive>(std::move(own));
  }
  if (!options_.items.access_key.empty()) {
    ItemUploadOptions wanted = options_.items;
    wanted.compat = compat;
    tools.items =
        std::make_shared<ItemUpload>(parts_.loop, parts_.pool, order.outside, std::move(wanted));
  }
  return tools;
}

}  // namespace quern::fileset

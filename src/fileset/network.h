// Network: the tools of datasets as they are: the net outside, our own archive or the Wayback
// Machine, items of archive.org, all platforms.
//
// Threads: the loop's. Lifetime: close() before its parts go; whoever uses a tool ends before it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "fileset/item_upload.h"
#include "fileset/net_outside.h"
#include "fileset/own_archive.h"
#include "fileset/processor.h"
#include "fileset/wayback.h"
#include "web/archives.h"
#include "web/fetcher.h"

namespace quern::fileset {

struct NetworkOptions {
  std::string user_agent = "quern/0.1";
  std::string allow_private;  // hosts that may be on this network
  std::map<std::string, std::string> connect_to;
  std::string ca_file;
  std::map<std::string, std::string> bases;  // what begins with the first is asked of the second
  bool wayback = false;                      // captures are the Wayback Machine's, not our own
  WaybackOptions wayback_options;
  ItemUploadOptions items;  // without keys there are none
  std::string github_token;
  std::string dryad_token;
};

class Network {
 public:
  struct Parts {
    net::Loop& loop;
    io::Pool& pool;
    std::filesystem::path data;
    std::shared_ptr<web::Archives> archives = {};  // none: its own, in data / "warcs"
  };
  static Result<std::unique_ptr<Network>> open(Parts parts, NetworkOptions options);
  ~Network();

  Outside& outside() { return *outside_; }
  Tools tools(const ToolOrder& order);
  // What is under way ends soon.
  void close();

 private:
  Network(Parts parts, NetworkOptions options)
      : parts_(std::move(parts)), options_(std::move(options)) {}
  std::shared_ptr<const Platforms> platforms_of(bool strict);

  Parts parts_;
  NetworkOptions options_;
  std::unique_ptr<web::Fetcher> fetcher_;
  std::unique_ptr<NetOutside> outside_;
  std::map<bool, std::shared_ptr<const Platforms>> platforms_;  // by strictness
};

}  // namespace quern::fileset

// Resolving: from a request to what there is to be kept.
//
//   blocklists -> landing page -> what it says of the work -> platform -> limits -> strategy
//   -> what is kept already
//
// It asks others and writes nothing; what it found is written by whoever called. On the loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fileset/platform.h"
#include "fileset/request_row.h"

namespace quern::fileset {

using Platforms = std::vector<std::unique_ptr<Platform>>;

// What one request is done with.
struct Tools {
  std::shared_ptr<WebArchive> web;
  std::shared_ptr<ItemArchive> items;  // null: there is no account
  std::shared_ptr<const Platforms> platforms;
};

struct Resolution {
  std::string status;  // empty: there is something to keep
  std::string message;
  bool passing = false;
  Landed landed;
  std::optional<PlatformItem> item;
  std::string strategy;
  std::vector<bool> exists;  // of the manifest, in order; empty: none
};

// What it refers to outlives it.
net::Task<Resolution> resolve(const RequestRow& row, const Tools& tools, Outside& outside,
                              StrategyLimits limits);

}  // namespace quern::fileset

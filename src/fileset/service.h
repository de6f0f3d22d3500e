// Service: datasets, on one server. It begins requests, and wires the processor of their partitions
// with what it is given.
//
// Threads: the loop's. Lifetime: stop() before its parts go.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "fileset/processor.h"
#include "queue/engine.h"

namespace quern::fileset {

// Parts of files that failed or were canceled stay so long, for a retry.
inline constexpr std::int64_t kPartsKeptUs = 7LL * 24 * 3600 * 1'000'000;
inline constexpr std::int64_t kClearMs = 3600 * 1000;  // how often those of before are looked for

struct ServiceParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  std::filesystem::path data;
  std::function<TypeDecision(const std::string& type)> decide;
  std::function<Result<tree::Job>(const tree::NewJob&)> open_job;  // blocks
  std::function<void(tree::JobId)> poke_job;
  std::function<void(queue::PartitionId)> poke;
  std::function<void(std::string_view, boost::json::object)> publish;
};

struct ServiceOptions {
  RequestOptions defaults;
  StrategyLimits limits;
  std::string topic_prefix = "sandcrawler-dev.";
  std::int64_t at_once = 6;
  std::int64_t tries_max = 3;
};

// How the world outside is reached, and where things are kept.
struct Backends {
  Outside& outside;
  std::function<Tools(const ToolOrder&)> tools;
  std::function<void()> cancel;  // what is under way ends soon
};

struct DatasetOrder {
  std::string collection;
  Request request;
  RequestOptions options;
  std::optional<tree::JobId> retry_of;
  std::string key;  // asked for again with it, it is the same job, for ever; empty: while that runs
};

class Service {
 public:
  Service(ServiceParts parts, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // For a server that works; the others only show what there is.
  Result<> add_processors(queue::Processors& processors, Backends backends);
  void stop();

  // Begins a request, or finds the one that runs just so.
  net::Task<Result<tree::Job>> begin(DatasetOrder order);
  // Does again what failed of a request that has ended: a job of its own, which takes over what is
  // kept; the last one's where that has got everything. Conflict where it has not ended.
  net::Task<Result<tree::Job>> retry(tree::JobId job);

  const ServiceOptions& options() const { return options_; }
  // Ends what is under way here of a request that is being deleted, and removes its parts.
  net::Task<Result<>> forget(tree::JobId job);
  // Of part files.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  Result<> clear_folders();  // blocks

  ServiceParts parts_;
  ServiceOptions options_;
  std::filesystem::path folder_;
  std::function<void()> cancel_outside_;
  net::Instant next_clear_{};
  std::shared_ptr<FilesetProcessor> processor_;
};

}  // namespace quern::fileset

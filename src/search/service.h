// Service: everything of search that a node runs: packer, watch, orchestrator, and what answers.
//
// A node that only looks (no engine) answers from what is published; one that works also packs.
// Threads: the loop's. Lifetime: stop() before its parts end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/event.h"
#include "queue/engine.h"
#include "search/catalog.h"
#include "search/change_watch.h"
#include "search/finder.h"
#include "search/orchestrator.h"
#include "search/packer.h"

namespace quern::search {

struct ServiceOptions {
  CatalogOptions catalog;
  ChangeWatchOptions watch;
  PackingOptions packing;
  OrchestratorOptions orchestrator;
  FinderOptions finder;
};

class Service {
 public:
  struct Parts {
    net::Loop& loop;
    store::Writer& writer;
    store::Readers& readers;
    blob::BlobStore& blobs;
    std::filesystem::path folder;  // for packs
    PackFolder::Owner owner = PackFolder::Owner::Only;
    std::function<void(queue::PartitionId)> poke;  // something was put into a partition
    std::function<void()> poke_timers;
    std::function<void(const std::string& collection, const PackReport& report)> published;
  };
  static Result<std::unique_ptr<Service>> open(Parts parts, ServiceOptions options);
  ~Service();

  // For a node that works: its queues, then begin.
  void add_processors(queue::Processors& processors);
  void start();
  // What is being packed ends soon; its message is taken up by the next owner.
  void stop_soon();
  net::Task<> stop();
  // Whether it packs.
  bool works() const { return watch_ != nullptr; }

  Finder& finder() { return *finder_; }
  Catalog& catalog() { return *catalog_; }
  // Documents came or went.
  void documents_changed();
  // All documents of these jobs are not to be found from now on.
  void jobs_deleted(const std::vector<tree::JobId>& jobs);
  // Posts packs of what has changed (in these collections; empty: in all) and waits until what had
  // changed before this call is published; false where that took too long or nobody packs.
  net::Task<Result<bool>> pack_changes(std::vector<std::string> collections, net::Instant deadline);

 private:
  explicit Service(Parts parts, ServiceOptions options);

  Parts parts_;
  const ServiceOptions options_;
  std::unique_ptr<PackFolder> folder_;
  std::unique_ptr<PackSource> source_;
  std::shared_ptr<Packer> packer_;
  std::shared_ptr<Orchestrator> orchestrator_;
  std::unique_ptr<ChangeWatch> watch_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Finder> finder_;
  net::Event published_;
  io::Pool pool_{{.threads = 1, .queue_max = 256}};  // posts, which blocks
};

}  // namespace quern::search

// Catalog: what can be searched at this moment, from this process: which segments make up each
// collection, opened here or held by a searcher.
//
// Guarantee: a collection is searched at one version, with all its segments and their masks. The
// version before stays until everything of the new one is at hand.
//
// Threads: the loop's, except poke(). Lifetime: stop() before its parts end.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/pool.h"
#include "net/event.h"
#include "net/loop.h"
#include "search/pack_source.h"
#include "search/registration.h"

namespace quern::search {

struct ServedSegment {
  Segment segment;
  std::shared_ptr<const Pack> pack;  // null: it is not opened here
  std::shared_ptr<const Mask> mask;
  std::vector<std::string> addresses;  // of searchers that hold it
};

struct ServedCollection {
  tree::CollectionId id;
  std::string name;
  std::int64_t version = 0;
  std::vector<ServedSegment> segments;
};

struct Snapshot {
  std::vector<ServedCollection> collections;  // by name
  std::vector<std::int64_t> hidden_jobs;
  std::map<std::string, std::string> loading;  // not at hand at any version yet, and why, by name
  bool whole = true;                           // every collection is at its newest version
};

struct CatalogOptions {
  bool local = true;            // open segments here, too
  std::int64_t fresh_ms = 500;  // a look at the database is good for so long
};

class Catalog {
 public:
  Catalog(net::Loop& loop, store::Readers& readers, PackSource& source, CatalogOptions options);
  ~Catalog();

  // As new as the options say; with `newest`, not older than this call.
  enum class Age { Fresh, Newest };
  net::Task<Result<std::shared_ptr<const Snapshot>>> current(Age age);
  // Jobs that were deleted a moment ago: what is searched from now on does not show them, whatever
  // its version.
  void hide(const std::vector<tree::JobId>& jobs);
  // Something was published. Any thread.
  void poke() { dirty_ = true; }
  void stop() { pool_.stop(); }

 private:
  class Loading;
  struct Shared;
  static net::Task<> refresh(std::shared_ptr<Shared> shared, Catalog* self);
  net::Task<Result<std::shared_ptr<const Snapshot>>> look_for_hidden(
      std::shared_ptr<const Snapshot> snapshot);

  net::Loop& loop_;
  store::Readers& readers_;
  PackSource& source_;
  const CatalogOptions options_;
  std::atomic<bool> dirty_{true};
  std::shared_ptr<Shared> shared_;
  io::Pool pool_{{.threads = 1, .queue_max = 64}};  // opens and fetches
};

}  // namespace quern::search

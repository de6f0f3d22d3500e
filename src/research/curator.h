// Curator: episodes and clips come in, on one server. It begins curations, wires the processor of
// their partitions, and looks at feeds again.
//
// Threads: the loop's. Lifetime: stop() before its parts go.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/event.h"
#include "queue/engine.h"
#include "research/curation_processor.h"

namespace quern::research {

struct CuratorParts {
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
  std::function<void()> changed;  // perhaps there is something to research
};

struct CuratorOptions {
  std::string user_agent = "quern/0.1";
  std::string allow_private;
  std::map<std::string, std::string> connect_to;
  std::string ca_file;
  std::int64_t at_once = 4;
  std::int64_t tries_max = 4;
  std::int64_t gap_ms = 1000;
  std::int64_t media_bytes_max = kMediaBytesMax;
  std::int64_t feed_entries_max = kFeedEntriesMax;
  std::int64_t feed_check_ms = kFeedCheckMs;
};

// A file of the tree that is an episode or clip.
struct FileSource {
  tree::FileId file;
  std::string title, description, aired;
};

struct CurateRequest {
  Kind kind = Kind::Episode;
  std::string collection;
  std::optional<std::int64_t> priority;
  boost::json::object metadata;
  std::vector<Source> sources;
  std::vector<FileSource> files;
  bool recheck = false;
};

struct CurateReply {
  std::optional<tree::Job> job;      // that fetches; none where there is nothing to fetch
  std::vector<CurateOutcome> files;  // as they were given
};

class Curator {
 public:
  Curator(CuratorParts parts, CuratorOptions options);
  ~Curator();
  Curator(const Curator&) = delete;
  Curator& operator=(const Curator&) = delete;

  // For a server that works; the others only show what there is.
  Result<> add_processors(queue::Processors& processors);
  void start();
  net::Task<> stop();

  // Files are curated at once; for all else a job is begun, or the one found that runs just so.
  // Invalid where a file is no sound, Missing where it is not there.
  net::Task<Result<CurateReply>> begin(CurateRequest request);
  // What a canceled job waits for ends now: nobody waits until a site wants to be asked again. Does
  // nothing where the job curates nothing. A server that dies before does it when it starts.
  net::Task<> job_canceled(tree::JobId job);

 private:
  net::Task<Result<tree::Job>> begin_job(std::shared_ptr<const CurateRequest> request);
  net::Task<Result<std::vector<CurateOutcome>>> curate_files(
      std::shared_ptr<const CurateRequest> request);
  static net::Task<> keep_time(Curator* self);
  net::Task<Result<>> wake(tree::JobId job);
  net::Task<Result<>> end_canceled();
  net::Task<Result<>> check_feeds();
  net::Task<Result<>> check(FeedRow feed);
  std::int64_t wait_us() const;

  CuratorParts parts_;
  CuratorOptions options_;
  std::unique_ptr<MediaFetcher> fetcher_;
  std::shared_ptr<CurationProcessor> processor_;
  net::Event changed_;
  bool stopping_ = false;
  int running_ = 0;
};

}  // namespace quern::research

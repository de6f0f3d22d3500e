// CurationProcessor: the processor of curations' partitions. A job has one partition, and passes
// its gates:
//
//   0 sources: feeds page by page, and addresses   1 one item for the media of each episode or clip
//   2 finish
//
// Guarantee: a death at any instant repeats at most what was not durable, and the result is the
// same: what a page offers is curated in pieces that can be curated again; media become a root file
// of the job, and of their episode or clip, in one transaction; a source ends once.
//
// Threads: the loop's; disk on a pool. Lifetime: until the engine has stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "blob/blob.h"
#include "io/pool.h"
#include "net/event.h"
#include "queue/processor.h"
#include "research/curation.h"
#include "research/feed.h"
#include "research/media_fetch.h"
#include "tree/child.h"

namespace quern::research {

inline constexpr std::int64_t kGateSources = 0;
inline constexpr std::int64_t kGateMedia = 1;
inline constexpr std::int64_t kGateFinish = 2;
inline constexpr std::size_t kCuratedAtOnce = 100;  // in one transaction

// Which step takes a type, or why none does.
struct TypeDecision {
  std::string step;
  std::optional<tree::Failure> failure;
};

struct CurationParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  MediaFetcher& fetcher;
  std::function<TypeDecision(const std::string& type)> decide;
  std::int64_t at_once = 4;    // steps under way, of all jobs
  std::int64_t tries_max = 4;  // of what may pass
  std::int64_t media_bytes_max = kMediaBytesMax;
  std::int64_t feed_entries_max = kFeedEntriesMax;  // of all its pages: no further one is read
  std::function<std::int64_t()> feed_wait_us;       // until a feed is looked at again
  // On the loop: something of the job has changed; roots were added, or the job was sealed.
  std::function<void(tree::JobId)> changed;
  std::function<void(tree::JobId)> poke_job;
};

class CurationProcessor final : public queue::Processor,
                                public std::enable_shared_from_this<CurationProcessor> {
 public:
  explicit CurationProcessor(CurationParts parts) : parts_(std::move(parts)), room_(parts_.loop) {}

  void process(queue::Work work, queue::Answered answered) override;
  void cancel() override;

 private:
  struct Step;
  struct Kept;

  static net::Task<> run(std::shared_ptr<CurationProcessor> self, queue::Work work,
                         queue::Answered answered);
  net::Task<Result<queue::Outcome>> work_on(queue::Work work);
  net::Task<Result<queue::Outcome>> take_source(Step& step);
  net::Task<Result<queue::Outcome>> take_page(Step& step, Media media);
  net::Task<Result<queue::Outcome>> take_address(Step& step, Media media);
  net::Task<Result<bool>> curate_piece(Step& step, std::shared_ptr<const Feed> feed,
                                       std::size_t first, std::size_t last);
  net::Task<Result<queue::Outcome>> end_page(Step& step, std::shared_ptr<const Feed> feed,
                                             FeedChecked checked);
  net::Task<Result<queue::Outcome>> fail_source(Step& step, std::string problem);
  net::Task<Result<queue::Outcome>> take_media(Step& step);
  net::Task<Result<Kept>> keep(const Media& media);
  net::Task<Result<queue::Outcome>> store_media(Step& step, std::shared_ptr<Kept> kept);
  net::Task<Result<queue::Outcome>> finish(Step& step);
  Result<std::vector<std::string>> attach(store::Tx& tx, const Curation& job, CuratedId id,
                                          const Kept& kept) const;
  bool may_try_again(const Step& step) const;
  std::optional<queue::Outcome> again(const Step& step, const Media& media) const;

  CurationParts parts_;
  net::Event room_;
  std::int64_t running_ = 0;
  bool stopping_ = false;
};

}  // namespace quern::research

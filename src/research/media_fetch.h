// MediaFetcher: brings what curators name: feeds and sound, over HTTP.
//
// Guarantee: one request after another to a host, with a gap between their beginnings; never more
// than kHopsMax redirects; address rules and limits are web::Fetcher's. A failure says what kind it
// is, and whether it may pass.
//
// Threads: the loop's. Lifetime: close() before the loop ends.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/loop.h"
#include "net/task.h"
#include "web/fetcher.h"

namespace quern::research {

inline constexpr int kHopsMax = 10;
inline constexpr std::size_t kHostsKept = 10'000;
inline constexpr std::int64_t kMediaBytesMax = 8LL << 30;
inline constexpr std::int64_t kMediaTotalMs = 6LL * 3600 * 1000;
inline constexpr std::int64_t kFeedTotalMs = 120'000;
inline constexpr std::int64_t kAskedWaitMsMax =
    3600 * 1000;  // Retry-After; who asks for more gets this

struct MediaFetcherOptions {
  std::string user_agent;
  std::string allow_private;
  std::map<std::string, std::string> connect_to;
  std::string ca_file;
  std::filesystem::path spool;
  std::int64_t gap_ms = 1000;
};

struct MediaOrder {
  std::string url;
  std::int64_t bytes_max = kMediaBytesMax;
  std::int64_t total_ms = kMediaTotalMs;
  std::string etag, last_modified;  // only where it is otherwise
};

struct Media {
  // "": it is here. "not-found", "forbidden", "redirect-loop", "too-large", "address",
  // "unreachable", "server", "status", "broken".
  std::string problem;
  std::string message;  // a sentence
  bool passing = false;
  std::int64_t wait_ms = 0;  // so long the server wants us to stay away
  bool same = false;         // as the order knows it already
  std::string url;           // where it was in the end
  std::string content_type, etag, last_modified;
  web::Body body;
};

class MediaFetcher {
 public:
  static Result<std::unique_ptr<MediaFetcher>> open(net::Loop& loop, MediaFetcherOptions options);
  ~MediaFetcher();

  net::Task<Media> fetch(MediaOrder order);
  // What is under way ends soon, as a failure that may pass.
  void close();

 private:
  MediaFetcher(net::Loop& loop, MediaFetcherOptions options)
      : loop_(loop), options_(std::move(options)) {}
  net::Task<> wait_for_turn(std::string host);
  net::Task<web::Fetched> ask(web::Url url, const MediaOrder& order);

  net::Loop& loop_;
  MediaFetcherOptions options_;
  web::AllowedHosts allowed_;
  std::unique_ptr<web::Fetcher> fetcher_;
  std::map<std::string, net::Instant> free_at_;  // by host
  bool closed_ = false;
};

}  // namespace quern::research

// Fetcher: outbound HTTP with libcurl, for crawls, datasets and research. One thread, any number of
// transfers.
//
// Guarantee: no socket is opened to an address that is not public, unless its host is allowed
// (web/address.h); the address is judged when the socket is made, so a name that changes its mind
// gains nothing. Redirects are not followed: who asked sees them one by one. No proxy, no cookies,
// no netrc, no other protocol than http and https. TLS is verified. Every transfer has limits.
//
// Bodies come as the server sent them, less the transfer coding; decoded (gzip, deflate, br, zstd)
// beside. Up to kBodyInMemory they are in memory, beyond in a nameless file of the spool folder. Or
// they go to a sink, piece by piece and undecoded, which may let the server wait.
//
// Threads: fetch(), cancel_all() and look_again() from any; `done` is called once on the fetcher's
// thread, and must not block. Lifetime: the destructor cancels what is under way, with its
// callbacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/descriptor.h"
#include "io/file.h"
#include "web/address.h"
#include "web/url.h"

namespace quern::web {

inline constexpr std::size_t kBodyInMemory = 256 * 1024;
inline constexpr std::int64_t kBodyBytesMax = 64LL * 1024 * 1024;
// A body beyond its limit is not even begun where its length says so; but where the limit is no
// more than this, its beginning is read, and kept: somebody wants just that (a robots.txt).
inline constexpr std::int64_t kBeginningBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kResponseHeadBytesMax = 256 * 1024;
inline constexpr std::size_t kTransfersMax = 4096;

using HeaderList = std::vector<std::pair<std::string, std::string>>;  // in order, as they came
// The first value of a header, by its name in any case; empty where there is none.
std::string_view find_header(const HeaderList& headers, std::string_view name);

class Body {
 public:
  std::int64_t size() const { return size_; }
  // In pieces of at most 64 KiB.
  Result<> read(const std::function<Result<>(std::string_view)>& take) const;
  // Up to so many bytes from there on; 0 at the end.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const;
  // All of it; TooLarge beyond the limit.
  Result<std::string> whole(std::int64_t bytes_max) const;

 private:
  friend class BodyWriter;
  std::shared_ptr<const std::string> data_;     // where it is short
  std::shared_ptr<const io::Descriptor> file_;  // else
  std::int64_t size_ = 0;
};

struct Fetched;

// Takes the body of an answer as it comes. On the fetcher's thread; must not block.
class BodySink {
 public:
  enum class Begin {
    Take,
    Keep,    // as if there were no sink: an error's page, a redirect
    Refuse,  // the transfer ends, as Canceled
  };
  enum class Take {
    Taken,
    Wait,  // nothing was taken: the same bytes come again
    Stop,  // the transfer ends, as Canceled
  };

  virtual ~BodySink() = default;
  // The head of the answer, before the first byte; without what is known at its end only.
  virtual Begin begin(const Fetched& head) = 0;
  virtual Take take(std::string_view bytes) = 0;
  // After Wait: whether bytes may come again. Whoever makes room calls Fetcher::look_again().
  virtual bool has_room() = 0;

 protected:
  BodySink() = default;
  BodySink(const BodySink&) = default;
  BodySink& operator=(const BodySink&) = default;
};

// Whoever sets it ends what carries it, soon. Null: nobody can.
using StopMark = std::shared_ptr<std::atomic<bool>>;
inline bool is_set(const StopMark& mark) {
  return mark && mark->load();
}

struct FetchOrder {
  explicit FetchOrder(Url to) : url(std::move(to)) {}
  Url url;
  std::string method = "GET";  // or HEAD, POST, PUT
  HeaderList headers;          // beside our own (User-Agent, Accept, Accept-Encoding)
  std::string body;
  std::shared_ptr<const io::FileReader> upload;  // the body, where it is a file: with its length
  std::shared_ptr<BodySink> sink;
  StopMark stop;                                // the transfer ends, as Canceled
  std::int64_t body_bytes_max = kBodyBytesMax;  // as sent, and decoded
  std::int64_t connect_ms = 15'000;
  std::int64_t idle_ms = 30'000;  // without a byte
  std::int64_t total_ms = 300'000;
  AllowedHosts allowed;
};

enum class FetchProblem {
  None,
  Address,  // refused: not public
  Name,     // it has no address
  Connect,
  Tls,
  Timeout,
  TooLarge,  // head or body
  Protocol,  // what came is no HTTP, or broke off
  Coding,    // the content coding is wrong
  Canceled,
  Internal,
};
std::string_view to_string(FetchProblem problem);
// Whether asking again later may help.
bool is_passing(FetchProblem problem);

struct Fetched {
  FetchProblem problem = FetchProblem::None;
  std::string message;  // for people, where there is a problem
  int status = 0;       // 0: no answer
  std::string reason;   // phrase
  std::string version;  // "1.1", "2"
  HeaderList headers;
  std::string address;       // of the peer
  std::string request_head;  // as sent, HTTP/1.1 style, with the empty line
  Body raw;
  Body body;                  // decoded
  std::int64_t began_us = 0;  // wall clock: the request's
  std::int64_t ended_us = 0;
};

struct FetcherOptions {
  std::string user_agent;  // "quern/0.1 (+https://…; contact)"
  std::filesystem::path spool;
  // For tests and mirrors: every connection to a host and port goes to this "address:port"
  // instead; "*" stands for all. What it names is judged like any other address.
  std::map<std::string, std::string> connect_to;
  std::string ca_file;  // empty: the system's
  std::size_t transfers_max = kTransfersMax;
  std::size_t kept_connections = 256;
};

class Fetcher {
 public:
  using Done = std::function<void(Fetched)>;

  static Result<std::unique_ptr<Fetcher>> open(FetcherOptions options);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Beyond transfers_max: at once, with Canceled and a message that says so.
  void fetch(FetchOrder order, Done done);
  void cancel_all();
  // Transfers whose sinks let them wait, and have room, go on.
  void look_again();
  std::size_t under_way() const;

 private:
  class Core;
  explicit Fetcher(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace quern::web

// Hops: one question to the network, through the gates of its hosts and behind redirects.
//
// Guarantee: at most kHopsMax redirects, each under the address rules and behind the gate of its
// host. What only the first origin may see (Authorization, cookies, keys) goes to no other one. An
// address may be replaced by a mirror's; who asks never sees that.
//
// On the loop. Lifetime: outlives what is under way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fileset/host_gates.h"
#include "fileset/outside.h"
#include "net/event.h"
#include "net/loop.h"
#include "web/fetcher.h"

namespace quern::fileset {

// The URL with the longest beginning that is named replaced. A name matches whole hosts and whole
// parts of a path only.
std::string replace_base(const std::map<std::string, std::string>& bases, std::string_view url);

// A request's head without the lines that are secrets.
std::string without_secrets(std::string_view request_head);

struct HopOptions {
  web::AllowedHosts allowed;
  std::map<std::string, std::string> bases;
  HostGateOptions gates;
};

struct HopOrder {
  std::string url;
  std::string method = "GET";
  web::HeaderList headers;
  std::string body;
  std::shared_ptr<const io::FileReader> upload;
  std::shared_ptr<web::BodySink> sink;
  std::function<void(const std::string&)> at;  // told of each address before it is asked
  std::int64_t bytes_max = kAnswerBytesMax;
  std::int64_t idle_ms = 60'000;
  net::Instant deadline = net::kNever;
  bool follow = true;
  web::StopMark stop;
};

struct HopAnswer {
  web::Fetched fetched;
  std::string url;           // that answered
  bool give_up = false;      // asking again now is of no use
  std::int64_t wait_ms = 0;  // so long the host wants to be left alone
};

class Hops {
 public:
  Hops(net::Loop& loop, web::Fetcher& fetcher, HopOptions options)
      : loop_(loop),
        fetcher_(fetcher),
        options_(std::move(options)),
        gates_(loop, options_.gates),
        closing_(loop) {}

  net::Task<HopAnswer> go(HopOrder order);
  // Waits so long, or until close() or the mark; false where it is closed.
  net::Task<bool> pause(std::int64_t ms, web::StopMark stop);
  void close();
  bool is_closed() const { return closed_; }
  std::int64_t wait_ms_max() const { return options_.gates.wait_ms_max; }

 private:
  net::Task<HopAnswer> hop(const HopOrder& order, const web::Url& url);

  net::Loop& loop_;
  web::Fetcher& fetcher_;
  HopOptions options_;
  HostGates gates_;
  net::Event closing_;
  bool closed_ = false;
};

}  // namespace quern::fileset

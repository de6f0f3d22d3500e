#include "worker/line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "net/target.h"
#include "worker/base64.h"

namespace quern::worker {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kDefaultPort = ":80";

using LastSocket = std::shared_ptr<io::Descriptor>;

net::Task<Result<io::Descriptor>> connect_kept(net::Loop* loop, net::Endpoint endpoint,
                                               std::int64_t connect_ms, LastSocket last) {
  CO_TRY_ASSIGN(io::Descriptor socket,
                co_await net::connect(*loop, std::move(endpoint), connect_ms));
  *last = io::Descriptor(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  co_return socket;
}

net::Connector connector_of(net::Loop& loop, net::Endpoint endpoint, std::int64_t connect_ms,
                            LastSocket last) {
  return [&loop, endpoint = std::move(endpoint), connect_ms, last = std::move(last)] {
    return connect_kept(&loop, endpoint, connect_ms, last);
  };
}

// The colons of an address in brackets are none of a port.
bool has_port(std::string_view authority) {
  const std::size_t last = authority.find_last_of(":]");
  return last != std::string_view::npos && authority[last] == ':';
}

Result<std::string> authorization_of(std::string_view user_info) {
  TRY_ASSIGN(const std::string decoded, net::percent_decoded(user_info, net::Plus::IsPlus));
  const std::size_t colon = std::min(decoded.find(':'), decoded.size());
  const std::string_view all = decoded;
  return basic_authorization(all.substr(0, colon), all.substr(std::min(colon + 1, decoded.size())));
}

}  // namespace

Result<Address> parse_address(std::string_view url) {
  Address address;
  if (url.starts_with("unix:")) {
    TRY_ASSIGN(address.endpoint, net::Endpoint::parse(url));
    return address;
  }
  if (!url.starts_with(kScheme)) {
    return Error{Errc::Invalid, fmt::format("'{}' is neither http://HOST nor unix:PATH", url)};
  }
  const std::size_t slash = std::min(url.find_first_of("/", kScheme.size()), url.size());
  std::string_view authority = url.substr(kScheme.size(), slash - kScheme.size());
  address.target = url.substr(slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    TRY_ASSIGN(address.authorization, authorization_of(authority.substr(0, at)));
    authority.remove_prefix(at + 1);
  }
  std::string host(authority);
  if (!has_port(host)) host += kDefaultPort;
  TRY_ASSIGN(address.endpoint, net::Endpoint::parse(host));
  return address;
}

std::string basic_authorization(std::string_view user, std::string_view password) {
  return "Basic " + base64_encoded(fmt::format("{}:{}", user, password));
}

Line::Line(net::Loop& loop, net::Endpoint endpoint, net::ClientOptions options)
    : last_(std::make_shared<io::Descriptor>()),
      client_(loop, connector_of(loop, endpoint, options.connect_ms, last_), endpoint.authority(),
              options) {}

net::Task<net::Sent> Line::send(net::Request request) {
  net::Sent sent = co_await client_.send(std::move(request));
  if (!sent.answer) cut();
  co_return sent;
}

net::Task<Result<net::Response>> Line::fetch(net::Request request, std::size_t body_bytes_max) {
  auto response = co_await client_.fetch(std::move(request), body_bytes_max);
  if (!response) cut();
  co_return response;
}

void Line::cut() {
  if (last_->is_open()) ::shutdown(last_->get(), SHUT_RDWR);
  last_->close();
}

Lines::Lines(net::Loop& loop, Address server, net::ClientOptions options)
    : loop_(loop), server_(std::move(server)), options_(options) {}

Result<Lines::Place> Lines::find(std::string_view url, Purpose purpose, int slot) {
  TRY_ASSIGN(Address address, parse_address(url));
  // A server on a Unix socket calls itself as we call it.
  const bool is_server = server_.endpoint.kind == net::Endpoint::Kind::Unix &&
                         address.endpoint.host == server_.endpoint.authority();
  Line& found = line(is_server ? server_.endpoint : address.endpoint, {purpose, slot});
  return Place{&found, std::move(address.target)};
}

Line& Lines::line(const net::Endpoint& endpoint, Kind kind) {
  std::unique_ptr<Line>& found = lines_[{kind, endpoint.to_string()}];
  if (!found) found = std::make_unique<Line>(loop_, endpoint, options_);
  return *found;
}

void Lines::cut(Purpose purpose) {
  for (const auto& [key, line] : lines_) {
    if (key.first.first == purpose) line->cut();
  }
}

void Lines::cut_all() {
  for (const auto& [key, line] : lines_) line->cut();
}

}  // namespace quern::worker

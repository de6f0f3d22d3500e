#include "support/faulty_files.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "net/range.h"

namespace quern::support {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr std::uint64_t kChangeSeed = 0x9E3779B97F4A7C15ULL;

std::uint64_t word_of(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = (seed + index) * kChangeSeed + index;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::string header_of(std::string_view head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(':');
    if (colon == name.size() && ::strncasecmp(line.data(), name.data(), name.size()) == 0) {
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      return std::string(value);
    }
    at = end;
  }
  return {};
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void reset(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::int64_t size_of(const FaultyFile& file) {
  return file.bytes ? static_cast<std::int64_t>(file.bytes->size()) : file.size;
}

// "/made/1000/7".
std::optional<FaultyFile> made_file(const std::string& path) {
  FaultyFile file;
  unsigned long long size = 0;
  unsigned long long seed = 0;
  if (std::sscanf(path.c_str(), "/made/%llu/%llu", &size, &seed) != 2) return std::nullopt;
  file.size = static_cast<std::int64_t>(size);
  file.seed = seed;
  return file;
}

}  // namespace

void make_bytes(std::uint64_t seed, std::int64_t offset, char* into, std::size_t size) {
  auto at = static_cast<std::uint64_t>(offset);
  while (size > 0) {
    const std::uint64_t word = word_of(seed, at / 8);
    const std::size_t skip = at % 8;
    const std::size_t n = std::min<std::size_t>(8 - skip, size);
    std::memcpy(into, reinterpret_cast<const char*>(&word) + skip, n);
    into += n;
    at += n;
    size -= n;
  }
}

std::string made_bytes(std::uint64_t seed, std::int64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  make_bytes(seed, offset, bytes.data(), size);
  return bytes;
}

std::string FaultyRequest::header(std::string_view name) const {
  return header_of(head, name);
}

// What one request is answered with.
struct FaultyFiles::Plan {
  std::string method;
  std::string path;  // as asked, with its query
  std::string name;  // of the file
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  FaultyFile file;
  std::optional<std::string> page;  // the body where it is not the file's
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // of the body
  std::int64_t total = 0;  // as Content-Range tells
  std::int64_t start = 0;  // as Content-Range tells
  bool with_length = true;
  bool closes = false;
  std::optional<Fault> fault;
};

FaultyFiles::FaultyFiles() {
  listener_ = io::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(::listen(listener_.get(), 128) == 0);
  socklen_t size = sizeof address;
  CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  auto pipe = io::make_pipe();
  CHECK_OK(pipe);
  stop_read_ = std::move(pipe->read_end);
  stop_write_ = std::move(pipe->write_end);
  thread_ = std::thread([this] { accept_all(); });
}

FaultyFiles::~FaultyFiles() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const io::Descriptor& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
  }
  stop_write_.close();
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
  for (std::thread& thread : threads_) thread.join();
}

void FaultyFiles::put(const std::string& path, FaultyFile file) {
  const std::scoped_lock lock(mutex_);
  files_[path].file = std::move(file);
}

void FaultyFiles::add_fault(const std::string& path, Fault fault) {
  const std::scoped_lock lock(mutex_);
  CHECK(files_.contains(path));
  files_[path].faults.push_back(std::move(fault));
}

void FaultyFiles::clear_faults() {
  const std::scoped_lock lock(mutex_);
  for (auto& [path, served] : files_) served.faults.clear();
}

std::string FaultyFiles::contents(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const FaultyFile& file = files_.at(path).file;
  if (file.bytes) return *file.bytes;
  return made_bytes(file.seed, 0, static_cast<std::size_t>(file.size));
}

std::vector<FaultyRequest> FaultyFiles::requests(std::string_view path) const {
  const std::scoped_lock lock(mutex_);
  std::vector<FaultyRequest> all;
  for (const auto& [number, request] : requests_) {
    if (path.empty() || request.path == path) all.push_back(request);
  }
  return all;
}

void FaultyFiles::forget_requests() {
  const std::scoped_lock lock(mutex_);
  requests_.clear();
}

void FaultyFiles::accept_all() {
  for (;;) {
    io::Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    const int number = sockets_.emplace_back(std::move(socket)).get();
    threads_.emplace_back([this, number] {
      serve(number);
      const std::scoped_lock ended(mutex_);
      // Closed under the lock: whoever stops the server must not shut down another's socket.
      sockets_.remove_if([number](const io::Descriptor& each) { return each.get() == number; });
    });
  }
}

void FaultyFiles::serve(int socket) {
  std::string received;
  for (;;) {
    std::size_t end = received.find("\r\n\r\n");
    while (end == std::string::npos) {
      char buffer[4096];
      const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
      if (n <= 0 || received.size() > kHeadBytesMax) return;
      received.append(buffer, static_cast<std::size_t>(n));
      end = received.find("\r\n\r\n");
    }
    const std::string head = received.substr(0, end + 4);
    received.erase(0, end + 4);
    const Plan plan = this->plan(head);
    std::string answer = fmt::format("HTTP/1.1 {} x\r\n", plan.status);
    for (const auto& [name, value] : plan.headers) answer += name + ": " + value + "\r\n";
    if (plan.with_length) answer += fmt::format("Content-Length: {}\r\n", plan.bytes);
    if (plan.closes) answer += "Connection: close\r\n";
    const int number = begin_record(plan, head);
    std::int64_t sent = 0;
    const bool whole = send_all(socket, answer + "\r\n") &&
                       (plan.method == "HEAD" || send_body(socket, plan, sent));
    end_record(number, sent);
    if (!whole || plan.closes || !plan.with_length) return;
  }
}

FaultyFiles::Plan FaultyFiles::plan(const std::string& head) {
  const std::scoped_lock lock(mutex_);
  Plan plan;
  plan.method = head.substr(0, head.find(' '));
  plan.path = head.substr(plan.method.size() + 1);
  plan.path.resize(plan.path.find(' '));
  plan.name = plan.path;
  if (plan.path.starts_with("/signed/")) {
    const auto found = signed_.find(plan.path);
    if (found == signed_.end() || found->second.second-- <= 0) {
      plan.status = 403;
      plan.page =
          "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"
          "<Message>Request has expired</Message></Error>";
      plan.bytes = static_cast<std::int64_t>(plan.page->size());
      return plan;
    }
    plan.name = found->second.first;
    plan.file = files_[plan.name].file;
    const auto faulty = files_.find("/signed" + plan.name);
    if (faulty != files_.end()) plan.fault = next_fault(faulty->second);
    plan_body(plan, head);
    if (plan.fault) apply(*plan.fault, plan);
    return plan;
  }
  if (!files_.contains(plan.name)) {
    if (const auto made = made_file(plan.name)) {
      plan.file = *made;
      plan_body(plan, head);
      return plan;
    }
    plan.status = 404;
    plan.page = "nothing of that name\n";
    plan.bytes = static_cast<std::int64_t>(plan.page->size());
    return plan;
  }
  Served& served = files_[plan.name];
  plan.fault = next_fault(served);
  if (plan.fault && plan.fault->kind == Fault::Kind::Changed) served.file = plan.fault->changed;
  plan.file = served.file;
  plan_body(plan, head);
  if (plan.fault) apply(*plan.fault, plan);
  return plan;
}

std::optional<Fault> FaultyFiles::next_fault(Served& served) {
  const int number = ++served.requests;
  for (const Fault& fault : served.faults) {
    if (number >= fault.nth && number - fault.nth < fault.times) return fault;
  }
  return std::nullopt;
}

void FaultyFiles::plan_body(Plan& plan, const std::string& head) const {
  const FaultyFile& file = plan.file;
  const auto size = static_cast<std::uint64_t>(size_of(file));
  const std::string range = header_of(head, "Range");
  const std::string if_range = header_of(head, "If-Range");
  const bool same = if_range.empty() || (!file.etag.starts_with("W/") && if_range == file.etag) ||
                    (!file.last_modified.empty() && if_range == file.last_modified);
  plan.headers = file.headers;
  plan.headers.emplace_back("Content-Type", file.content_type);
  if (!file.etag.empty()) plan.headers.emplace_back("ETag", file.etag);
  if (!file.last_modified.empty()) plan.headers.emplace_back("Last-Modified", file.last_modified);
  if (!file.content_encoding.empty()) {
    plan.headers.emplace_back("Content-Encoding", file.content_encoding);
  }
  if (file.ranges) plan.headers.emplace_back("Accept-Ranges", "bytes");
  plan.bytes = static_cast<std::int64_t>(size);
  plan.total = plan.bytes;
  if (!file.etag.empty() && header_of(head, "If-None-Match") == file.etag) {
    plan.status = 304;
    plan.page = "";
    plan.bytes = 0;
    return;
  }
  if (range.empty() || !same || !file.ranges) return;
  const bool ignores = plan.fault && plan.fault->kind == Fault::Kind::WholeAnyway;
  const net::RangeChoice choice = net::choose_range(range, size);
  if (std::holds_alternative<net::NotSatisfiable>(choice)) {
    plan.status = 416;
    plan.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    plan.page = "";
    plan.bytes = 0;
  } else if (const auto* part = std::get_if<net::ByteRange>(&choice); part && !ignores) {
    plan.status = 206;
    plan.offset = static_cast<std::int64_t>(part->offset);
    plan.bytes = static_cast<std::int64_t>(part->bytes);
    plan.start = plan.offset;
    if (plan.fault && plan.fault->kind == Fault::Kind::WrongStart) ++plan.start;
    if (plan.fault && plan.fault->kind == Fault::Kind::WrongTotal) plan.total += 7;
    plan.headers.emplace_back(
        "Content-Range",
        fmt::format("bytes {}-{}/{}", plan.start, plan.offset + plan.bytes - 1, plan.total));
  }
}

void FaultyFiles::apply(const Fault& fault, Plan& plan) {
  switch (fault.kind) {
    case Fault::Kind::Status:
      plan.status = fault.status;
      plan.headers = fault.headers;
      plan.page = fmt::format("status {}\n", fault.status);
      plan.bytes = static_cast<std::int64_t>(plan.page->size());
      break;
    case Fault::Kind::ErrorPage:
      plan.page = std::string(kErrorXml);
      plan.bytes = static_cast<std::int64_t>(plan.page->size());
      break;
    case Fault::Kind::TooLong:
    case Fault::Kind::NoLength:
      plan.with_length = false;
      plan.closes = true;
      if (fault.kind == Fault::Kind::TooLong) plan.bytes += 1000;
      break;
    case Fault::Kind::Signed: {
      const std::string token = fmt::format("/signed{}?X-Signature={}", plan.name, ++tokens_);
      signed_[token] = {plan.name, fault.uses};
      plan.status = 302;
      plan.headers = {{"Location", token}};
      plan.page = "";
      plan.bytes = 0;
      break;
    }
    default:
      break;
  }
}

bool FaultyFiles::send_body(int socket, const Plan& plan, std::int64_t& sent) {
  if (plan.page) {
    sent = plan.bytes;
    return send_all(socket, *plan.page);
  }
  using Kind = Fault::Kind;
  const std::optional<Kind> kind = plan.fault ? std::optional(plan.fault->kind) : std::nullopt;
  const std::int64_t after = plan.fault ? plan.fault->after : 0;
  const bool stops = kind == Kind::Reset || kind == Kind::Cut || kind == Kind::Hang;
  const std::int64_t end = stops ? std::min(after, plan.bytes) : plan.bytes;
  std::string piece;
  while (sent < end) {
    const bool drips = kind == Kind::Drip && sent >= after;
    const std::int64_t most = drips ? 1 : static_cast<std::int64_t>(kPieceBytes);
    std::int64_t n = std::min(most, end - sent);
    if (kind == Kind::Drip && !drips) n = std::min(n, after - sent);
    const std::int64_t at = plan.offset + sent;
    piece.resize(static_cast<std::size_t>(n));
    if (plan.file.bytes) {
      for (std::int64_t i = 0; i < n; ++i) {
        const bool has = at + i < size_of(plan.file);
        piece[static_cast<std::size_t>(i)] =
            has ? (*plan.file.bytes)[static_cast<std::size_t>(at + i)] : 'x';
      }
    } else {
      make_bytes(plan.file.seed, at, piece.data(), piece.size());
    }
    if (kind == Kind::Corrupt && after >= sent && after < sent + n) {
      piece[static_cast<std::size_t>(after - sent)] ^= 1;
    }
    for (std::size_t i = 0; kind == Kind::Garbage && i < kErrorXml.size(); ++i) {
      const std::int64_t to = after + static_cast<std::int64_t>(i) - sent;
      if (to >= 0 && to < n) piece[static_cast<std::size_t>(to)] = kErrorXml[i];
    }
    if (!send_all(socket, piece)) return false;
    sent += n;
    pollfd stop{stop_read_.get(), POLLIN, 0};
    if (drips && ::poll(&stop, 1, plan.fault->drip_ms) > 0) return false;
  }
  if (kind == Kind::Hang) {
    // Until the server ends, or the client has gone.
    pollfd both[2] = {{stop_read_.get(), POLLIN, 0}, {socket, POLLIN, 0}};
    ::poll(both, 2, -1);
  }
  if (kind == Kind::Reset) reset(socket);
  if (stops) ::shutdown(socket, kind == Kind::Reset ? SHUT_RD : SHUT_RDWR);
  return !stops;
}

int FaultyFiles::begin_record(const Plan& plan, const std::string& head) {
  const std::scoped_lock lock(mutex_);
  const int number = ++numbers_;
  if (requests_.size() < kFaultyRequestsMax) {
    requests_[number] = {plan.method, plan.path, head, plan.status, plan.offset, 0};
  }
  return number;
}

void FaultyFiles::end_record(int number, std::int64_t sent) {
  const std::scoped_lock lock(mutex_);
  const auto found = requests_.find(number);
  if (found != requests_.end()) found->second.sent = sent;
}

}  // namespace quern::support

#include "web/fetcher_transfer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/clock.h"
#include "io/system_error.h"
#include "web/fetcher_problem.h"
#include "web/url_escape.h"

namespace quern::web {
namespace {

constexpr long kReceiveBytes = 64 * 1024;

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  CHECK(code == CURLE_OK);
}

void append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  CHECK(longer != nullptr);
  (void)list.release();
  list.reset(longer);
}

bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
}

std::optional<std::string> why_not(const FetchOrder& order) {
  if (!order.url.is_web()) return "only http and https addresses can be fetched";
  if (!is_token(order.method)) return "the method is none";
  for (const auto& [name, value] : order.headers) {
    if (!is_token(name) || !is_header_value(value)) return "a header cannot be sent: " + name;
  }
  return std::nullopt;
}

// The address as it goes to curl: no user, no fragment; what follows the host as it is.
std::string address_of(const Url& url) {
  return url.origin() + url.target();
}

sockaddr_storage parse_address(const char* text) {
  sockaddr_storage storage{};
  sockaddr_in in{};
  sockaddr_in6 in6{};
  if (::inet_pton(AF_INET, text, &in.sin_addr) == 1) {
    in.sin_family = AF_INET;
    std::memcpy(&storage, &in, sizeof in);
  } else if (::inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    std::memcpy(&storage, &in6, sizeof in6);
  }
  return storage;
}

}  // namespace

struct TransferCallbacks {
  // Before connect(): what is refused here is never spoken to.
  static curl_socket_t on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (!transfer.may_reach(address->addr)) return CURL_SOCKET_BAD;
    transfer.opened_socket_ = true;
    const int socket =
        ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (socket < 0) transfer.socket_error_ = errno;
    return socket;
  }

  // Before the request. A kept connection was perhaps opened for somebody who may more.
  static int on_connected(void* self, char* peer, char*, int, int) {
    auto& transfer = *static_cast<Transfer*>(self);
    const sockaddr_storage address = parse_address(peer);
    if (!transfer.may_reach(reinterpret_cast<const sockaddr&>(address))) {
      transfer.opened_socket_ = false;
      transfer.fail(FetchProblem::Address, "");
      return CURL_PREREQFUNC_ABORT;
    }
    transfer.fetched_.address = peer;
    transfer.fetched_.began_us = io::system_clock().now_us();
    transfer.last_byte_us_ = io::system_clock().monotonic_us();
    return CURL_PREREQFUNC_OK;
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.last_byte_us_ = io::system_clock().monotonic_us();
    const bool was_complete = transfer.head_.is_complete;
    Result<> taken = transfer.head_.take({data, size});
    if (taken && !was_complete && transfer.head_.is_complete) taken = transfer.take_head_end();
    if (taken) return size;
    transfer.fail(problem_of_error(taken.error()), taken.error().message());
    return 0;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.last_byte_us_ = io::system_clock().monotonic_us();
    if (transfer.streams_) return transfer.give_to_sink({data, size});
    const Result<> taken = transfer.take_body({data, size});
    if (taken) return size;
    transfer.fail(problem_of_error(taken.error()), taken.error().message());
    return 0;
  }

  static std::size_t on_read(char* into, std::size_t, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->read_upload({into, size});
  }

  // Where a kept connection turned out to be closed, the body is sent once more.
  static int on_seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Transfer*>(self)->uploaded_ = offset;
    return CURL_SEEKFUNC_OK;
  }

  static int on_debug(CURL*, curl_infotype type, char* data, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (type == CURLINFO_HEADER_OUT) {
      // Again where a kept connection turned out to be closed.
      std::string& head = transfer.fetched_.request_head;
      if (head.ends_with("\r\n\r\n")) head.clear();
      head.append(data, size);
    } else if (type == CURLINFO_DATA_OUT && transfer.last_byte_us_) {
      transfer.last_byte_us_ = io::system_clock().monotonic_us();
    }
    return 0;
  }
};

void CurlFree::operator()(CURL* handle) const {
  curl_easy_cleanup(handle);
}
void CurlFree::operator()(curl_slist* list) const {
  curl_slist_free_all(list);
}

Transfer::Transfer(FetchOrder order, Fetcher::Done done, const FetcherOptions& options)
    : order_(std::move(order)),
      done_(std::move(done)),
      options_(options),
      refusal_(why_not(order_)),
      raw_(options.spool, order_.body_bytes_max),
      decoded_(options.spool, order_.body_bytes_max) {}

void Transfer::prepare(CurlHandle handle) {
  handle_ = std::move(handle);
  set_static_options();
  set_request();
  set_place();
  fetched_.began_us = io::system_clock().now_us();
}

void Transfer::set_static_options() {
  CURL* const handle = handle_.get();
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_PROXY, "");  // none from the environment
  set(handle, CURLOPT_NOPROXY, "*");
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(handle, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options_.ca_file.empty()) set(handle, CURLOPT_CAINFO, options_.ca_file.c_str());
  // A name that is still being looked up is not waited for when its transfer ends.
  set(handle, CURLOPT_QUICK_EXIT, 1L);
  // Refused where an earlier transfer left its buffer behind: that has this size already.
  (void)curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, kReceiveBytes);
  static_assert(sizeof error_ >= CURL_ERROR_SIZE);
  set(handle, CURLOPT_ERRORBUFFER, error_);
  set(handle, CURLOPT_PRIVATE, this);
  set(handle, CURLOPT_OPENSOCKETFUNCTION, &TransferCallbacks::on_open_socket);
  set(handle, CURLOPT_OPENSOCKETDATA, this);
  set(handle, CURLOPT_PREREQFUNCTION, &TransferCallbacks::on_connected);
  set(handle, CURLOPT_PREREQDATA, this);
  set(handle, CURLOPT_HEADERFUNCTION, &TransferCallbacks::on_header);
  set(handle, CURLOPT_HEADERDATA, this);
  set(handle, CURLOPT_WRITEFUNCTION, &TransferCallbacks::on_body);
  set(handle, CURLOPT_WRITEDATA, this);
  set(handle, CURLOPT_DEBUGFUNCTION, &TransferCallbacks::on_debug);
  set(handle, CURLOPT_DEBUGDATA, this);
  set(handle, CURLOPT_VERBOSE, 1L);  // for the request as it was sent
}

void Transfer::set_request() {
  CURL* const handle = handle_.get();
  HeaderList all;
  const auto unless_given = [&](std::string_view name, std::string_view value) {
    const bool is_given =
        std::any_of(order_.headers.begin(), order_.headers.end(),
                    [&](const auto& header) { return to_lower(header.first) == to_lower(name); });
    if (!is_given) all.emplace_back(name, value);
  };
  unless_given("User-Agent", options_.user_agent);
  unless_given("Accept", "*/*");
  unless_given("Accept-Encoding", "gzip, deflate, br, zstd");
  all.insert(all.end(), order_.headers.begin(), order_.headers.end());
  for (const auto& [name, value] : all)
    append(headers_, name + (value.empty() ? ";" : ": " + value));
  append(headers_, "Expect:");  // curl waits for an answer to its own

  if (order_.method == "HEAD") {
    set(handle, CURLOPT_NOBODY, 1L);
  } else if (order_.upload) {
    set_upload();
  } else if (order_.method != "GET") {
    if (find_header(order_.headers, "Content-Type").empty()) append(headers_, "Content-Type:");
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(order_.body.size()));
    set(handle, CURLOPT_POSTFIELDS, order_.body.c_str());
    set(handle, CURLOPT_CUSTOMREQUEST, order_.method.c_str());
  }
  set(handle, CURLOPT_HTTPHEADER, headers_.get());
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(order_.connect_ms));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(order_.total_ms));
}

void Transfer::set_upload() {
  CURL* const handle = handle_.get();
  set(handle, CURLOPT_UPLOAD, 1L);
  set(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(order_.upload->size_bytes()));
  set(handle, CURLOPT_READFUNCTION, &TransferCallbacks::on_read);
  set(handle, CURLOPT_READDATA, this);
  set(handle, CURLOPT_SEEKFUNCTION, &TransferCallbacks::on_seek);
  set(handle, CURLOPT_SEEKDATA, this);
  set(handle, CURLOPT_CUSTOMREQUEST, order_.method.c_str());
}

void Transfer::set_place() {
  const std::string& host = order_.url.host();
  set(handle_.get(), CURLOPT_URL, address_of(order_.url).c_str());
  for (const std::string& key :
       {fmt::format("{}:{}", host, order_.url.effective_port()), host, std::string("*")}) {
    const auto found = options_.connect_to.find(key);
    if (found == options_.connect_to.end()) continue;
    append(connect_to_, "::" + found->second);
    return set(handle_.get(), CURLOPT_CONNECT_TO, connect_to_.get());
  }
}

bool Transfer::may_reach(const sockaddr& address) {
  if (is_public(address) || order_.allowed.allows(order_.url.host(), order_.url.effective_port())) {
    return true;
  }
  refused_address_ = address_text(address);
  return false;
}

// A body that says it is too long is not begun, unless little of it would be read.
Result<> Transfer::take_head_end() {
  if (order_.method == "HEAD") return {};
  if (order_.sink) {
    TRY(begin_sink());
    if (streams_) return {};
  }
  const std::string_view length = find_header(head_.headers, "Content-Length");
  std::int64_t bytes = 0;
  for (const char c : length) {
    if (!is_digit(c) || bytes > order_.body_bytes_max) break;
    bytes = bytes * 10 + (c - '0');
  }
  if (bytes > order_.body_bytes_max && order_.body_bytes_max > kBeginningBytesMax) {
    return over_limit("the body", bytes, order_.body_bytes_max, "web.body_bytes_max");
  }
  TRY_ASSIGN(decoder_,
             make_decoder(joined_header(head_.headers, "Content-Encoding"),
                          [this](std::string_view piece) { return decoded_.add(piece); }));
  return {};
}

Result<> Transfer::take_body(std::string_view bytes) {
  const std::int64_t before = raw_.size();
  const Result<> kept = raw_.add(bytes);
  const auto fitting = static_cast<std::size_t>(raw_.size() - before);
  if (decoder_) TRY(decoder_->write(bytes.substr(0, fitting)));
  return kept;
}

Result<> Transfer::begin_sink() {
  fetched_.status = head_.status;
  fetched_.headers = head_.headers;
  switch (order_.sink->begin(fetched_)) {
    case BodySink::Begin::Take:
      streams_ = true;
      return {};
    case BodySink::Begin::Keep:
      return {};
    case BodySink::Begin::Refuse:
      break;
  }
  return Error{Errc::Canceled, "the answer is not what was asked for"};
}

std::size_t Transfer::give_to_sink(std::string_view bytes) {
  switch (order_.sink->take(bytes)) {
    case BodySink::Take::Taken:
      return bytes.size();
    case BodySink::Take::Wait:
      paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    case BodySink::Take::Stop:
      break;
  }
  fail(FetchProblem::Canceled, "the body was stopped");
  return 0;
}

// Within it curl may hand out what it has kept, and the sink may let it wait again.
bool Transfer::go_on() {
  paused_ = false;
  last_byte_us_ = io::system_clock().monotonic_us();
  const CURLcode code = curl_easy_pause(handle_.get(), CURLPAUSE_CONT);
  if (code != CURLE_OK) fail(problem_of_curl(code), message_of(code));
  return code == CURLE_OK;
}

std::size_t Transfer::read_upload(std::span<char> into) {
  const std::int64_t left = order_.upload->size_bytes() - uploaded_;
  const std::span<char> wanted =
      into.first(static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(into), left)));
  if (wanted.empty()) return 0;
  const auto n = order_.upload->read_at(uploaded_, wanted);
  if (!n.ok() || *n == 0) {
    fail(FetchProblem::Internal,
         n.ok() ? "the file that is sent has become shorter" : n.error().message());
    return CURL_READFUNC_ABORT;
  }
  uploaded_ += static_cast<std::int64_t>(*n);
  return *n;
}

bool Transfer::fail(FetchProblem problem, std::string message) {
  if (problem_ == FetchProblem::None) {
    problem_ = problem;
    message_ = std::move(message);
  }
  return false;
}

bool Transfer::is_stalled(std::int64_t monotonic_us) const {
  return last_byte_us_ && !paused_ && monotonic_us - *last_byte_us_ > order_.idle_ms * 1000;
}

std::string Transfer::message_of(int curl_code) const {
  const auto code = static_cast<CURLcode>(curl_code);
  const std::string_view detail = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
  const std::string site = site_of(order_.url);
  switch (problem_of_curl(code)) {
    case FetchProblem::Name:
      return fmt::format("{} has no address: {}", site, detail);
    case FetchProblem::Connect:
      return fmt::format("{} cannot be reached: {}", site, detail);
    case FetchProblem::Tls:
      return fmt::format("no safe connection to {}: {}", site, detail);
    case FetchProblem::Timeout:
      return last_byte_us_ ? fmt::format("{} took longer than {} ms", site, order_.total_ms)
                           : fmt::format("no connection to {} within {} ms", site,
                                         std::min(order_.connect_ms, order_.total_ms));
    case FetchProblem::Protocol:
      return fmt::format("what {} answered is no whole HTTP answer: {}", site, detail);
    default:
      return fmt::format("{}: {}", site, detail);
  }
}

Fetched Transfer::finish(int curl_code) {
  const auto code = static_cast<CURLcode>(curl_code);
  const bool was_refused = !refused_address_.empty() && !opened_socket_;
  if (was_refused) {
    problem_ = FetchProblem::None;
    fail(
        FetchProblem::Address,
        fmt::format("{} has the address {}, which is not public; it is not among the allowed hosts",
                    site_of(order_.url), refused_address_));
  } else if (code == CURLE_OUT_OF_MEMORY && last_byte_us_ && !head_.is_complete) {
    // What curl says of a header line beyond its own limit.
    fail(FetchProblem::TooLarge, "a header of the answer is too long");
  } else if (code == CURLE_COULDNT_CONNECT &&
             (socket_error_ == EMFILE || socket_error_ == ENFILE)) {
    fail(FetchProblem::Internal, io::system_error(socket_error_, "opening a socket").message());
  } else if (code != CURLE_OK) {
    fail(problem_of_curl(code), message_of(code));
  } else if (!head_.is_complete) {
    fail(FetchProblem::Protocol, site_of(order_.url) + " broke off in the head of its answer");
  } else if (decoder_) {
    if (const auto ended = decoder_->finish(); !ended) {
      fail(FetchProblem::Coding, ended.error().message());
    }
  }
  keep_what_came();
  return std::move(fetched_);
}

Fetched Transfer::finish(FetchProblem problem, std::string message) {
  fail(problem, std::move(message));
  keep_what_came();
  return std::move(fetched_);
}

void Transfer::keep_what_came() {
  fetched_.problem = problem_;
  fetched_.message = std::move(message_);
  if (head_.is_complete) {
    fetched_.status = head_.status;
    fetched_.reason = std::move(head_.reason);
    fetched_.version = std::move(head_.version);
    fetched_.headers = std::move(head_.headers);
  }
  fetched_.raw = raw_.finish();
  fetched_.body = decoder_ ? decoded_.finish() : fetched_.raw;
  fetched_.ended_us = io::system_clock().now_us();
  // It must not know us any longer. Its connections are the fetcher's, and stay.
  if (handle_) curl_easy_reset(handle_.get());
}

}  // namespace quern::web

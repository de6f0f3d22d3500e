#include "blob/s3_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "base/check.h"
#include "blob/digest.h"
#include "blob/s3_xml.h"
#include "io/clock.h"

namespace quern::blob {
namespace {

constexpr std::size_t kIdleMax = 16;
constexpr std::size_t kErrorTextMax = 500;

void init_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(code == CURLE_OK);
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  CHECK(longer != nullptr);
  (void)list.release();
  list.reset(longer);
}

// What an answer is read into.
struct Receiver {
  S3Reply reply;
  std::size_t bytes_max = 0;
  bool too_large = false;

  static std::size_t take_body(char* data, std::size_t, std::size_t size, void* self) {
    auto& receiver = *static_cast<Receiver*>(self);
    if (receiver.reply.body.size() + size > receiver.bytes_max) {
      receiver.too_large = true;
      return 0;
    }
    receiver.reply.body.append(data, size);
    return size;
  }
  static std::size_t take_header(char* data, std::size_t, std::size_t size, void* self) {
    const std::string_view line(data, size);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
    if (name == "etag") static_cast<Receiver*>(self)->reply.etag = value;
    return size;
  }
};

Errc kind_of_status(int status, std::string_view code) {
  if (code == "QuotaExceeded") return Errc::Full;
  if (code == "RequestTimeout") return Errc::Timeout;  // a 400, but our connection stalled
  if (status == 404) return Errc::Missing;
  if (status == 401 || status == 403) return Errc::Denied;
  if (status == 409 || status == 412) return Errc::Conflict;
  if (status == 429 || status >= 500) return Errc::Unavailable;
  return Errc::Invalid;
}

Error refused(const S3Call& call, const S3Reply& reply) {
  const std::string code = xml_text(reply.body, "Code");
  const std::string message = xml_text(reply.body, "Message").substr(0, kErrorTextMax);
  return Error{
      kind_of_status(reply.status, code),
      fmt::format("S3 {} {}: {} {} {}", call.method, call.key, reply.status, code, message)};
}

bool is_worth_a_retry(Errc kind) {
  return kind == Errc::Unavailable || kind == Errc::Timeout;
}

Errc kind_of_curl(CURLcode code) {
  if (code == CURLE_OPERATION_TIMEDOUT) return Errc::Timeout;
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
    return Errc::Denied;
  }
  return Errc::Unavailable;
}

void pause_before(int attempt, int backoff_ms) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest_ms = backoff_ms << (attempt - 1);
  // Half of it is chance, so that many that failed together do not come back together.
  std::uniform_int_distribution<int> extra(0, std::max(longest_ms / 2, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(longest_ms / 2 + extra(random)));
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  CHECK(curl_easy_setopt(handle, option, value) == CURLE_OK);
}

void set_limits(CURL* handle, const S3Options& options) {
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_PROXY, "");  // none from the environment
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_ms_max));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.request_ms_max));
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stalled_s_max));
}

void set_body(CURL* handle, const S3Call& call) {
  if (call.method == "HEAD") return set(handle, CURLOPT_NOBODY, 1L);
  if (call.method == "PUT" || call.method == "POST") {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    set(handle, CURLOPT_POSTFIELDS, call.body.empty() ? "" : call.body.data());
  }
  set(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
}

}  // namespace

Result<std::unique_ptr<S3Client>> S3Client::open(const BlobUrl& url, S3Credentials credentials,
                                                 S3Options options) {
  CHECK(url.kind == BlobUrl::Kind::S3);
  init_once();
  return std::unique_ptr<S3Client>(new S3Client(url, std::move(credentials), options));
}

S3Client::S3Client(BlobUrl url, S3Credentials credentials, S3Options options)
    : url_(std::move(url)), credentials_(std::move(credentials)), options_(options) {
  // The bucket is a part of the host at Amazon's, where its name can be; of the path elsewhere.
  const bool in_host = url_.endpoint.empty() && url_.bucket.find('.') == std::string::npos;
  base_ = url_.endpoint.empty() ? fmt::format("https://{}s3.{}.amazonaws.com",
                                              in_host ? url_.bucket + "." : "", url_.region)
                                : url_.endpoint;
  host_ = base_.substr(base_.find("://") + 3);
  path_ = in_host ? "/" : "/" + url_.bucket + "/";
}

S3Client::~S3Client() {
  for (CURL* handle : idle_) curl_easy_cleanup(handle);
}

CURL* S3Client::take_handle() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      CURL* handle = idle_.back();
      idle_.pop_back();
      curl_easy_reset(handle);  // its connections stay
      return handle;
    }
  }
  CURL* handle = curl_easy_init();
  CHECK(handle != nullptr);
  return handle;
}

void S3Client::give_back(CURL* handle) {
  {
    const std::scoped_lock lock(mutex_);
    if (idle_.size() < kIdleMax) return idle_.push_back(handle);
  }
  curl_easy_cleanup(handle);
}

Result<S3Reply> S3Client::call(const S3Call& call) {
  for (int attempt = 1;; ++attempt) {
    Result<S3Reply> reply = call_once(call);
    if (reply.ok() || !is_worth_a_retry(reply.error().kind())) return reply;
    if (attempt >= options_.attempts_max) return reply;
    pause_before(attempt, options_.backoff_ms);
  }
}

Result<S3Reply> S3Client::call_once(const S3Call& call) {
  S3Request request{call.method, path_ + call.key, call.query, call.headers,
                    hex_of(sha256_of(call.body))};
  request.headers.emplace_back("host", host_);
  HeaderList headers;
  for (const auto& [name, value] :
       s3_signed_headers(request, credentials_, url_.region, io::system_clock().now_us())) {
    append(headers, name + ": " + value);
  }
  // Without these curl adds its own.
  append(headers, "Expect:");
  append(headers, "Content-Type:");

  Receiver receiver;
  receiver.bytes_max = call.reply_bytes_max;
  const std::string address = base_ + s3_target(request);
  CURL* handle = take_handle();
  set_limits(handle, options_);
  set_body(handle, call);
  set(handle, CURLOPT_URL, address.c_str());
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_WRITEFUNCTION, &Receiver::take_body);
  set(handle, CURLOPT_WRITEDATA, &receiver);
  set(handle, CURLOPT_HEADERFUNCTION, &Receiver::take_header);
  set(handle, CURLOPT_HEADERDATA, &receiver);
  const CURLcode code = curl_easy_perform(handle);
  long status = 0;
  (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_off_t length = -1;
  (void)curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  give_back(handle);

  if (receiver.too_large) {
    return Error{Errc::TooLarge, fmt::format("S3 {} {}: more than {} bytes", call.method, call.key,
                                             call.reply_bytes_max)};
  }
  if (code != CURLE_OK) {
    return Error{kind_of_curl(code), fmt::format("S3 {} {} at {}: {}", call.method, call.key, host_,
                                                 curl_easy_strerror(code))};
  }
  receiver.reply.status = static_cast<int>(status);
  receiver.reply.content_length = length;
  if (status / 100 != 2) return refused(call, receiver.reply);
  return std::move(receiver.reply);
}

}  // namespace quern::blob

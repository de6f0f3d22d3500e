// Transfer: one fetch under way, with its curl handle. On the fetcher's thread only.
#pragma once

#include <memory>
#include <optional>

#include "web/body.h"
#include "web/decoder.h"
#include "web/fetcher.h"
#include "web/fetcher_head.h"

using CURL = void;  // as libcurl has it
struct curl_slist;
struct sockaddr;

namespace quern::web {

struct CurlFree {
  void operator()(CURL* handle) const;
  void operator()(curl_slist* list) const;
};
using CurlHandle = std::unique_ptr<CURL, CurlFree>;
using CurlList = std::unique_ptr<curl_slist, CurlFree>;

class Transfer {
 public:
  Transfer(FetchOrder order, Fetcher::Done done, const FetcherOptions& options);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Takes a handle that is in use nowhere, and has no option set; sets them.
  void prepare(CurlHandle handle);
  CURL* handle() const { return handle_.get(); }
  CurlHandle give_handle() { return std::move(handle_); }
  // Why it cannot even begin.
  const std::optional<std::string>& refusal() const { return refusal_; }
  // Whether it has waited for a byte longer than it may.
  bool is_stalled(std::int64_t monotonic_us) const;
  // Whether nobody wants it any more.
  bool is_stopped() const { return is_set(order_.stop); }
  // Whether it waits for its sink, which has room again.
  bool can_go_on() const { return paused_ && order_.sink->has_room(); }
  // False where it has to be ended.
  bool go_on();
  // Why we stop it; None where there is no reason of ours.
  FetchProblem problem() const { return problem_; }
  const std::string& problem_message() const { return message_; }

  // Ends it: by curl's word, or by ours. `done` is called by whoever owns this, with the result.
  Fetched finish(int curl_code);
  Fetched finish(FetchProblem problem, std::string message);
  Fetcher::Done take_done() { return std::move(done_); }

 private:
  friend struct TransferCallbacks;  // what curl calls

  void set_static_options();
  void set_request();
  void set_upload();
  void set_place();
  bool may_reach(const sockaddr& address);
  Result<> take_head_end();
  Result<> take_body(std::string_view bytes);
  Result<> begin_sink();
  std::size_t give_to_sink(std::string_view bytes);
  std::size_t read_upload(std::span<char> into);
  // Remembers why we stop; false.
  bool fail(FetchProblem problem, std::string message);
  std::string message_of(int curl_code) const;
  void keep_what_came();

  FetchOrder order_;
  Fetcher::Done done_;
  const FetcherOptions& options_;
  CurlHandle handle_;
  CurlList headers_;
  CurlList connect_to_;
  std::optional<std::string> refusal_;
  char error_[256] = "";  // as long as curl asks

  FetchProblem problem_ = FetchProblem::None;
  std::string message_;
  std::string refused_address_;
  bool opened_socket_ = false;
  bool streams_ = false;  // the body goes to the sink
  bool paused_ = false;   // by the sink
  std::int64_t uploaded_ = 0;
  int socket_error_ = 0;                      // why we could not have one
  std::optional<std::int64_t> last_byte_us_;  // monotonic; since it is connected

  ResponseHead head_;
  BodyWriter raw_;
  BodyWriter decoded_;
  std::unique_ptr<ContentDecoder> decoder_;
  Fetched fetched_;
};

}  // namespace quern::web

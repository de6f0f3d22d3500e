// HttpProcessor: the handler of seed 004. An item's bytes go out as a POST; the answer moves it.
//
//   {"gate": 2, "done": false, "data": {…}}      a missing field changes nothing; `complete` and
//                                                `response` are taken for done and data too
//   {"error": {"message": "…", "no_retry": true}}   whatever the status
//
// Without an error in the body: 2xx needs a JSON object (else it is tried again, and the error
// names the status); 408, 425, 429 and 5xx are tried again, not before Retry-After; other statuses
// are final. A body beyond kReplyBytesMax is final.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/http.h"
#include "net/loop.h"
#include "queue/processor.h"

namespace quern::queue {

inline constexpr std::size_t kReplyBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kHandlersRememberedMax = 1000;
inline constexpr std::int64_t kRetryAfterSecondsMax = 86'400;

struct HttpProcessorOptions {
  std::int64_t connect_ms = 5'000;
  std::int64_t answer_ms = 60'000;   // from the request to the last byte of the answer
  std::int64_t trouble_ms = 60'000;  // a failure is named in the health for so long
};

// Pure: what an answer means.
Outcome read_reply(const net::Response& response);

// Invalid where it is no http:// address. (https comes with outbound HTTP in web/.)
Result<> validate_handler(std::string_view address);

class HttpProcessor final : public Processor {
 public:
  HttpProcessor(net::Loop& loop, HttpProcessorOptions options);
  ~HttpProcessor() override;

  void process(Work work, Answered answered) override;
  void cancel() override;
  // Handlers whose last call failed, and how; of the last trouble_ms. The loop's thread.
  std::map<std::string, std::string> trouble() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::queue

// ClientConnection: one request and its answer on one connection. For use inside net only.
#pragma once

#include <memory>
#include <string>

#include "net/body_decoder.h"
#include "net/client.h"
#include "net/stream.h"

namespace quern::net {

class ClientCore;

class ClientConnection {
 public:
  ClientConnection(Loop& loop, io::Descriptor socket, const ClientOptions& options);

  // Sends the request and reads the answer's head.
  Task<Result<ResponseHead>> exchange(const Request& request, std::string authority, Instant last);
  Task<Result<std::size_t>> read(std::span<char> buffer);

  bool byte_sent() const { return bytes_.out > 0; }
  bool byte_received() const { return bytes_.in > 0; }
  bool body_done() const { return body_.done(); }
  bool reusable() const { return keep_alive_ && body_.done() && stream_->buffered().empty(); }
  // For the next request: what was counted for this one is forgotten.
  void rest();
  // A server that has closed, or says something unasked, has no more to say to us.
  bool still_good() const { return stream_->is_open() && !stream_->readable_now(); }
  Instant idle_since() const { return idle_since_; }

  std::weak_ptr<ClientCore> core;  // where it goes when its answer is read

 private:
  Task<Result<>> send_request(const Request& request, std::string authority, Instant last);
  Task<Result<>> send_produced(const Request& request);
  Task<Result<>> produce_all(const Request& request);
  Task<Result<>> await_continue(const Request& request, Instant last);
  Task<Result<ResponseHead>> read_final_head(const Request& request, Instant last);
  Task<Result<ResponseHead>> read_head(Instant deadline);
  Result<> accept(const ResponseHead& head, int version_minor, Method method);

  ClientOptions options_;
  ByteCounts bytes_;
  std::shared_ptr<Stream> stream_;
  BodyDecoder body_;
  Instant last_ = kNever;
  Instant idle_since_{};
  int version_minor_ = 1;
  bool keep_alive_ = false;
  bool request_complete_ = false;
  std::shared_ptr<bool> answered_early_;
  std::optional<ResponseHead> early_head_;  // came instead of 100
};

}  // namespace quern::net

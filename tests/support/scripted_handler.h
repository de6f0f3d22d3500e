// ScriptedHandler: an HTTP handler of items (seed 004) in the test's own process, which answers
// what a script says.
//
//   ScriptedHandler handler([](const HandlerCall& call) { return answer(R"({"done":true})"); });
//   put(partition, {.handler = handler.address()});
//   handler.wait_for_calls(20);
//
// The script runs on the handler's thread, one call at a time; answers that it holds wait beside
// one another until release(). Everything else is safe from any thread. Lifetime: destroying it
// cuts what is under way.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/loop.h"
#include "net/server.h"

namespace quern::support {

struct HandlerCall {
  std::string partition;
  std::string item;
  std::int64_t gate = 0;
  std::int64_t attempt = 0;  // as Quern counts them
  std::string idempotency_key;
  std::string body;
  net::RequestHead head;
  int number = 0;  // of this item, from 1, as we count them
};

struct HandlerReply {
  enum class When { Now, Released };
  net::Response response;
  When when = When::Now;
};
// As JSON, with status 200.
HandlerReply answer(std::string json);
HandlerReply answer(net::Response response);
// Not before release().
HandlerReply held(HandlerReply reply);

class ScriptedHandler {
 public:
  using Script = std::function<HandlerReply(const HandlerCall&)>;

  explicit ScriptedHandler(Script script);
  ~ScriptedHandler();
  ScriptedHandler(const ScriptedHandler&) = delete;
  ScriptedHandler& operator=(const ScriptedHandler&) = delete;

  // "http://127.0.0.1:PORT/work"; stays the same over stop() and start().
  const std::string& address() const { return address_; }
  // Lets go what is held now.
  void release();
  // Cuts what is under way; connections are refused from now on.
  void stop();
  void start();

  int calls() const;
  int calls(const std::string& item) const;
  // Not yet answered: held, most of the time.
  int under_way() const;
  int most_at_once() const;
  // All of them, in order of arrival.
  std::vector<HandlerCall> history() const;
  // False where there were not so many (in all, or of this item) within the patience of a test.
  bool wait_for_calls(int calls) const;
  bool wait_for_calls(const std::string& item, int calls) const;

 private:
  static net::Task<Result<>> handle(ScriptedHandler* self, net::Exchange& exchange);
  HandlerCall note_call(const net::RequestHead& head, std::string body);
  void note_end();
  void open();
  template <class Function>
  void on_loop(Function function);
  template <class Condition>
  bool wait_until(Condition condition) const;

  Script script_;
  std::string address_;
  net::Endpoint endpoint_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<HandlerCall> history_;
  std::map<std::string, int> calls_;
  int under_way_ = 0;
  int most_at_once_ = 0;
  net::Loop loop_;
  net::Event released_;
  std::unique_ptr<net::Server> server_;  // the loop's thread only
  std::thread thread_;
};

}  // namespace quern::support

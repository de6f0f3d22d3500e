#include "net/async.h"

#include "net/waiter.h"

namespace quern::net::internal {

// Takes the waiter's address back when its frame goes, resumed or destroyed.
class CallbackSignal::Registered {
 public:
  Registered(CallbackSignal& signal, Waiter& waiter) : signal_(signal) { signal.waiter_ = &waiter; }
  ~Registered() { signal_.waiter_ = nullptr; }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  CallbackSignal& signal_;
};

void CallbackSignal::send() {
  remote_.post([self = shared_from_this()] {
    self->arrived_ = true;
    if (self->waiter_ != nullptr) self->waiter_->wake(WaitEnd::Notified);
  });
}

Task<> CallbackSignal::arrived() {
  if (arrived_) co_return;
  Waiter waiter(loop_);
  const Registered registered(*this, waiter);
  co_await waiter.wait(kNever);
}

}  // namespace quern::net::internal

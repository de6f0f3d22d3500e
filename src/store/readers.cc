#include "store/readers.h"

#include <array>

namespace quern::store {

Result<std::unique_ptr<Readers>> Readers::open(Database& database, const ReadersOptions& options) {
  CHECK(options.threads > 0);
  std::unique_ptr<Readers> readers(new Readers(options));
  for (int i = 0; i < options.threads; ++i) {
    TRY_ASSIGN(std::unique_ptr<Session> session, database.connect_reader());
    readers->sessions_.push_back(std::move(session));
  }
  for (const auto& session : readers->sessions_) {
    readers->threads_.emplace_back([self = readers.get(), &session] { self->serve(*session); });
  }
  return readers;
}

bool Readers::try_push(std::unique_ptr<Operation>& read) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || queue_.size() >= options_.queue_max) return false;
    queue_.push_back(std::move(read));
  }
  changed_.notify_one();
  return true;
}

void Readers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Readers::serve(Session& session) {
  while (true) {
    std::unique_ptr<Operation> operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      operation = std::move(queue_.front());
      queue_.pop_front();
    }
    const bool was_lost = session.lost();
    read(session, *operation);
    if (!was_lost && session.lost()) read(session, *operation);
    operation->deliver();
  }
}

void Readers::read(Session& session, Operation& operation) {
  if (session.lost()) {
    Result<> connected = session.reconnect();
    if (!connected.ok()) return operation.fail(std::move(connected).error());
  }
  Result<> begun = session.begin_read();
  if (!begun.ok()) return operation.fail(std::move(begun).error());
  Tx tx(session);
  const std::array<Operation*, 1> one = {&operation};
  operation.kind().apply(tx, std::span(one));
  session.rollback();
}

}  // namespace quern::store

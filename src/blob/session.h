// Session: the row in whose name this process writes large blobs, and the thread that renews it and
// removes what was discarded. Inside blob only.
//
// It begins with the first place that is asked for. A session that others declared dead is given
// up; the next place begins another.
//
// Threads: all functions from any thread; only next_place() waits for the database.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "blob/blob.h"

namespace quern::blob {

// Beyond them places are left to the sweep.
inline constexpr std::size_t kDiscardsMax = 65'536;

// For the only owner: whoever else had a session is dead.
Result<> end_all_sessions(store::Writer& writer, store::Readers& readers);

// Declares those dead whose time is over: some of them, none that is just naming something.
Result<> end_expired_sessions(store::Tx& tx);

class Session {
 public:
  Session(Backend& backend, store::Writer& writer, BlobStore::Owner owner);
  ~Session();  // removes what was discarded; waits for the backend, not for the database

  Result<BlobStore::Place> next_place();
  void discard(std::string place);
  std::int64_t id() const;
  // Waits for the answer. Stale where the session was declared dead.
  Result<> renew();

 private:
  // What answers of the writer refer to: they may come when this object is gone.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t id = 0;
    std::string name;
    std::int64_t next_number = 0;
    std::vector<std::string> discards;
    bool renewing = false;
    bool stopping = false;

    void note_renewed(std::int64_t session, const Result<>& result);
  };

  Result<> begin();
  void keep_house();
  void remove_discards(std::unique_lock<std::mutex>& lock);
  void push_renewal(std::int64_t session);

  Backend& backend_;
  store::Writer& writer_;
  const BlobStore::Owner owner_;
  std::mutex begin_mutex_;  // one begins, the others wait
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;  // under begin_mutex_: started with the first session
};

}  // namespace quern::blob

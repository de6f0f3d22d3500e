// Guard: what a batch locks before it writes, so that an owner who lost its partition writes
// nothing.
//
// An operation may carry a Fence: the row it writes for and the token it was given. At the start of
// each transaction the lane hands the rows of all its operations to the guard, which locks them in
// one order and keeps what it read; an operation whose token is no longer the row's gets Stale and
// is not applied. A check without that lock is no fence: another owner could take the row between
// the check and the COMMIT. One order for all locks of a batch is also why batches of several
// servers do not deadlock.
//
// The state that the guard made lives as long as the transaction. Operations read and change it
// instead of the rows; flush() writes what changed, once, before the COMMIT.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace quern::store {

class Tx;

struct Fence {
  std::int64_t row = 0;    // 0: none
  std::int64_t token = 0;  // 0: the row is locked, whoever owns it
  std::int64_t also = 0;   // another row that is locked with it, whoever owns that; 0: none
};

class LockedRows {
 public:
  virtual ~LockedRows() = default;

  // Whether the fence's token is still the row's.
  virtual bool holds(const Fence& fence) const = 0;
  // What was changed since the last mark() is forgotten: its savepoint was rolled back.
  virtual void mark() = 0;
  virtual void undo() = 0;
  virtual Result<> flush(Tx& tx) = 0;
};

class BatchGuard {
 public:
  virtual ~BatchGuard() = default;

  // The rows are sorted and distinct. One that does not exist holds no fence.
  virtual Result<std::unique_ptr<LockedRows>> lock(Tx& tx,
                                                   std::span<const std::int64_t> rows) const = 0;
};

}  // namespace quern::store

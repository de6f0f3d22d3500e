// Judgement: which blobs in doubt are unreferenced; the part of a sweep that is one transaction, in
// its four steps. Apart from sweep(), so that tests can run others between any two of them. Inside
// blob only.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "blob/row.h"
#include "store/tx.h"

namespace quern::blob {

class Judgement {
 public:
  Result<> read(store::Tx& tx);
  // What somebody else holds is left for the next time: whoever adopts or inherits goes first.
  Result<> lock(store::Tx& tx);
  // A statement after the locks: it sees every reference that was made before them.
  Result<> remove(store::Tx& tx, const store::Sql& delete_unreferenced);
  // Writes down where the bytes of the removed rows lie, and forgets the doubts.
  Result<> note(store::Tx& tx);

  std::int64_t rows() const { return rows_; }
  // More doubts than one judgement takes, and this one came on.
  bool more() const { return full_ && judged_ > 0; }

 private:
  std::vector<std::pair<std::int64_t, BlobId>> doubts_;
  bool full_ = false;
  std::set<BlobId> ours_;
  std::set<BlobId> others_;  // that hold them
  std::int64_t rows_ = 0;
  std::vector<std::string> places_;
  std::size_t judged_ = 0;
};

}  // namespace quern::blob

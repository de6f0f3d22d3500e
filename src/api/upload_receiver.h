// UploadReceiver: takes the body of a request into an upload's part file.
//
// Guarantee: upload.bytes, and what anybody is told of it, is never more than what is synced. What
// came before the sender or the server broke off counts as far as it was noted; with a checksum
// either the whole body counts or nothing. How: bytes are written behind those that count; from
// time to time, and at the end, they are synced and then noted in the row. Memory is one buffer.
//
// On the loop; what blocks goes to the pool. Lifetime: until run() returns.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/service.h"
#include "blob/digest.h"
#include "io/part_file.h"
#include "model/tus.h"
#include "tree/upload.h"

namespace quern::api {

inline constexpr std::size_t kUploadPieceBytes = 256 * 1024;
// How much, or how long, may be lost to a death of the server: then it is synced and noted.
inline constexpr std::int64_t kUploadNoteBytes = 32 * 1024 * 1024;
inline constexpr std::int64_t kUploadNoteMs = 5'000;

class UploadReceiver {
 public:
  UploadReceiver(std::shared_ptr<const Parts> parts, net::Exchange& exchange, tree::Upload& upload,
                 std::shared_ptr<io::PartFile> part);

  // False: the checksum is another one, and nothing counts. Errors of reading, TooLarge where the
  // body is longer than what is missing, Full, Missing where the upload went meanwhile.
  net::Task<Result<bool>> run(std::optional<model::TusChecksum> checksum);

 private:
  struct Piece {
    std::size_t bytes = 0;
    std::optional<Error> broken;  // behind them
    bool last = false;
  };
  net::Task<Piece> read_piece();
  net::Task<Result<>> write_piece(std::size_t bytes);
  net::Task<Result<bool>> end(const std::optional<model::TusChecksum>& checksum);
  net::Task<Result<>> note();
  bool is_time_to_note() const;

  const std::shared_ptr<const Parts> parts_;
  net::Exchange& exchange_;
  tree::Upload& upload_;
  const std::shared_ptr<io::PartFile> part_;
  const std::shared_ptr<std::vector<char>> buffer_;
  std::shared_ptr<blob::Digest> digest_;  // where there is a checksum
  std::int64_t received_;                 // of the upload; not all of it counts
  net::Instant note_at_;
};

}  // namespace quern::api

// Uploader: sends the files of `quern add` to the server. Small ones go many at a time, large ones
// in pieces that can be gone on with (tus).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/add_command.h"
#include "app/source_walk.h"
#include "io/pool.h"

namespace quern::app {

inline constexpr std::int64_t kSmallFileBytesMax = 1024 * 1024;
inline constexpr std::size_t kBatchBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kBatchFilesMax = 256;
inline constexpr std::size_t kPieceBytes = 8 * 1024 * 1024;

std::string make_random_key();

class Uploader {
 public:
  Uploader(Command command, Door& door, const AddOrder& order, std::int64_t job);

  // What the job has already is known by its number, and not taken twice.
  net::Task<Result<>> send_all();
  std::int64_t skipped() const { return skipped_; }

 private:
  net::Task<Result<>> send_walk();
  net::Task<Result<>> send_standard_input(std::int64_t index);
  net::Task<Result<>> send(SourceFile source);
  net::Task<Result<>> add_to_batch(SourceFile source, std::string bytes);
  Error explain(const Error& error) const;
  net::Task<Result<>> flush();
  net::Task<Result<>> send_large(SourceFile source, std::int64_t bytes);
  net::Task<Result<std::string>> begin_upload(SourceFile source, std::int64_t bytes);
  net::Task<Result<std::int64_t>> offset_of(std::string address);
  net::Task<Result<bool>> is_known(SourceFile source);
  std::string options_json() const;

  Command command_;
  Door& door_;
  const AddOrder& order_;
  std::int64_t job_;
  io::Pool pool_{{.threads = 1, .queue_max = 16}};
  std::string batch_;
  std::size_t batch_files_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace quern::app

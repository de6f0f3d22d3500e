// GzipMember: one gzip member, written in pieces to a sink.
//
// Threads: one at a time. A thread's members share their memory (a quarter of a megabyte, whose
// allocation costs more than compressing a small page), so a thread writes one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace quern::web {

class GzipMember {
 public:
  using Sink = std::function<Result<>(std::string_view)>;

  // Stored: as it is, for bytes that nothing makes smaller.
  enum class Packing { Deflated, Stored };
  // The sink outlives it.
  explicit GzipMember(const Sink& sink, Packing packing = Packing::Deflated);
  ~GzipMember();
  GzipMember(const GzipMember&) = delete;
  GzipMember& operator=(const GzipMember&) = delete;

  // After an error, which is the sink's, only destruction is left.
  Result<> add(std::string_view bytes);
  // Once, and last: the bytes of the member.
  Result<std::int64_t> finish();

 private:
  Result<> run(std::string_view bytes, int flush);

  const Sink& sink_;
  std::int64_t bytes_ = 0;
};

}  // namespace quern::web

// S3Writer: bytes on their way to an object, in one request or in parts.
#pragma once

#include "blob/backend.h"
#include "blob/s3_client.h"

namespace quern::blob {

class S3Writer final : public PlaceWriter {
 public:
  S3Writer(S3Client& client, std::string key) : client_(client), key_(std::move(key)) {}
  ~S3Writer() override;

  Result<> write(std::string_view bytes) override;
  Result<> commit() override;

 private:
  std::size_t part_bytes() const;
  Result<> begin();
  Result<> send_part();
  Result<> send_whole();
  Result<> complete();
  Result<> expect_whole(const Error& otherwise);

  S3Client& client_;
  const std::string key_;
  std::string buffer_;
  std::string upload_;              // empty: not in parts
  std::vector<std::string> etags_;  // of the parts
  std::int64_t bytes_ = 0;
};

}  // namespace quern::blob

// S3Backend: blobs as objects of a bucket, PREFIX/SESSION/NNN/NNNNNN.
//
// A large one is sent in parts; what a killed writer had sent of it is no object yet, and goes when
// its session is swept (tidy). Parts grow with their number, so that any size fits into S3's
// 10,000.
#pragma once

#include "blob/backend.h"
#include "blob/s3_client.h"

namespace quern::blob {

inline constexpr std::size_t kS3PartBytes = 8 * 1024 * 1024;

class S3Backend final : public Backend {
 public:
  // Missing or Denied where the bucket is not there, or not for us.
  static Result<std::unique_ptr<Backend>> open(const BlobUrl& url, S3Credentials credentials,
                                               S3Options options = {});

  Result<std::unique_ptr<PlaceWriter>> create(const std::string& place) override;
  // Each is a request of its own: several threads wait for them at the same time.
  std::vector<Result<>> commit(std::span<PlaceWriter* const> writers) override;
  int commit_threads() const override { return 8; }
  Result<std::unique_ptr<PlaceReader>> open(const std::string& place) const override;
  Result<> remove(std::span<const std::string> places) override;
  Result<Listing> list(const std::string& session, const std::string& after) const override;
  Result<> tidy(const std::string& session) override;
  Result<std::vector<std::string>> list_sessions(const std::string& after) const override;
  std::optional<std::filesystem::path> path_of(const std::string&) const override {
    return std::nullopt;
  }
  Result<bool> adopt(const std::filesystem::path&, const std::string&) override { return false; }

 private:
  S3Backend(std::unique_ptr<S3Client> client, std::string prefix)
      : client_(std::move(client)), prefix_(std::move(prefix)) {}
  std::string key_of(std::string_view place) const;

  const std::unique_ptr<S3Client> client_;
  const std::string prefix_;  // ends with a slash where there is one
};

}  // namespace quern::blob

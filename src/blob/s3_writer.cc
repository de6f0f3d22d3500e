#include "blob/s3_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "base/log.h"
#include "blob/s3_backend.h"
#include "blob/s3_xml.h"

namespace quern::blob {
namespace {

constexpr std::size_t kPartsMax = 10'000;
constexpr std::size_t kPartsPerSize = 1000;

}  // namespace

S3Writer::~S3Writer() {
  if (upload_.empty()) return;
  const Result<S3Reply> aborted =
      client_.call({.method = "DELETE", .key = key_, .query = {{"uploadId", upload_}}});
  // It costs space until its session is swept.
  if (!aborted.ok()) log_warn("blob.upload_not_aborted", {{"error", aborted.error().message()}});
}

std::size_t S3Writer::part_bytes() const {
  return kS3PartBytes * (1 + etags_.size() / kPartsPerSize);
}

Result<> S3Writer::write(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const std::size_t taken = std::min(part_bytes() - buffer_.size(), bytes.size());
    buffer_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (buffer_.size() == part_bytes()) TRY(send_part());
  }
  return {};
}

Result<> S3Writer::commit() {
  if (upload_.empty()) return send_whole();
  if (!buffer_.empty()) TRY(send_part());
  return complete();
}

Result<> S3Writer::send_whole() {
  const DurableWrite durable_write("s3_put", key_);
  TRY(client_.call({.method = "PUT", .key = key_, .body = buffer_}));
  return {};
}

Result<> S3Writer::begin() {
  TRY_ASSIGN(const S3Reply begun,
             client_.call({.method = "POST", .key = key_, .query = {{"uploads", ""}}}));
  upload_ = xml_text(begun.body, "UploadId");
  if (upload_.empty()) return Error{Errc::Internal, "S3 began an upload without a name"};
  return {};
}

Result<> S3Writer::send_part() {
  if (upload_.empty()) TRY(begin());
  if (etags_.size() == kPartsMax) {
    return over_limit("an object of S3", bytes_, bytes_, "kPartsMax");
  }
  TRY_ASSIGN(const S3Reply sent,
             client_.call({.method = "PUT",
                           .key = key_,
                           .query = {{"partNumber", std::to_string(etags_.size() + 1)},
                                     {"uploadId", upload_}},
                           .body = buffer_}));
  etags_.push_back(sent.etag);
  buffer_.clear();
  return {};
}

Result<> S3Writer::complete() {
  std::string body = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags_.size(); ++i) {
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                        xml_escaped(etags_[i]));
  }
  body += "</CompleteMultipartUpload>";
  const DurableWrite durable_write("s3_complete", key_);
  const Result<S3Reply> done =
      client_.call({.method = "POST", .key = key_, .query = {{"uploadId", upload_}}, .body = body});
  if (!done.ok()) {
    TRY(expect_whole(done.error()));
  } else if (!xml_text(done->body, "Code").empty()) {
    // The answer began before the work was done, and says so only at its end.
    TRY(expect_whole(Error{Errc::Unavailable, "S3 could not put the parts together: " +
                                                  xml_text(done->body, "Message")}));
  }
  upload_.clear();
  return {};
}

// A completion whose answer was lost is unknown to S3 when it is asked for again.
Result<> S3Writer::expect_whole(const Error& otherwise) {
  if (otherwise.kind() != Errc::Missing && otherwise.kind() != Errc::Unavailable) return otherwise;
  const Result<S3Reply> head = client_.call({.method = "HEAD", .key = key_});
  if (head.ok() && head->content_length == bytes_) return {};
  return otherwise;
}

}  // namespace quern::blob

#include "blob/s3_backend.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "base/crash.h"
#include "blob/place.h"
#include "blob/s3_writer.h"
#include "blob/s3_xml.h"

namespace quern::blob {
namespace {

constexpr std::size_t kKeysPerCall = 1000;
// What is fetched at once, however little is asked for: a request costs as much as a megabyte.
constexpr std::size_t kWindowBytes = 1024 * 1024;
constexpr int kTidyRoundsMax = 10'000;

std::string base64_md5(std::string_view bytes) {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), raw, &size, EVP_md5(), nullptr) == 1);
  unsigned char text[64];
  const int length = EVP_EncodeBlock(text, raw, static_cast<int>(size));
  return std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
}

class S3Reader final : public PlaceReader {
 public:
  S3Reader(S3Client& client, std::string key, std::int64_t size_bytes)
      : client_(client), key_(std::move(key)), size_bytes_(size_bytes) {}

  std::int64_t size_bytes() const override { return size_bytes_; }

  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const override {
    CHECK(offset >= 0);
    std::size_t filled = 0;
    while (filled < into.size() && offset < size_bytes_) {
      if (offset < window_at_ || offset >= window_end()) {
        TRY(fetch(offset, into.size() - filled));
      }
      const auto begin = static_cast<std::size_t>(offset - window_at_);
      const std::size_t count = std::min(window_.size() - begin, into.size() - filled);
      std::memcpy(into.data() + filled, window_.data() + begin, count);
      filled += count;
      offset += static_cast<std::int64_t>(count);
    }
    return filled;
  }

 private:
  std::int64_t window_end() const { return window_at_ + static_cast<std::int64_t>(window_.size()); }
  Result<> fetch(std::int64_t offset, std::size_t wanted) const {
    const auto left = static_cast<std::size_t>(size_bytes_ - offset);
    const std::size_t count = std::min(std::max(wanted, kWindowBytes), left);
    TRY_ASSIGN(
        S3Reply got,
        client_.call(
            {.key = key_,
             .headers = {{"range", fmt::format("bytes={}-{}", offset,
                                               offset + static_cast<std::int64_t>(count) - 1)}},
             .reply_bytes_max = count}));
    if (got.body.size() != count) {
      return Error{Errc::Corrupt, fmt::format("S3 gave {} bytes of {} from {} of {}",
                                              got.body.size(), count, offset, key_)};
    }
    window_ = std::move(got.body);
    window_at_ = offset;
    return {};
  }

  S3Client& client_;
  const std::string key_;
  const std::int64_t size_bytes_;
  // One thread at a time reads.
  mutable std::string window_;
  mutable std::int64_t window_at_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> S3Backend::open(const BlobUrl& url, S3Credentials credentials,
                                                 S3Options options) {
  TRY_ASSIGN(std::unique_ptr<S3Client> client,
             S3Client::open(url, std::move(credentials), options));
  TRY(client->call({.method = "HEAD"}).with_context(fmt::format("opening {}", url.text())));
  const std::string prefix = url.prefix.empty() ? "" : url.prefix + "/";
  return std::unique_ptr<Backend>(new S3Backend(std::move(client), prefix));
}

std::string S3Backend::key_of(std::string_view place) const {
  return prefix_ + std::string(place);
}

Result<std::unique_ptr<PlaceWriter>> S3Backend::create(const std::string& place) {
  return std::unique_ptr<PlaceWriter>(std::make_unique<S3Writer>(*client_, key_of(place)));
}

std::vector<Result<>> S3Backend::commit(std::span<PlaceWriter* const> writers) {
  std::vector<Result<>> results;
  for (PlaceWriter* writer : writers) results.push_back(writer->commit());
  return results;
}

Result<std::unique_ptr<PlaceReader>> S3Backend::open(const std::string& place) const {
  TRY_ASSIGN(const S3Reply head, client_->call({.method = "HEAD", .key = key_of(place)}));
  return std::unique_ptr<PlaceReader>(
      std::make_unique<S3Reader>(*client_, key_of(place), head.content_length));
}

Result<> S3Backend::remove(std::span<const std::string> places) {
  while (!places.empty()) {
    const auto some = places.first(std::min(places.size(), kKeysPerCall));
    places = places.subspan(some.size());
    std::string body = "<Delete><Quiet>true</Quiet>";
    for (const std::string& place : some) {
      body += fmt::format("<Object><Key>{}</Key></Object>", xml_escaped(key_of(place)));
    }
    body += "</Delete>";
    const DurableWrite durable_write("s3_delete", some.front());
    TRY_ASSIGN(const S3Reply done, client_->call({.method = "POST",
                                                  .query = {{"delete", ""}},
                                                  .headers = {{"content-md5", base64_md5(body)}},
                                                  .body = body}));
    // A name that is gone already is none.
    if (!xml_elements(done.body, "Error").empty()) {
      return Error{Errc::Unavailable,
                   fmt::format("S3 could not delete {}: {}", xml_text(done.body, "Key"),
                               xml_text(done.body, "Message"))};
    }
  }
  return {};
}

Result<Listing> S3Backend::list(const std::string& session, const std::string& after) const {
  Pairs query{{"list-type", "2"},
              {"max-keys", std::to_string(kKeysPerCall)},
              {"prefix", key_of(session + "/")}};
  if (!after.empty()) query.emplace_back("start-after", key_of(after));
  TRY_ASSIGN(const S3Reply reply, client_->call({.query = std::move(query)}));
  Listing listing;
  std::string last;
  for (const std::string_view contents : xml_elements(reply.body, "Contents")) {
    const std::string key = xml_text(contents, "Key");
    if (!key.starts_with(prefix_)) continue;
    last = key.substr(prefix_.size());
    if (is_place(last)) listing.places.push_back(last);
  }
  if (xml_text(reply.body, "IsTruncated") == "true") listing.next = last;
  return listing;
}

Result<> S3Backend::tidy(const std::string& session) {
  for (int round = 0; round < kTidyRoundsMax; ++round) {
    TRY_ASSIGN(const S3Reply reply,
               client_->call({.query = {{"uploads", ""}, {"prefix", key_of(session + "/")}}}));
    const auto uploads = xml_elements(reply.body, "Upload");
    if (uploads.empty()) return {};
    for (const std::string_view upload : uploads) {
      const Result<S3Reply> aborted =
          client_->call({.method = "DELETE",
                         .key = xml_text(upload, "Key"),
                         .query = {{"uploadId", xml_text(upload, "UploadId")}}});
      if (!aborted.ok() && aborted.error().kind() != Errc::Missing) return aborted.error();
    }
  }
  return Error{Errc::Unavailable, "S3 keeps listing uploads that were aborted"};
}

Result<std::vector<std::string>> S3Backend::list_sessions(const std::string& after) const {
  Pairs query{{"list-type", "2"},
              {"delimiter", "/"},
              {"max-keys", std::to_string(kKeysPerCall)},
              {"prefix", prefix_}};
  // '0' follows '/': behind everything of that session.
  if (!after.empty()) query.emplace_back("start-after", key_of(after + "0"));
  TRY_ASSIGN(const S3Reply reply, client_->call({.query = std::move(query)}));
  std::vector<std::string> names;
  for (const std::string_view common : xml_elements(reply.body, "CommonPrefixes")) {
    std::string name = xml_text(common, "Prefix");
    if (!name.starts_with(prefix_) || !name.ends_with('/')) continue;
    name = name.substr(prefix_.size(), name.size() - prefix_.size() - 1);
    if (name > after && is_session(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace quern::blob

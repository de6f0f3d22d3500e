#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>

#include "base/check.h"
#include "web/warc.h"
#include "web/warc_digest.h"
#include "web/warc_gzip.h"
#include "web/warc_time.h"

namespace quern::web {
namespace {

using Kind = blob::Digest::Kind;

constexpr std::string_view kVersion = "WARC/1.1\r\n";
constexpr std::string_view kRecordEnd = "\r\n\r\n";
constexpr std::string_view kIdenticalPayload =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
constexpr std::string_view kNotModified =
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

std::string random_record_id() {
  std::array<unsigned char, 16> bytes{};
  CHECK(::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);  // version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
  const std::string hex = blob::hex_of({reinterpret_cast<char*>(bytes.data()), bytes.size()});
  return fmt::format("<urn:uuid:{}-{}-{}-{}-{}>", hex.substr(0, 8), hex.substr(8, 4),
                     hex.substr(12, 4), hex.substr(16, 4), hex.substr(20));
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// Addresses come from strangers; none may begin another header.
std::string target_text(std::string_view url) {
  std::string text;
  for (const char c : url) {
    if (is_control(c) || c == ' ') {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text;
}

class RecordHead {
 public:
  explicit RecordHead(std::string_view type) { add("WARC-Type", type); }

  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_.append(name).append(": ");
    for (const char c : value) text_ += is_control(c) ? ' ' : c;
    text_ += "\r\n";
  }
  std::string finish(std::int64_t content_bytes) {
    add("Content-Length", std::to_string(content_bytes));
    return text_ + "\r\n";
  }

 private:
  std::string text_{kVersion};
};

struct Digests {
  std::string block;
  std::string payload;
};

Result<Digests> digests_of(std::string_view head, const Body& body) {
  blob::Digest block(Kind::Sha1);
  blob::Digest payload(Kind::Sha1);
  block.add(head);
  TRY(body.read([&](std::string_view piece) {
    block.add(piece);
    payload.add(piece);
    return Result<>();
  }));
  return Digests{sha1_label(block.finish()), sha1_label(payload.finish())};
}

std::string response_record_head(const CaptureOrder& order, const std::string& id,
                                 const Digests& digests, std::int64_t content_bytes) {
  RecordHead head(order.revisit ? "revisit" : "response");
  head.add("WARC-Record-ID", id);
  head.add("WARC-Date", warc_date(order.at_us));
  head.add("WARC-Target-URI", target_text(order.url));
  head.add("WARC-IP-Address", order.address);
  if (order.revisit) {
    head.add("WARC-Profile", order.revisit->not_modified ? kNotModified : kIdenticalPayload);
    head.add("WARC-Refers-To-Target-URI", target_text(order.revisit->url));
    if (order.revisit->at_us > 0) {
      head.add("WARC-Refers-To-Date", warc_date(order.revisit->at_us));
    }
  } else {
    head.add("WARC-Identified-Payload-Type", order.payload_type);
    head.add("WARC-Truncated", order.truncated);
  }
  head.add("WARC-Payload-Digest", digests.payload);
  head.add("WARC-Block-Digest", digests.block);
  head.add("Content-Type", "application/http; msgtype=response");
  return head.finish(content_bytes);
}

Result<> write_request(const CaptureOrder& order, const std::string& response_id,
                       const GzipMember::Sink& sink) {
  if (order.request_head.empty()) return {};
  RecordHead head("request");
  head.add("WARC-Record-ID", random_record_id());
  head.add("WARC-Date", warc_date(order.at_us));
  head.add("WARC-Target-URI", target_text(order.url));
  head.add("WARC-IP-Address", order.address);
  head.add("WARC-Concurrent-To", response_id);
  head.add("WARC-Block-Digest", sha1_label(blob::sha1_of(order.request_head)));
  head.add("Content-Type", "application/http; msgtype=request");
  GzipMember member(sink);
  TRY(member.add(head.finish(static_cast<std::int64_t>(order.request_head.size()))));
  TRY(member.add(order.request_head));
  TRY(member.add(kRecordEnd));
  TRY(member.finish());
  return {};
}

}  // namespace

Result<std::string> payload_digest(const Body& body) {
  TRY_ASSIGN(const Digests digests, digests_of({}, body));
  return digests.payload;
}

Result<std::int64_t> write_capture(const CaptureOrder& order,
                                   const std::function<Result<>(std::string_view)>& sink,
                                   std::string* payload_digest) {
  // A revisit keeps what the server said, not what it sent.
  const Body body = order.revisit ? Body() : order.body;
  TRY_ASSIGN(Digests digests, digests_of(order.response_head, body));
  if (order.revisit) digests.payload = order.revisit->payload_digest;
  const std::string id = random_record_id();
  const auto head_bytes = static_cast<std::int64_t>(order.response_head.size());
  std::int64_t response_bytes = 0;
  {
    using Packing = GzipMember::Packing;
    GzipMember member(sink, order.dense ? Packing::Stored : Packing::Deflated);
    TRY(member.add(response_record_head(order, id, digests, head_bytes + body.size())));
    TRY(member.add(order.response_head));
    TRY(body.read([&member](std::string_view piece) { return member.add(piece); }));
    TRY(member.add(kRecordEnd));
    TRY_ASSIGN(response_bytes, member.finish());
  }
  TRY(write_request(order, id, sink));
  if (payload_digest != nullptr) *payload_digest = std::move(digests.payload);
  return response_bytes;
}

Result<WrittenCapture> written_capture(const CaptureOrder& order) {
  WrittenCapture capture;
  const auto keep = [&capture](std::string_view bytes) {
    capture.bytes.append(bytes);
    return Result<>();
  };
  TRY_ASSIGN(capture.response_bytes, write_capture(order, keep, &capture.payload_digest));
  return capture;
}

std::string warcinfo_record(const std::string& filename, std::int64_t at_us,
                            const std::string& software) {
  RecordHead head("warcinfo");
  head.add("WARC-Record-ID", random_record_id());
  head.add("WARC-Date", warc_date(at_us));
  head.add("WARC-Filename", filename);
  std::string fields = "software: ";
  for (const char c : software) fields += is_control(c) ? ' ' : c;
  fields +=
      "\r\nformat: WARC File Format 1.1\r\nconformsTo: "
      "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n";
  head.add("WARC-Block-Digest", sha1_label(blob::sha1_of(fields)));
  head.add("Content-Type", "application/warc-fields");
  std::string record;
  const GzipMember::Sink keep = [&record](std::string_view bytes) {
    record.append(bytes);
    return Result<>();
  };
  GzipMember member(keep);
  CHECK_OK(member.add(head.finish(static_cast<std::int64_t>(fields.size())) + fields));
  CHECK_OK(member.add(kRecordEnd));
  CHECK_OK(member.finish());
  return record;
}

}  // namespace quern::web

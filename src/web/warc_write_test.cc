#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob/digest.h"
#include "support/temp_folder.h"
#include "support/warc_fixture.h"
#include "web/body.h"
#include "web/warc.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

using support::read_records;
using support::ReadRecord;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr std::int64_t kAtUs = 1'794'808'800'123'456;  // 2026-11-16T06:00:00.123456Z

CaptureOrder page() {
  CaptureOrder order;
  order.url = "https://site.example/a?b=c";
  order.at_us = kAtUs;
  order.address = "192.0.2.1";
  order.request_head = "GET /a?b=c HTTP/1.1\r\nHost: site.example\r\n\r\n";
  order.response_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
  order.body = BodyWriter::in_memory("<p>Hello</p>");
  order.payload_type = "text/html";
  return order;
}

std::vector<ReadRecord> records_of(const CaptureOrder& order) {
  const auto capture = written_capture(order);
  EXPECT_TRUE(capture.ok()) << capture.error().message();
  auto records = read_records(capture->bytes);
  EXPECT_TRUE(records.ok()) << records.error().message();
  if (!records->empty()) EXPECT_EQ(records->front().length, capture->response_bytes);
  return *records;
}

std::string header(const ReadRecord& read, std::string_view name) {
  return std::string(find_header(read.record, name));
}

TEST(WarcWriteTest, ACaptureIsAResponseAndItsRequest) {
  const auto records = records_of(page());
  ASSERT_EQ(records.size(), 2U);
  const ReadRecord& response = records[0];
  EXPECT_EQ(response.record.type, "response");
  EXPECT_EQ(response.record.url, "https://site.example/a?b=c");
  EXPECT_EQ(response.record.at_us, kAtUs);
  EXPECT_EQ(header(response, "WARC-Date"), "2026-11-16T06:00:00.123456Z");
  EXPECT_EQ(header(response, "WARC-IP-Address"), "192.0.2.1");
  EXPECT_EQ(header(response, "Content-Type"), "application/http; msgtype=response");
  EXPECT_EQ(header(response, "WARC-Identified-Payload-Type"), "text/html");
  EXPECT_EQ(header(response, "WARC-Truncated"), "");
  EXPECT_THAT(header(response, "WARC-Record-ID"),
              MatchesRegex("<urn:uuid:[0-9a-f-]{13}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>"));
  EXPECT_EQ(response.content, page().response_head + "<p>Hello</p>");

  const ReadRecord& request = records[1];
  EXPECT_EQ(request.record.type, "request");
  EXPECT_EQ(header(request, "WARC-Concurrent-To"), header(response, "WARC-Record-ID"));
  EXPECT_NE(header(request, "WARC-Record-ID"), header(response, "WARC-Record-ID"));
  EXPECT_EQ(header(request, "Content-Type"), "application/http; msgtype=request");
  EXPECT_EQ(request.content, page().request_head);
  EXPECT_EQ(request.record.offset, response.length);
}

TEST(WarcWriteTest, DigestsAreThoseThatOthersWouldWrite) {
  // sha1 of nothing, a well known value.
  EXPECT_EQ(*payload_digest(Body()), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
  const auto capture = written_capture(page());
  EXPECT_EQ(capture->payload_digest, *payload_digest(page().body));
  WarcReader reader(support::source_of(capture->bytes));
  const auto response = reader.next();
  EXPECT_EQ(find_header(**response, "WARC-Payload-Digest"), capture->payload_digest);
  const auto check = verify_record(reader, **response);
  EXPECT_EQ(check->block, DigestState::Right);
  EXPECT_EQ(check->payload, DigestState::Right);
  const auto request = reader.next();
  EXPECT_EQ(verify_record(reader, **request)->block, DigestState::Right);
}

TEST(WarcWriteTest, ARevisitKeepsTheHeadAndNamesWhatItSaw) {
  for (const bool not_modified : {false, true}) {
    CaptureOrder order = page();
    order.revisit = CaptureOrder::Revisit{.url = "https://site.example/old",
                                          .at_us = kAtUs - 1'000'000,
                                          .payload_digest = "sha1:AAAA",
                                          .not_modified = not_modified};
    const auto records = records_of(order);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].record.type, "revisit");
    EXPECT_EQ(records[0].content, order.response_head);
    EXPECT_EQ(header(records[0], "WARC-Profile"),
              std::string("http://netpreserve.org/warc/1.1/revisit/") +
                  (not_modified ? "server-not-modified" : "identical-payload-digest"));
    EXPECT_EQ(header(records[0], "WARC-Refers-To-Target-URI"), "https://site.example/old");
    EXPECT_EQ(header(records[0], "WARC-Refers-To-Date"), "2026-11-16T05:59:59.123456Z");
    EXPECT_EQ(header(records[0], "WARC-Payload-Digest"), "sha1:AAAA");
    EXPECT_EQ(written_capture(order)->payload_digest, "sha1:AAAA");
  }
}

TEST(WarcWriteTest, NoFieldCanBeginAnotherHeader) {
  CaptureOrder order = page();
  order.url = "https://site.example/a b\r\nWARC-Type: evil\x01";
  order.address = "192.0.2.1\r\nX: y";
  order.truncated = "length\nX: y";
  const auto records = records_of(order);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].record.type, "response");
  EXPECT_EQ(records[0].record.url, "https://site.example/a%20b%0D%0AWARC-Type:%20evil%01");
  EXPECT_EQ(header(records[0], "WARC-IP-Address"), "192.0.2.1  X: y");
  EXPECT_EQ(header(records[0], "WARC-Truncated"), "length X: y");
  EXPECT_EQ(header(records[0], "X"), "");
}

TEST(WarcWriteTest, ALargeBodyStreams) {
  const support::TempFolder folder;
  BodyWriter writer(folder.path());
  std::string piece(100'000, 'x');
  for (int i = 0; i < 30; ++i) {
    piece[static_cast<std::size_t>(i) * 77] = static_cast<char>('a' + i);
    ASSERT_TRUE(writer.add(piece).ok());
  }
  CaptureOrder order = page();
  order.body = writer.finish();
  const auto records = records_of(order);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].content.size(), order.response_head.size() + 3'000'000);
  EXPECT_EQ(records[0].content.substr(order.response_head.size()), *order.body.whole(3'000'000));
}

TEST(WarcWriteTest, ADenseBodyIsStoredAsItIs) {
  CaptureOrder order = page();
  order.body = BodyWriter::in_memory(std::string(300'000, 'x'));
  const auto packed = written_capture(order);
  order.dense = true;
  const auto stored = written_capture(order);
  ASSERT_TRUE(packed.ok() && stored.ok());
  EXPECT_LT(packed->response_bytes, 10'000);
  EXPECT_GT(stored->response_bytes, 300'000);
  EXPECT_LT(stored->response_bytes, 302'000);
  EXPECT_EQ(stored->payload_digest, packed->payload_digest);
  EXPECT_EQ(records_of(order).front().content, order.response_head + std::string(300'000, 'x'));
  order.dense = false;
  EXPECT_LT(written_capture(order)->response_bytes, 10'000) << "the next is packed again";
}

TEST(WarcWriteTest, WithoutARequestThereIsOnlyAResponse) {
  CaptureOrder order = page();
  order.request_head.clear();
  order.body = Body();
  EXPECT_EQ(records_of(order).size(), 1U);
}

TEST(WarcWriteTest, AnErrorOfTheSinkIsReturned) {
  const auto full = [](std::string_view) -> Result<> { return Error{Errc::Full, "no room"}; };
  EXPECT_EQ(write_capture(page(), full, nullptr).error().kind(), Errc::Full);
  EXPECT_TRUE(written_capture(page()).ok());  // the next one is not hurt
}

TEST(WarcWriteTest, WarcinfoSaysWhoWrote) {
  const std::string bytes = warcinfo_record("a.warc.gz", kAtUs, "quern/0.1\r\nX: y");
  WarcReader reader(support::source_of(bytes));
  const auto record = reader.next();
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->type, "warcinfo");
  EXPECT_EQ(find_header(**record, "WARC-Filename"), "a.warc.gz");
  EXPECT_EQ(find_header(**record, "Content-Type"), "application/warc-fields");
  const std::string fields = *support::content_of(reader);
  EXPECT_THAT(fields, HasSubstr("software: quern/0.1  X: y\r\n"));
  EXPECT_THAT(fields, Not(HasSubstr("\nX: y")));
  EXPECT_EQ(reader.position(), static_cast<std::int64_t>(bytes.size()));
}

}  // namespace
}  // namespace quern::web

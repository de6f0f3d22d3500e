// The protocol of /api/v1/uploads. tests/e2e/upload_test.cc has what needs a process that dies.
#include "api/uploads.h"

#include <gmock/gmock.h>

#include "step/import.h"
#include "support/upload_fixture.h"

namespace quern::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(UploadsTest, TheServerSaysWhatItCan) {
  const Told told = ask("OPTIONS", kAll, "");
  EXPECT_EQ(told.status, 204);
  EXPECT_EQ(told.field("Tus-Resumable"), "1.0.0");
  EXPECT_EQ(told.field("Tus-Version"), "1.0.0");
  EXPECT_EQ(told.field("Tus-Max-Size"), std::to_string(std::int64_t{1} << 40));
  EXPECT_EQ(told.field("Tus-Extension"),
            "creation,creation-with-upload,termination,checksum,expiration");
  EXPECT_EQ(told.field("Tus-Checksum-Algorithm"), "sha1,sha256");
}

TEST_F(UploadsTest, AFileComesInPieces) {
  const std::string address = begin(11, "dir/a.txt");
  EXPECT_THAT(address, testing::MatchesRegex("/api/v1/uploads/[0-9a-f]{32}"));
  EXPECT_EQ(offset(address), "0");
  Told told = patch(address, 0, "hello ");
  EXPECT_EQ(told.status, 204) << told.body;
  EXPECT_EQ(told.field("Upload-Offset"), "6");
  EXPECT_EQ(told.field("Tus-Resumable"), "1.0.0");
  EXPECT_EQ(root_of(load(address)).state, model::FileState::Created);
  EXPECT_FALSE(job_of(load(address)).sealed);

  told = ask("HEAD", address);
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(told.field("Upload-Offset"), "6");
  EXPECT_EQ(told.field("Upload-Length"), "11");
  EXPECT_EQ(told.field("Upload-Metadata"), model::format_tus_metadata({{"filename", "dir/a.txt"}}));
  EXPECT_EQ(told.field("Cache-Control"), "no-store");
  EXPECT_THAT(told.field("Upload-Expires"), HasSubstr(" GMT"));

  told = patch(address, 6, "world");
  EXPECT_EQ(told.status, 204) << told.body;
  EXPECT_EQ(told.field("Upload-Offset"), "11");
  const Upload upload = load(address);
  const tree::File root = root_of(upload);
  EXPECT_EQ(root.filename, "dir/a.txt");
  EXPECT_EQ(root.state, model::FileState::Written);
  EXPECT_EQ(root.step, "Detect");
  EXPECT_EQ(bytes_of(root), "hello world");
  EXPECT_TRUE(job_of(upload).sealed);
  EXPECT_EQ(job_of(upload).collection_name, "default");
  EXPECT_THAT(part_files(), IsEmpty());
  EXPECT_EQ(offset(address), "11");
  EXPECT_EQ(ask("HEAD", address).field("Upload-Expires"), "") << "it is done";
  EXPECT_EQ(patch(address, 11, "").status, 204) << "nothing more is fine";
}

TEST_F(UploadsTest, LargeFilesLieInTheFolderOfBlobs) {
  const std::string bytes(3 * kUploadPieceBytes + 17, 'x');
  const std::string address = begin(static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(patch(address, 0, bytes).status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), bytes);
  EXPECT_THAT(part_files(), IsEmpty());
}

TEST_F(UploadsTest, AnEmptyFileIsThereAtOnce) {
  const std::string address = begin(0);
  EXPECT_EQ(offset(address), "0");
  const Upload upload = load(address);
  EXPECT_TRUE(upload.done);
  EXPECT_EQ(root_of(upload).state, model::FileState::Written);
  EXPECT_EQ(bytes_of(root_of(upload)), "");
  EXPECT_TRUE(job_of(upload).sealed);
  EXPECT_THAT(part_files(), IsEmpty());
}

TEST_F(UploadsTest, TheFirstRequestMayBringBytes) {
  const std::string more = creation(11, {{"filename", "a"}}) + kPiece;
  Told told = ask("POST", kAll, more, "hello ");
  EXPECT_EQ(told.status, 201) << told.body;
  EXPECT_EQ(told.field("Upload-Offset"), "6");
  const std::string address = told.field("Location");
  EXPECT_EQ(patch(address, 6, "world").status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello world");

  told = ask("POST", kAll, more, "hello world");
  EXPECT_EQ(told.status, 201);
  EXPECT_EQ(told.field("Upload-Offset"), "11");
  EXPECT_TRUE(load(told.field("Location")).done);

  told = ask("POST", kAll, more + checksum_of("hello world", false), "hello world");
  EXPECT_EQ(told.status, 460);
}

TEST_F(UploadsTest, WithAKeyARepeatedRequestFindsTheSameUpload) {
  const std::string fields =
      creation(11, {{"filename", "a"}}) + "Idempotency-Key: mine\r\n" + kPiece;
  const Told first = ask("POST", kAll, fields, "hello ");
  const Told again = ask("POST", kAll, fields, "hello ");
  EXPECT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(again.field("Location"), first.field("Location"));
  EXPECT_EQ(again.field("Upload-Offset"), "6") << "the same bytes are not taken twice";
  EXPECT_EQ(patch(first.field("Location"), 6, "world").status, 204);
  const Told done = ask("POST", kAll, fields, "hello ");
  EXPECT_EQ(done.field("Location"), first.field("Location"));
  EXPECT_EQ(done.field("Upload-Offset"), "11");
  const Told other =
      ask("POST", kAll, creation(12, {{"filename", "a"}}) + "Idempotency-Key: mine\r\n");
  EXPECT_EQ(other.status, 409);
}

TEST_F(UploadsTest, AnUploadMayBelongToAJob) {
  tree::NewJob order;
  order.collection = "leak";
  order.key = "mine";
  const auto job = step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {});
  ASSERT_TRUE(job.ok());
  const model::TusMetadata metadata{
      {"filename", "a"}, {"job", std::to_string(job->id.value)}, {"index", "7"}};
  const Told first = ask("POST", kAll, creation(5, metadata));
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(ask("POST", kAll, creation(5, metadata)).field("Location"), first.field("Location"));
  const std::string address = first.field("Location");
  EXPECT_EQ(patch(address, 0, "hello").status, 204);
  const tree::File root = root_of(load(address));
  EXPECT_EQ(root.job, job->id);
  EXPECT_EQ(root.index, 7);
  EXPECT_FALSE(job_of(load(address)).sealed) << "that is for whoever made it";

  model::TusMetadata nowhere = metadata;
  nowhere["job"] = "4711";
  EXPECT_EQ(ask("POST", kAll, creation(5, nowhere)).status, 404);
}

TEST_F(UploadsTest, WhatTheClientDoesWrongIsToldByItsStatus) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello").status, 204);
  const std::string offset_of_it = "Upload-Offset: 5\r\n";

  Told told = ask("HEAD", address, "");
  EXPECT_EQ(told.status, 412);
  EXPECT_EQ(told.field("Tus-Version"), "1.0.0");
  EXPECT_EQ(ask("HEAD", address, "Tus-Resumable: 0.2.2\r\n").status, 412);

  told = patch(address, 4, " world");
  EXPECT_EQ(told.status, 409);
  EXPECT_EQ(told.field("Upload-Offset"), "5");
  EXPECT_EQ(told.field("Tus-Resumable"), "1.0.0");
  EXPECT_EQ(patch(address, 6, "world").status, 409);
  EXPECT_EQ(ask("PATCH", address, kTus + offset_of_it, " world").status, 415);
  EXPECT_EQ(ask("PATCH", address, std::string(kTus) + kPiece, " world").status, 400);
  EXPECT_EQ(patch(address, 5, " world", "Upload-Checksum: md5 AAAA\r\n").status, 400);
  EXPECT_EQ(patch(address, 5, " world and more").status, 413);
  EXPECT_EQ(offset(address), "5") << "none of these has changed anything";

  const std::string unknown = std::string(kAll) + "/0123456789abcdef0123456789abcdef";
  EXPECT_EQ(ask("HEAD", unknown).status, 404);
  EXPECT_EQ(patch(unknown, 0, "x").status, 404);
  EXPECT_EQ(ask("DELETE", unknown).status, 404);
  EXPECT_EQ(ask("HEAD", std::string(kAll) + "/..%2Fnode.id").status, 404);
  EXPECT_EQ(ask("POST", kAll, kTus).status, 400);
  EXPECT_EQ(ask("POST", kAll, creation((std::int64_t{1} << 40) + 1, {{"filename", "a"}})).status,
            413);
  EXPECT_EQ(ask("PATCH", kAll).status, 405);
  EXPECT_EQ(ask("POST", address).status, 405);
  EXPECT_EQ(patch(address, 5, " world").status, 204);
  EXPECT_EQ(patch(address, 11, "!").status, 413);
}

// 413, and not an upload that ends wrongly, where the length is not told beforehand.
TEST_F(UploadsTest, AChunkedBodyMayNotGoBeyondTheEnd) {
  const std::string address = begin(5);
  const std::string fields =
      fmt::format("{}{}Upload-Offset: 0\r\nTransfer-Encoding: chunked\r\n", kTus, kPiece);
  net::RawPeer peer = server_->peer();
  peer.send(net::request_text("PATCH", address, fields));
  peer.send("6\r\nhello!\r\n0\r\n\r\n");
  EXPECT_EQ(read(peer).status, 413);
  EXPECT_EQ(offset(address), "0");
  net::RawPeer second = server_->peer();
  second.send(net::request_text("PATCH", address, fields));
  second.send("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
  EXPECT_EQ(read(second).status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello");
}

TEST_F(UploadsTest, MethodsCanBeOverridden) {
  const std::string address = begin(5);
  const std::string as = "X-HTTP-Method-Override: ";
  const std::string patched = fmt::format("{}{}Upload-Offset: 0\r\n{}PATCH\r\n", kTus, kPiece, as);
  EXPECT_EQ(ask("POST", address, patched, "hel").status, 204);
  const Told told = ask("POST", address, kTus + as + "HEAD\r\n");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(told.field("Upload-Offset"), "3");
  EXPECT_EQ(ask("POST", address, kTus + as + "DELETE\r\n").status, 204);
  EXPECT_EQ(ask("HEAD", address).status, 404);
}

TEST_F(UploadsTest, WithAChecksumABodyCountsWhollyOrNotAtAll) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ", checksum_of("hello ", false)).status, 460);
  EXPECT_EQ(offset(address), "0");
  const std::string sha1 =
      "Upload-Checksum: sha1 " + base64_encoded(blob::sha1_of("hello ")) + "\r\n";
  EXPECT_EQ(patch(address, 0, "hello ", sha1).status, 204);
  EXPECT_EQ(offset(address), "6");

  {  // The sender breaks off in the middle.
    net::RawPeer peer = server_->peer();
    peer.send(
        fmt::format("PATCH {} HTTP/1.1\r\nHost: x\r\n{}{}{}Upload-Offset: 6\r\n"
                    "Content-Length: 5\r\n\r\nwo",
                    address, kTus, kPiece, checksum_of("world")));
    peer.end_sending();
    peer.read_to_end();
  }
  EXPECT_EQ(offset(address), "6");
  EXPECT_EQ(patch(address, 6, "w0rld", checksum_of("world")).status, 460);
  EXPECT_EQ(patch(address, 6, "world", checksum_of("world")).status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello world");
}

TEST_F(UploadsTest, WhatCameBeforeTheSenderBrokeOffCounts) {
  const std::string address = begin(11);
  net::RawPeer peer = server_->peer();
  peer.send(
      fmt::format("PATCH {} HTTP/1.1\r\nHost: x\r\n{}{}Upload-Offset: 0\r\n"
                  "Content-Length: 11\r\n\r\nhello ",
                  address, kTus, kPiece));
  peer.end_sending();
  peer.read_to_end();
  EXPECT_EQ(offset(address), "6");
  EXPECT_EQ(patch(address, 6, "world").status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello world");
}

TEST_F(UploadsTest, OneRequestAtATimeSendsBytes) {
  const std::string address = begin(11);
  net::RawPeer peer = server_->peer();
  peer.send(
      fmt::format("PATCH {} HTTP/1.1\r\nHost: x\r\n{}{}Upload-Offset: 0\r\n"
                  "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n",
                  address, kTus, kPiece));
  EXPECT_THAT(peer.read_until("\r\n\r\n"), HasSubstr("100 Continue")) << "it has the lock now";
  EXPECT_EQ(patch(address, 0, "other bytes").status, 423);
  EXPECT_EQ(offset(address), "0") << "looking is allowed";
  peer.send("hello world");
  EXPECT_EQ(read(peer).status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello world");
}

TEST_F(UploadsTest, ADroppedUploadTakesNoMoreBytes) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  const Upload upload = load(address);
  EXPECT_EQ(ask("DELETE", address).status, 204);
  EXPECT_EQ(ask("DELETE", address).status, 404);
  EXPECT_EQ(patch(address, 6, "world").status, 404);
  EXPECT_THAT(part_files(), IsEmpty());
  EXPECT_TRUE(job_of(upload).sealed);
  EXPECT_EQ(job_of(upload).sums.roots, 0);
}

TEST_F(UploadsTest, AnUploadThatIsDroppedWhileItsBytesComeIsGone) {
  const std::string address = begin(11);
  net::RawPeer peer = server_->peer();
  peer.send(
      fmt::format("PATCH {} HTTP/1.1\r\nHost: x\r\n{}{}Upload-Offset: 0\r\n"
                  "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n",
                  address, kTus, kPiece));
  peer.read_until("\r\n\r\n");
  EXPECT_EQ(ask("DELETE", address).status, 204);
  peer.send("hello world");
  EXPECT_EQ(read(peer).status, 404);
  EXPECT_EQ(ask("HEAD", address).status, 404);
  EXPECT_THAT(part_files(), IsEmpty());
}

TEST_F(UploadsTest, AFinishedUploadCanBeForgottenAndItsFileStays) {
  const std::string address = begin(5);
  EXPECT_EQ(patch(address, 0, "hello").status, 204);
  const Upload upload = load(address);
  EXPECT_EQ(ask("DELETE", address).status, 204);
  EXPECT_EQ(root_of(upload).state, model::FileState::Written);
}

// Whichever call fails, what the client is told is what a restart finds.
TEST_F(UploadsTest, WhatNoStepTakesBecomesAnError) {
  const Told made = ask(
      "POST", kAll, creation(5, {{"filename", "run.bin"}, {"content_type", "application/x-elf"}}));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string address = made.field("Location");
  EXPECT_EQ(root_of(load(address)).state, model::FileState::Created);
  EXPECT_EQ(patch(address, 0, "hello").status, 204);
  const tree::File root = root_of(load(address));
  EXPECT_EQ(root.state, model::FileState::Processed);
  EXPECT_EQ(root.error_kind, "unhandled");
  EXPECT_EQ(bytes_of(root), "hello");
}

TEST_F(UploadsTest, PeopleCanLookToo) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  const Told told = ask("GET", address, "");
  EXPECT_EQ(told.status, 200);
  EXPECT_THAT(told.body, HasSubstr(R"("length":11,"offset":6,"done":false)"));
}

}  // namespace
}  // namespace quern::api

// Uploads (tus 1.0) to the real server, on either store: what needs processes that die, several of
// them, or much memory. src/api/uploads_test.cc has the protocol's details.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>

#include "blob/digest.h"
#include "e2e/http_fixture.h"
#include "io/file.h"
#include "model/tus.h"
#include "net/raw_peer.h"
#include "support/proc.h"

namespace quern::e2e {
namespace {

using testing::HasSubstr;

constexpr char kAll[] = "/api/v1/uploads";
constexpr std::size_t kMiB = 1024 * 1024;
// What a server that is killed may lose of a PATCH: api::kUploadNoteBytes, and what lies in
// buffers.
constexpr std::size_t kNoteBytes = 32 * kMiB;

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 88172645463325252ULL;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

class UploadTest : public ServedTest {
 protected:
  void SetUp() override { serve(folder_, server_, address_); }
  // No workers: these tests end where a file is written.
  static void serve(const DataFolder& folder, std::unique_ptr<support::Program>& server,
                    std::string& address) {
    server = folder.start({"serve", "--listen", "127.0.0.1:0", "--steps", "none"});
    const auto line = server->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    address = line->substr(line->find("http://"));
  }
  net::Endpoint endpoint() const {
    return *net::Endpoint::parse(address_.substr(std::string("http://").size()));
  }
  static net::Headers tus(net::Headers more = {}) {
    more.set("Tus-Resumable", model::kTusVersion);
    return more;
  }
  std::string begin(std::size_t length, const std::string& name = "a.bin") {
    net::Headers headers = tus({{"Upload-Length", std::to_string(length)}});
    headers.set("Upload-Metadata", model::format_tus_metadata({{"filename", name}}));
    const net::Response answer = post(kAll, "", headers);
    EXPECT_EQ(answer.status, 201) << answer.body;
    const std::string* location = answer.headers.find("Location");
    return location == nullptr ? "" : *location;
  }
  net::Response patch(const std::string& target, std::size_t offset, std::string body) {
    net::Headers headers = tus({{"Upload-Offset", std::to_string(offset)}});
    headers.set("Content-Type", "application/offset+octet-stream");
    return send(net::Method::Patch, target, std::move(body), headers);
  }
  std::size_t offset(const std::string& target) {
    const net::Response answer = send(net::Method::Head, target, "", tus());
    const std::string* told = answer.headers.find("Upload-Offset");
    EXPECT_EQ(answer.status, 200);
    return told == nullptr ? 0 : std::stoull(*told);
  }
  bool reaches(const std::string& target, std::size_t bytes) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (offset(target) < bytes) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // A PATCH whose end never comes.
  std::unique_ptr<net::RawPeer> begin_patch(const std::string& target, std::size_t offset,
                                            std::size_t length, std::string_view first) {
    auto peer = std::make_unique<net::RawPeer>(endpoint());
    peer->send(
        fmt::format("PATCH {} HTTP/1.1\r\nHost: 127.0.0.1\r\nTus-Resumable: 1.0.0\r\n"
                    "Content-Type: application/offset+octet-stream\r\nUpload-Offset: {}\r\n"
                    "Content-Length: {}\r\n\r\n",
                    target, offset, length));
    peer->send(first);
    return peer;
  }
  bool is_known(const std::string& name, const std::string& bytes) {
    std::string target = "/api/v1/collections/default/known";
    net::append_query(target, "filename", name);
    net::append_query(target, "sha256", blob::hex_of(blob::sha256_of(bytes)));
    return field(get_json(target), "known") == "true";
  }
  std::vector<std::string> parts() {
    std::vector<std::string> names;
    const auto entries = io::list_folder(folder_.path() / "uploads", 1000);
    for (const io::FolderEntry& entry : *entries) {
      if (entry.name.ends_with(".part")) names.push_back(entry.name);
    }
    return names;
  }
};

TEST_P(UploadTest, AFileThatComesInPiecesBelongsToAJobOfItsOwn) {
  const std::string bytes = some_bytes(100'000);
  const std::string upload = begin(bytes.size(), "dir/a.bin");
  EXPECT_EQ(patch(upload, 0, bytes.substr(0, 60'000)).status, 204);
  EXPECT_EQ(offset(upload), 60'000U);
  EXPECT_FALSE(is_known("dir/a.bin", bytes));
  EXPECT_EQ(patch(upload, 60'000, bytes.substr(60'000)).status, 204);
  EXPECT_TRUE(is_known("dir/a.bin", bytes));
  const auto told = get_json(upload);
  EXPECT_EQ(field(told, "done"), "true");
  const auto job = get_json("/api/v1/jobs/" + field(told, "job"));
  EXPECT_EQ(field(job, "sealed"), "true");
  EXPECT_EQ(field(job, "roots"), "1");
  EXPECT_EQ(field(job, "bytes"), "100000");
  EXPECT_EQ(field(job, "source"), "dir/a.bin");
  EXPECT_TRUE(parts().empty());
}

TEST_P(UploadTest, AServerThatIsKilledInMidPatchGoesOnWhereItHadSynced) {
  const std::string bytes = some_bytes(kNoteBytes + 3 * kMiB);
  const std::string upload = begin(bytes.size());
  const auto peer = begin_patch(upload, 0, bytes.size(), bytes.substr(0, bytes.size() - kMiB));
  ASSERT_TRUE(reaches(upload, kNoteBytes)) << "it is noted while the body still comes";
  const std::size_t told = offset(upload);
  server_->kill();
  serve(folder_, server_, address_);
  const std::size_t now = offset(upload);
  EXPECT_GE(now, told) << "what a client was told is there";
  EXPECT_LT(now, bytes.size());
  EXPECT_EQ(patch(upload, now, bytes.substr(now)).status, 204);
  EXPECT_TRUE(is_known("a.bin", bytes));
  EXPECT_TRUE(parts().empty());
}

TEST_P(UploadTest, AClientThatIsKilledGoesOnBehindTheLastByteThatArrived) {
  const std::string bytes = some_bytes(300'000);
  const std::string upload = begin(bytes.size());
  {
    const auto peer = begin_patch(upload, 0, bytes.size(), bytes.substr(0, 200'000));
    peer->close();
  }
  ASSERT_TRUE(reaches(upload, 200'000)) << "whatever had left the client";
  // Killed again, this time with a reset: what had not been read then is lost.
  begin_patch(upload, 200'000, 100'000, bytes.substr(200'000, 50'000))->reset();
  std::size_t at = 0;
  int status = 423;  // until the server has seen that nobody sends any more
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while ((status == 423 || status == 409) && std::chrono::steady_clock::now() < give_up) {
    at = offset(upload);
    status = patch(upload, at, bytes.substr(at)).status;
  }
  EXPECT_EQ(status, 204);
  EXPECT_GE(at, 200'000U);
  EXPECT_TRUE(is_known("a.bin", bytes));
}

TEST_P(UploadTest, AServerThatIsStoppedKeepsWhatHadCome) {
  const std::string bytes = some_bytes(16 * kMiB);
  const std::string upload = begin(bytes.size());
  const auto peer = begin_patch(upload, 0, bytes.size(), bytes.substr(0, kMiB));
  ASSERT_TRUE(server_->signal(SIGTERM).ok());
  // More comes while it stops; once a buffer is full it says so.
  pollfd answer{peer->fd(), POLLIN, 0};
  for (std::size_t at = kMiB; at < 15 * kMiB && ::poll(&answer, 1, 20) == 0; at += kMiB / 16) {
    peer->send_some(bytes.substr(at, kMiB / 16));
  }
  EXPECT_THAT(peer->read_to_end(), HasSubstr("503"));
  ASSERT_TRUE(server_->wait()->exited_with(0));
  serve(folder_, server_, address_);
  const std::size_t now = offset(upload);
  EXPECT_GT(now, 0U);
  EXPECT_EQ(patch(upload, now, bytes.substr(now)).status, 204);
  EXPECT_TRUE(is_known("a.bin", bytes));
}

TEST_P(UploadTest, MemoryDoesNotGrowWithTheFile) {
  const std::size_t mib = 192;
  const std::string piece = some_bytes(kMiB);
  patch(begin(kMiB), 0, piece);  // what is there once
  const std::int64_t before_kb = support::rss_anon_kb(server_->pid());
  const std::string upload = begin(mib * kMiB);
  const auto peer = begin_patch(upload, 0, mib * kMiB, "");
  std::int64_t most_kb = 0;
  for (std::size_t i = 0; i < mib; ++i) {
    peer->send(piece);
    most_kb = std::max(most_kb, support::rss_anon_kb(server_->pid()));
  }
  EXPECT_EQ(peer->read_status(), "204");
  most_kb = std::max(most_kb, support::rss_anon_kb(server_->pid()));
  fmt::print("{} MiB uploaded: RssAnon {} KiB, before {} KiB\n", mib, most_kb, before_kb);
  EXPECT_LT(most_kb - before_kb, 16 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Stores, UploadTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

// Two servers of one database, each with a data folder of its own.
class UploadServersTest : public UploadTest {
 protected:
  void SetUp() override {
    UploadTest::SetUp();
    second_server_ = folder_.start({"serve", "--listen", "127.0.0.1:0", "--steps", "none", "--data",
                                    (second_folder_ / "data").string()});
    const auto line = second_server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    second_ = line->substr(line->find("http://"));
    first_ = address_;
  }

  support::TempFolder second_folder_;
  std::unique_ptr<support::Program> second_server_;
  std::string first_;
  std::string second_;
};

TEST_P(UploadServersTest, BytesGoToTheServerWhereTheUploadBeganAndAllKnowHowFarItIs) {
  const std::string bytes = some_bytes(100'000);
  const std::string upload = begin(bytes.size());
  EXPECT_EQ(patch(upload, 0, bytes.substr(0, 60'000)).status, 204);
  address_ = second_;
  EXPECT_EQ(offset(upload), 60'000U);
  const net::Response elsewhere = patch(upload, 60'000, bytes.substr(60'000));
  EXPECT_EQ(elsewhere.status, 503);
  EXPECT_THAT(elsewhere.body, HasSubstr("another server"));
  ASSERT_NE(elsewhere.headers.find("Retry-After"), nullptr);
  address_ = first_;
  EXPECT_EQ(patch(upload, 60'000, bytes.substr(60'000)).status, 204);
  address_ = second_;
  EXPECT_EQ(field(get_json(upload), "done"), "true");
  EXPECT_TRUE(is_known("a.bin", bytes));
}

TEST_P(UploadServersTest, AnyServerCanDropAnUpload) {
  const std::string upload = begin(100);
  EXPECT_EQ(patch(upload, 0, std::string(60, 'x')).status, 204);
  address_ = second_;
  EXPECT_EQ(remove(upload, tus()).status, 204);
  address_ = first_;
  EXPECT_EQ(patch(upload, 60, std::string(40, 'x')).status, 404);
}

INSTANTIATE_TEST_SUITE_P(Stores, UploadServersTest, testing::Values(Store::Postgres), name_of);

}  // namespace
}  // namespace quern::e2e

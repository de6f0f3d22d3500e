#include "blob/s3_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <thread>

#include "blob/s3_backend.h"
#include "io/descriptor.h"

namespace quern::blob {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// A server that says what it was told to, one answer for each connection.
class ScriptedS3 {
 public:
  explicit ScriptedS3(std::vector<std::string> answers)
      : answers_(answers.begin(), answers.end()),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), 16) == 0);
    CHECK(::getsockname(listener_.get(), generic, &size) == 0);
    port_ = ::ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedS3() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  BlobUrl url() const {
    return *BlobUrl::parse("s3://bucket/prefix?endpoint=http://127.0.0.1:" + std::to_string(port_));
  }
  std::vector<std::string> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (true) {
      io::Descriptor peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.is_open()) return;
      std::string request;
      char bytes[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::read(peer.get(), bytes, sizeof bytes);
        if (got <= 0) break;
        request.append(bytes, static_cast<std::size_t>(got));
      }
      std::string answer;
      {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(request.substr(0, request.find("\r\n")));
        if (answers_.empty()) continue;
        answer = answers_.front();
        answers_.pop_front();
      }
      if (answer == kSilence) {
        held_.push_back(std::move(peer));
        continue;
      }
      (void)::write(peer.get(), answer.data(), answer.size());
      ::shutdown(peer.get(), SHUT_WR);
      while (::read(peer.get(), bytes, sizeof bytes) > 0) {
      }
    }
  }

 public:
  inline static const std::string kSilence = "(silence)";

 private:
  std::mutex mutex_;
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  std::vector<io::Descriptor> held_;
  io::Descriptor listener_;
  int port_ = 0;
  std::thread thread_;
};

std::string answer(int status, const std::string& body = "") {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     body.size(), body);
}

std::string error_body(const std::string& code) {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>why</Message></Error>";
}

constexpr S3Options kQuick{.attempts_max = 3,
                           .backoff_ms = 1,
                           .connect_ms_max = 2000,
                           .stalled_s_max = 1,
                           .request_ms_max = 1000};

std::unique_ptr<S3Client> client_of(const ScriptedS3& server) {
  return *S3Client::open(server.url(), {"key", "secret", ""}, kQuick);
}

TEST(S3ClientTest, WhatMaySucceedLaterIsAskedAgain) {
  ScriptedS3 server({answer(503, error_body("SlowDown")), "", answer(200, "bytes")});
  const Result<S3Reply> reply = client_of(server)->call({.key = "a/b"});
  ASSERT_TRUE(reply.ok()) << reply.error().message();
  EXPECT_EQ(reply->body, "bytes");
  EXPECT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(server.requests()[0], "GET /bucket/a/b HTTP/1.1");
}

TEST(S3ClientTest, NotForEver) {
  ScriptedS3 server({answer(500), answer(500), answer(500), answer(200)});
  const Result<S3Reply> reply = client_of(server)->call({.key = "a"});
  EXPECT_EQ(reply.error().kind(), Errc::Unavailable);
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(S3ClientTest, WhatIsRefusedIsNotAskedAgain) {
  struct Case {
    int status;
    std::string code;
    Errc kind;
  };
  for (const Case& one :
       {Case{403, "SignatureDoesNotMatch", Errc::Denied}, Case{404, "NoSuchKey", Errc::Missing},
        Case{412, "PreconditionFailed", Errc::Conflict}, Case{400, "InvalidDigest", Errc::Invalid},
        Case{403, "QuotaExceeded", Errc::Full}}) {
    ScriptedS3 server({answer(one.status, error_body(one.code))});
    const Result<S3Reply> reply = client_of(server)->call({.key = "a"});
    EXPECT_EQ(reply.error().kind(), one.kind) << one.code;
    EXPECT_THAT(reply.error().message(), HasSubstr(one.code));
    EXPECT_THAT(server.requests(), SizeIs(1));
  }
}

TEST(S3ClientTest, APeerThatSaysNothingIsGivenUp) {
  ScriptedS3 server({ScriptedS3::kSilence, answer(200, "late")});
  const Result<S3Reply> reply = client_of(server)->call({.key = "a"});
  ASSERT_TRUE(reply.ok()) << "the second time it answered";
  EXPECT_EQ(reply->body, "late");
}

TEST(S3ClientTest, AnAnswerThatIsTooLargeOrCutOffIsNoAnswer) {
  ScriptedS3 large({answer(200, std::string(1000, 'x'))});
  EXPECT_EQ(client_of(large)->call({.key = "a", .reply_bytes_max = 999}).error().kind(),
            Errc::TooLarge);
  const std::string cut = answer(200, std::string(1000, 'x')).substr(0, 500);
  ScriptedS3 cutting({cut, cut, answer(200, "whole")});
  EXPECT_EQ(client_of(cutting)->call({.key = "a"})->body, "whole");
}

TEST(S3ClientTest, NobodyThereIsUnavailable) {
  BlobUrl url;
  {
    const ScriptedS3 gone({});
    url = gone.url();
  }
  const auto client = *S3Client::open(url, {"key", "secret", ""}, kQuick);
  EXPECT_EQ(client->call({.key = "a"}).error().kind(), Errc::Unavailable);
}

TEST(S3ClientTest, RedirectsAreNotFollowed) {
  ScriptedS3 server(
      {"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"
       "Connection: close\r\n\r\n"});
  EXPECT_FALSE(client_of(server)->call({.key = "a"}).ok());
  EXPECT_THAT(server.requests(), SizeIs(1));
}

// The parts are sent; the completion is done but its answer lost, and unknown when asked again.
TEST(S3WriterTest, ACompletionWhoseAnswerWasLostIsLookedUp) {
  const std::string head = fmt::format(
      "HTTP/1.1 200 X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", kS3PartBytes);
  ScriptedS3 server({answer(200),  // the bucket
                     answer(200, "<R><UploadId>u1</UploadId></R>"),
                     "HTTP/1.1 200 X\r\nETag: \"e1\"\r\nContent-Length: 0\r\nConnection: "
                     "close\r\n\r\n",
                     "", answer(404, error_body("NoSuchUpload")), head});
  const auto backend = *S3Backend::open(server.url(), {"key", "secret", ""}, kQuick);
  const auto writer = *backend->create("1-ab/000/000000");
  ASSERT_TRUE(writer->write(std::string(kS3PartBytes, 'x')).ok());
  EXPECT_TRUE(writer->commit().ok());
  const std::vector<std::string> requests = server.requests();
  ASSERT_THAT(requests, SizeIs(6));
  EXPECT_EQ(requests[1], "POST /bucket/prefix/1-ab/000/000000?uploads= HTTP/1.1");
  EXPECT_EQ(requests[2], "PUT /bucket/prefix/1-ab/000/000000?partNumber=1&uploadId=u1 HTTP/1.1");
  EXPECT_EQ(requests[5], "HEAD /bucket/prefix/1-ab/000/000000 HTTP/1.1");
}

// Some servers begin to answer before they are done.
TEST(S3WriterTest, ACompletionThatFailedInTheAnswersBodyIsAFailure) {
  ScriptedS3 server({answer(200), answer(200, "<R><UploadId>u1</UploadId></R>"), answer(200),
                     answer(200, error_body("InternalError")), answer(404), answer(204)});
  const auto backend = *S3Backend::open(server.url(), {"key", "secret", ""}, kQuick);
  {
    const auto writer = *backend->create("1-ab/000/000000");
    ASSERT_TRUE(writer->write(std::string(kS3PartBytes, 'x')).ok());
    EXPECT_EQ(writer->commit().error().kind(), Errc::Unavailable);
  }
  EXPECT_THAT(server.requests().back(), HasSubstr("DELETE")) << "and it was aborted";
}

}  // namespace
}  // namespace quern::blob

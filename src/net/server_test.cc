// The server against peers that behave, over real sockets: what a handler can do, and how it ends.
#include "net/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

#include "net/raw_peer.h"
#include "net/target.h"
#include "support/temp_folder.h"

namespace quern::net {
namespace {

constexpr char kPieces[] = "first,second,third,";

Task<Result<>> stream_pieces(Exchange& exchange, std::optional<std::uint64_t> length) {
  CO_TRY(co_await exchange.start(ResponseHead{}, length));
  CO_TRY(co_await exchange.write("first,"));
  CO_TRY(co_await exchange.write(""));
  CO_TRY(co_await exchange.write("second,"));
  CO_TRY(co_await exchange.write("third,"));
  co_return co_await exchange.finish();
}

Task<Result<>> echo(Exchange& exchange) {
  CO_TRY_ASSIGN(std::string body, co_await exchange.read_all(1024));
  co_return co_await exchange.respond(text_response(200, exchange.request().target + ":" + body));
}

Task<Result<>> misbehave(Exchange& exchange, std::string how) {
  if (how == "throw") throw std::runtime_error("secret");
  if (how == "silent") co_return Result<>{};
  if (how == "conflict") co_return Error{Errc::Conflict, "already there"};
  // Begun and not finished.
  CO_TRY(co_await exchange.start(ResponseHead{}, std::nullopt));
  CO_TRY(co_await exchange.write("part"));
  if (how == "half_throw") throw std::runtime_error("secret");
  co_return Error{Errc::Internal, "gave up"};
}

std::string_view name_of(PeerKind kind) {
  if (kind == PeerKind::Unix) return "unix";
  return kind == PeerKind::TcpLoopback ? "loopback" : "other";
}

Task<Result<>> serve(Exchange& exchange) {
  const auto target = parse_target(exchange.request().target);
  const std::string what = target->segments.empty() ? "" : target->segments[0];
  if (what == "pieces") co_return co_await stream_pieces(exchange, std::nullopt);
  if (what == "sized") co_return co_await stream_pieces(exchange, sizeof kPieces - 1);
  if (what == "empty") co_return co_await exchange.respond(empty_response(204));
  if (what == "peer")
    co_return co_await exchange.respond(text_response(200, std::string(name_of(exchange.peer()))));
  if (what == "ignore") co_return co_await exchange.respond(text_response(200, "ignored"));
  if (what == "bad") co_return co_await misbehave(exchange, target->segments.at(1));
  co_return co_await echo(exchange);
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

class EachSocketKind : public testing::TestWithParam<Endpoint::Kind> {
 protected:
  ServerOptions options() {
    ServerOptions options;
    options.listen = {GetParam() == Endpoint::Kind::Tcp
                          ? *Endpoint::parse("127.0.0.1:0")
                          : Endpoint::unix_path((folder_ / "socket").string())};
    return options;
  }
  support::TempFolder folder_;
};

TEST_P(EachSocketKind, KeepsAConnectionForManyRequests) {
  ServerOnThread server(options(), serve);
  RawPeer peer = server.peer();
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    peer.send(request_text("POST", "/echo", "", text));
    EXPECT_EQ(body_of(peer.read_answer()), "/echo:" + text);
  }
  const ServerMetrics metrics = server.metrics();
  EXPECT_EQ(metrics.connections_total, 1u);
  EXPECT_EQ(metrics.connections_open, 1u);
  EXPECT_EQ(metrics.requests_total, 100u);
  EXPECT_EQ(metrics.requests_in_flight, 0u);
  EXPECT_GT(metrics.bytes_in, 4000u);
  EXPECT_GT(metrics.bytes_out, 4000u);
}

TEST_P(EachSocketKind, AnswersPipelinedRequestsInOrder) {
  ServerOnThread server(options(), serve);
  RawPeer peer = server.peer();
  std::string all;
  for (int i = 0; i < 20; ++i) all += request_text("POST", "/" + std::to_string(i), "", "body");
  peer.send(all);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(peer.read_answer()), fmt::format("/{}:body", i));
}

TEST_P(EachSocketKind, TakesAChunkedRequestByteByByte) {
  ServerOnThread server(options(), serve);
  RawPeer peer = server.peer();
  const std::string text = request_text("PUT", "/echo", "Transfer-Encoding: chunked\r\n") +
                           "3\r\nabc\r\n000a;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
  for (const char c : text) peer.send({&c, 1});
  EXPECT_EQ(body_of(peer.read_answer()), "/echo:abc0123456789");
  peer.send(request_text("GET", "/next"));
  EXPECT_EQ(body_of(peer.read_answer()), "/next:");
}

TEST_P(EachSocketKind, AnswersAPeerThatHasEndedItsSending) {
  ServerOnThread server(options(), serve);
  RawPeer peer = server.peer();
  peer.send(request_text("POST", "/last", "", "words"));
  peer.end_sending();
  EXPECT_EQ(body_of(peer.read_to_end()), "/last:words");
}

TEST_P(EachSocketKind, SaysWhereThePeerIs) {
  ServerOnThread server(options(), serve);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/peer"));
  const char* expected = GetParam() == Endpoint::Kind::Tcp ? "loopback" : "unix";
  EXPECT_EQ(body_of(peer.read_answer()), expected);
}

INSTANTIATE_TEST_SUITE_P(Sockets, EachSocketKind,
                         testing::Values(Endpoint::Kind::Tcp, Endpoint::Kind::Unix),
                         [](const auto& info) {
                           return info.param == Endpoint::Kind::Tcp ? "Tcp" : "Unix";
                         });

TEST(ServerTest, StreamsAnAnswerInChunks) {
  ServerOnThread server({}, serve);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/pieces"));
  const std::string head = peer.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_NE(head.find("Date: "), std::string::npos);
  EXPECT_EQ(peer.read_until("0\r\n\r\n"),
            "6\r\nfirst,\r\n7\r\nsecond,\r\n6\r\nthird,\r\n0\r\n\r\n");
}

TEST(ServerTest, StreamsAnAnswerOfKnownLength) {
  ServerOnThread server({}, serve);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/sized"));
  const std::string answer = peer.read_answer();
  EXPECT_EQ(answer.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(body_of(answer), kPieces);
}

TEST(ServerTest, HeadHasTheHeadersAndNoBody) {
  ServerOnThread server({}, serve);
  RawPeer peer = server.peer();
  peer.send(request_text("HEAD", "/echo") + request_text("HEAD", "/sized") +
            request_text("HEAD", "/pieces") + request_text("GET", "/empty") +
            request_text("GET", "/end", "Connection: close\r\n"));
  EXPECT_NE(peer.read_until("\r\n\r\n").find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_NE(peer.read_until("\r\n\r\n").find("Content-Length: 19\r\n"), std::string::npos);
  EXPECT_NE(peer.read_until("\r\n\r\n").find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  const std::string empty = peer.read_until("\r\n\r\n");
  EXPECT_EQ(empty.substr(9, 3), "204");
  EXPECT_EQ(empty.find("Content-Length"), std::string::npos);
  const std::string last = peer.read_to_end();
  EXPECT_NE(last.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(body_of(last), "/end:");
}

TEST(ServerTest, Http10ClosesUnlessAskedToKeep) {
  ServerOnThread server({}, serve);
  RawPeer closing = server.peer();
  closing.send("GET /pieces HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(closing.read_to_end()), kPieces) << "no chunks for HTTP/1.0";

  RawPeer keeping = server.peer();
  keeping.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(keeping.read_answer().find("Connection: keep-alive\r\n"), std::string::npos);
  keeping.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(keeping.read_to_end()), "/b:");
}

TEST(ServerTest, AHandlerThatFailsIsAnsweredFor) {
  ServerOnThread server({}, serve);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/bad/throw"));
  const std::string thrown = peer.read_answer();
  EXPECT_EQ(thrown.substr(9, 3), "500");
  EXPECT_NE(thrown.find("application/problem+json"), std::string::npos);
  EXPECT_EQ(thrown.find("secret"), std::string::npos);
  peer.send(request_text("GET", "/bad/silent"));
  EXPECT_EQ(peer.read_status(), "500");
  peer.send(request_text("GET", "/bad/conflict"));
  const std::string conflict = peer.read_answer();
  EXPECT_EQ(conflict.substr(9, 3), "409");
  EXPECT_NE(conflict.find("already there"), std::string::npos);
  peer.send(request_text("GET", "/fine"));
  EXPECT_EQ(peer.read_status(), "200") << "the connection was still good";
}

TEST(ServerTest, AnAnswerThatCannotBeFinishedIsCut) {
  ServerOnThread server({}, serve);
  for (const char* target : {"/bad/half_throw", "/bad/half_error"}) {
    RawPeer peer = server.peer();
    peer.send(request_text("GET", target));
    const std::string answer = peer.read_to_end();
    EXPECT_NE(answer.find("part"), std::string::npos);
    EXPECT_EQ(answer.find("0\r\n\r\n"), std::string::npos) << "nobody may take it for complete";
  }
}

TEST(ServerTest, ListensOnSeveralEndpointsAndTellsTheirPorts) {
  support::TempFolder folder;
  ServerOptions options;
  options.listen = {*Endpoint::parse("127.0.0.1:0"), *Endpoint::parse("[::1]:0"),
                    Endpoint::unix_path((folder / "s").string())};
  ServerOnThread server(options, serve);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i < 2) EXPECT_NE(server.endpoint(i).port, 0);
    RawPeer peer(server.endpoint(i));
    peer.send(request_text("GET", "/x"));
    EXPECT_EQ(peer.read_status(), "200") << i;
  }
}

TEST(ServerTest, ATakenPortIsAConflictAndNothingStaysOpen) {
  support::TempFolder folder;
  ServerOnThread server({}, serve);
  Loop loop;
  ServerOptions options;
  options.listen = {Endpoint::unix_path((folder / "s").string()), server.endpoint()};
  const auto second = Server::open(loop, options, serve);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind(), Errc::Conflict);
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
}

TEST(ServerTest, ServesASocketItIsGiven) {
  ServerOnThread server({}, serve);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  server.on_loop([&] {
    server.server().adopt(io::Descriptor(ends[0]));
    return true;
  });
  RawPeer peer{io::Descriptor(ends[1])};
  peer.send(request_text("GET", "/peer"));
  EXPECT_EQ(body_of(peer.read_answer()), "unix");
}

TEST(UnixSocketTest, AStaleSocketIsReplacedAndTheNameGoesWithTheServer) {
  support::TempFolder folder;
  const std::string path = (folder / "s").string();
  ServerOptions options;
  options.listen = {Endpoint::unix_path(path)};
  {
    // What a killed process leaves: a name that nobody listens behind.
    const auto stale = listen_on(options.listen[0], 1, 0600);
    ASSERT_TRUE(stale.ok());
  }
  ASSERT_TRUE(std::filesystem::is_socket(path));
  {
    ServerOnThread server(options, serve);
    RawPeer peer = server.peer();
    peer.send(request_text("GET", "/x"));
    EXPECT_EQ(peer.read_status(), "200");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(UnixSocketTest, TheNameOfASuccessorStays) {
  support::TempFolder folder;
  ServerOptions options;
  options.listen = {Endpoint::unix_path((folder / "s").string())};
  auto first = std::make_unique<ServerOnThread>(options, serve);
  ServerOnThread second(options, serve);
  first.reset();
  RawPeer peer = second.peer();
  peer.send(request_text("GET", "/x"));
  EXPECT_EQ(peer.read_status(), "200");
}

TEST(UnixSocketTest, SomethingElseThanASocketIsNotReplaced) {
  support::TempFolder folder;
  std::ofstream(folder / "s") << "precious";
  Loop loop;
  ServerOptions options;
  options.listen = {Endpoint::unix_path((folder / "s").string())};
  EXPECT_EQ(Server::open(loop, options, serve).error().kind(), Errc::Conflict);
  EXPECT_EQ(std::filesystem::file_size(folder / "s"), 8u);
}

TEST(UnixSocketTest, APathMayBeLongerThanTheKernelsField) {
  support::TempFolder folder;
  std::filesystem::path deep = folder.path();
  while (deep.string().size() < 400) deep /= std::string(50, 'd');
  std::filesystem::create_directories(deep);
  ServerOptions options;
  options.listen = {Endpoint::unix_path((deep / "socket").string())};
  ServerOnThread server(options, serve);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/x"));
  EXPECT_EQ(peer.read_status(), "200");
}

}  // namespace
}  // namespace quern::net

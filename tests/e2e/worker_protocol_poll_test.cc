// The conformance checklist of the worker protocol, items 1, 2, 3, 11, 16 and 17: polls, tasks and
// connections.
#include <cstdlib>

#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a poller is watched: `make soak` says an hour.
std::chrono::minutes soak_minutes() {
  const char* minutes = std::getenv("QUERN_SOAK_MINUTES");
  return std::chrono::minutes(minutes == nullptr ? 0 : std::atoi(minutes));
}

QUERN_ON_BOTH_STORES(WorkerProtocolTest);

TEST_P(WorkerProtocolTest, Wire01_AnIdleStepHoldsEachPollAndNeverAnswersAnError) {
  const bool is_soak = soak_minutes().count() > 0;
  serve({{"QUERN_POLL_HOLD", is_soak ? "15000" : "300"}});
  const milliseconds hold(is_soak ? 15'000 : 300);
  WorkerPeer peer = worker();
  const auto begin = steady_clock::now();
  const auto end = begin + std::max<milliseconds>(soak_minutes(), 5 * hold);
  int polls = 0;
  for (; steady_clock::now() < end; ++polls) {
    const HttpAnswer answer = peer.poll("Archive");
    ASSERT_EQ(answer.status, 204) << answer.head;
    EXPECT_EQ(answer.body, "");
  }
  // One connection for all of them, and none was answered at once: the client polls without pause.
  EXPECT_LE(polls * hold, steady_clock::now() - begin + hold);
}

TEST_P(WorkerProtocolTest, Wire01_EveryStepIsPolledByItsOwnName) {
  serve({{"QUERN_POLL_HOLD", "20"}});
  WorkerPeer peer = worker();
  for (const char* step : {"Archive", "Email", "Html", "Image", "Office", "Pdf", "PdfOcr", "Pst",
                           "Text", "Ebook", "Audio", "Mbox", "Msg", "Detect", "Page"}) {
    EXPECT_EQ(peer.poll(step).status, 204) << step;
  }
  EXPECT_EQ(peer.poll("archive").status, 404) << "names are told apart by case";
  EXPECT_EQ(peer.request("PUT", "/steps/Archive").status, 405);
}

TEST_P(WorkerProtocolTest, Wire02_TheTaskHasAllFieldsAndAddressesOfTheHostThatWasAsked) {
  serve();
  const std::string bytes = "PK\x03\x04 not really";
  add("a/b.zip", bytes, "application/zip", "&ocr=1&language=de&metadata=%7B%22k%22%3A%22v%22%7D");
  WorkerPeer peer = worker();
  const std::string host = fmt::format("localhost:{}", endpoint_.port);
  peer.set_host(host);
  const HttpAnswer answer = peer.poll("Archive");
  ASSERT_EQ(answer.status, 201);
  EXPECT_NE(answer.head.find("Content-Type: application/json"), std::string::npos) << answer.head;
  const LentTask task{answer.json()};
  const std::string url(task.json.at("url").as_string());
  EXPECT_EQ(url, fmt::format("http://{}/steps/Archive/{}", host, task.id()));
  EXPECT_EQ(task.filename(), "a/b.zip");
  EXPECT_EQ(task.json.at("contentType"), "application/zip");
  EXPECT_EQ(task.json.at("languageCode"), "de");
  EXPECT_EQ(task.json.at("metadata"), boost::json::parse(R"({"k":"v"})"));
  EXPECT_EQ(task.json.at("wantOcr"), true);
  EXPECT_EQ(task.json.at("wantSplitByPage"), false);
  EXPECT_EQ(field(task.blob(), "url"), url + "/blob");
  EXPECT_EQ(task.blob().at("nBytes"), static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(task.blob().at("sha1").as_string().size(), 40U);
  EXPECT_FALSE(task.blob().contains("path")) << "for workers of this machine only";
  EXPECT_EQ(peer.blob_of(task), bytes);
  EXPECT_EQ(peer.get(task.path()).json(), task.json) << "the same once more";
  EXPECT_EQ(peer.head(task.path()), 200);
  EXPECT_EQ(peer.head(task.path() + "0"), 404);
  EXPECT_EQ(peer.get("/steps/Pdf/" + task.id()).status, 404) << "another step's";
}

TEST_P(WorkerProtocolTest, Wire02_ATaskNeverOutgrowsACommandLine) {
  serve();
  add("big.zip", "bytes", "application/zip");
  WorkerPeer peer = worker();
  const LentTask archive = peer.take("Archive");
  const std::string metadata = R"({"k":")" + std::string(200'000, 'x') + R"("})";
  const std::string name(16'000, '\x01');  // each becomes six characters of JSON
  const std::string body = Multipart(Style::Archive)
                               .part("0.json", support::child_json(name, "text/plain", metadata))
                               .part("0.blob", "text")
                               .part("done", "")
                               .close();
  ASSERT_EQ(peer.post_all(archive, body), 202);
  const HttpAnswer answer = peer.poll("Text");
  ASSERT_EQ(answer.status, 201);
  EXPECT_LE(answer.body.size(), 100U * 1024);
  const LentTask task{answer.json()};
  EXPECT_EQ(task.json.at("metadata"), boost::json::object());
  const std::string url(task.json.at("metadataUrl").as_string());
  ASSERT_TRUE(url.ends_with(task.path() + "/metadata")) << url;
  EXPECT_EQ(peer.get(task.path() + "/metadata").body, metadata);
}

TEST_P(WorkerProtocolTest, Wire03_TheBlobIsReadWhileThePostIsWritten) {
  serve();
  // Larger than any buffer on the way; the POST goes on only as the blob comes in.
  constexpr std::size_t kBytes = 160 * 1024 * 1024;
  std::string bytes(kBytes, 'x');
  for (std::size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = static_cast<char>(i >> 12);
  add("echo.zip", bytes, "application/zip");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Archive");
  FragmentPost post = peer.post(task);
  Multipart body(Style::Archive);
  post.chunk(body.child(0, "echo.zip/echo", "application/zip").cut_part("0.blob", "").take());
  net::RawPeer blob(endpoint_);
  blob.send(
      fmt::format("GET {}/blob HTTP/1.1\r\nHost: {}\r\n\r\n", task.path(), endpoint_.to_string()));
  const std::string head = blob.read_until("\r\n\r\n");
  EXPECT_NE(head.find(fmt::format("Content-Length: {}", kBytes)), std::string::npos) << head;
  for (std::size_t left = kBytes; left > 0;) {
    const std::string piece = blob.read_bytes(std::min<std::size_t>(left, 256 * 1024));
    ASSERT_FALSE(piece.empty());
    left -= piece.size();
    post.chunk(piece);
  }
  post.chunk(body.part("done", "").close());
  EXPECT_EQ(post.finish().status, 202);
  const LentTask child = peer.take("Archive");
  EXPECT_EQ(child.filename(), "echo.zip/echo");
  EXPECT_EQ(child.blob().at("sha256"), task.blob().at("sha256"));
  EXPECT_EQ(child.blob().at("sha1"), task.blob().at("sha1"));
}

TEST_P(WorkerProtocolTest, Wire11_TwoClientsShareWorkAndEachFileGoesToOne) {
  serve();
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back(fmt::format("{:02}.txt", i));
  const std::int64_t job = add_many(names, "text/plain");
  WorkerPeer one = worker();
  WorkerPeer two = worker();
  std::set<std::string> lent;
  for (int i = 0; i < 10; ++i) {
    for (WorkerPeer* peer : {&one, &two}) {
      const LentTask task = peer->take("Text");
      EXPECT_TRUE(lent.insert(task.filename()).second) << task.filename() << " was lent twice";
      EXPECT_EQ(peer->post_all(task, document_body(Style::SingleFile, task.filename(), "x")), 202);
    }
  }
  EXPECT_EQ(lent.size(), names.size());
  EXPECT_TRUE(finishes(job));
}

TEST_P(WorkerProtocolTest, Wire11_ASecondPostOfATaskIsRefusedAndTheFirstUnharmed) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  FragmentPost first = peer.post(task);
  Multipart body(Style::SingleFile);
  first.chunk(body.child(0, "a.txt", "application/pdf").part("0.blob", kPdf).take());
  // The first is surely being read once the task is in hand of a POST: a second one says so.
  int refused = 0;
  const auto give_up = steady_clock::now() + support::kProgramPatience;
  while (refused != 500 && steady_clock::now() < give_up) {
    refused = peer.post_one(task, "heartbeat", "");
  }
  EXPECT_EQ(refused, 500);
  EXPECT_EQ(peer.post_all(task, document_body(Style::Email, "other.txt", "other")), 500);
  EXPECT_EQ(peer.head(task.path()), 200) << "questions are fine meanwhile";
  EXPECT_EQ(peer.blob_of(task), "a");
  first.chunk(body.part("0-thumbnail.jpg", kJpeg).part("0.txt", "mine").part("done", "").close());
  EXPECT_EQ(first.finish().status, 202);
  EXPECT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), std::vector<std::string>{"mine"});
}

TEST_P(WorkerProtocolTest, Wire16_AnUnknownTypeIsUnhandledWithoutAnyWorker) {
  serve(kOwnDetector);
  const Added claimed = add("a.bin", "a", "application/x-unheard-of");
  EXPECT_TRUE(finishes(claimed.job)) << "no worker was asked";
  EXPECT_EQ(errors(claimed.job), std::vector<std::string>{"a.bin unhandled: unhandled"});
  const Added unnamed = add("run.bin", "a");
  {
    const Detector detector(endpoint_, {{".bin", "application/x-executable"}});
    EXPECT_TRUE(finishes(unnamed.job));
  }
  EXPECT_EQ(errors(unnamed.job), std::vector<std::string>{"run.bin unhandled: unhandled"});
  EXPECT_EQ(field(file(unnamed.file), "detected_type"), "application/x-executable");
}

TEST_P(WorkerProtocolTest, Wire16_OtherStepsFlowWhileOneHasNoWorkersAtAll) {
  serve();
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back(fmt::format("{}.docx", i));
  const std::int64_t stuck = add_many(names, "application/msword");
  const Added flows = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  convert_texts(peer);
  EXPECT_TRUE(finishes(flows.job));
  EXPECT_EQ(state_of(stuck), "running") << "it waits for a worker, visibly";
}

TEST_P(WorkerProtocolTest, Wire17_AnIdleConnectionIsNotClosedBeforeTheClientWould) {
  serve({{"QUERN_POLL_HOLD", "10"}});
  // Go's clients close idle connections after 90 s; `make soak` waits for longer than that.
  const milliseconds idle =
      soak_minutes().count() > 0 ? milliseconds(100'000) : milliseconds(2'000);
  WorkerPeer peer = worker();
  ASSERT_EQ(peer.poll("Text").status, 204);
  std::this_thread::sleep_for(idle);
  EXPECT_EQ(peer.poll("Text").status, 204) << "on the same connection";
}

}  // namespace
}  // namespace quern::e2e

// Quern's own additions to the worker protocol: several tasks a poll, blobs that come along, typed
// failures of members and of tasks, costs and notes, and Detect.
#include "base/base64.h"
#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

constexpr int kPollsMax = 200;

class WorkerExtensionTest : public WorkerProtocolTest {};
QUERN_ON_BOTH_STORES(WorkerExtensionTest);

TEST_P(WorkerExtensionTest, APollMayAskForSeveralTasksWithTheirBytes) {
  serve();
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back(fmt::format("{:02}.txt", i));
  const std::int64_t job = add_many(names, "text/plain");
  WorkerPeer peer = worker();
  std::set<std::string> lent;
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (lent.size() < names.size() && std::chrono::steady_clock::now() < give_up) {
    const HttpAnswer answer = peer.poll("Text", "tasks=4&inline=16384&worker=w7&version=v1.2");
    if (answer.status == 204) continue;
    ASSERT_EQ(answer.status, 201);
    const boost::json::object body = answer.json();
    const boost::json::array& tasks = body.at("tasks").as_array();
    ASSERT_GE(tasks.size(), 1U);
    ASSERT_LE(tasks.size(), 4U);
    for (const auto& one : tasks) {
      const LentTask task{one.as_object()};
      EXPECT_TRUE(lent.insert(task.filename()).second);
      EXPECT_EQ(base64_decoded(field(task.blob(), "data")), "bytes of " + task.filename());
      const std::string result = Multipart(Style::SingleFile)
                                     .child(0, task.filename(), "application/pdf")
                                     .part("0.blob", kPdf)
                                     .part("0.txt", "x")
                                     .part("0-thumbnail.jpg", kJpeg)
                                     .part("note", "the library\nhad something to say")
                                     .part("cost", R"({"wallMs":12,"cpuMs":7,"peakKiB":4096})")
                                     .part("done", "")
                                     .close();
      EXPECT_EQ(peer.post_all(task, result), 202);
      const boost::json::object known = file(task.file());
      EXPECT_EQ(field(known, "worker"), "w7");
      EXPECT_EQ(field(known, "step_version"), "v1.2");
      EXPECT_EQ(field(known, "note"), "the library\nhad something to say");
      EXPECT_EQ(known.at("wall_ms"), 12);
      EXPECT_EQ(known.at("cpu_ms"), 7);
      EXPECT_EQ(known.at("peak_kib"), 4096);
    }
  }
  EXPECT_TRUE(finishes(job));
}

TEST_P(WorkerExtensionTest, OnlySmallBlobsComeAlongAndOnlyWhereAskedFor) {
  serve();
  add("small.txt", "small", "text/plain");
  add("large.txt", std::string(20'000, 'x'), "text/plain");
  WorkerPeer peer = worker();
  for (int i = 0; i < 2; ++i) {
    HttpAnswer answer = peer.poll("Text", "inline=16384");
    for (int polls = 0; answer.status == 204 && polls < kPollsMax; ++polls) {
      answer = peer.poll("Text", "inline=16384");
    }
    const LentTask task{answer.json()};
    EXPECT_EQ(task.blob().contains("data"), task.filename() == "small.txt");
    EXPECT_FALSE(task.blob().contains("path")) << "not for peers on the network";
  }
  add("plain.txt", "plain", "text/plain");
  EXPECT_FALSE(peer.take("Text").blob().contains("data"));
}

TEST_P(WorkerExtensionTest, AMemberThatFailedIsAnErrorAndTheRestGoesOn) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string body =
      Multipart(Style::Archive)
          .child(0, "a.zip/locked", "application/octet-stream")
          .part("0.error", R"({"kind":"encrypted","message":"it needs a password"})")
          .child(1, "a.zip/b.txt", "text/plain")
          .part("1.blob", "b")
          .part("progress", "0.5")
          .child(2, "a.zip/broken", "application/octet-stream")
          .part("2.error", "not JSON at all")
          .part("done", "")
          .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(errors(added.job),
            (std::vector<std::string>{"a.zip/broken internal: not JSON at all",
                                      "a.zip/locked encrypted: it needs a password"}));
  EXPECT_EQ(texts(added.job).size(), 1U);
  EXPECT_EQ(file(added.file).at("n_children"), 3);
  EXPECT_EQ(field(file(added.file), "class"), "container");
}

TEST_P(WorkerExtensionTest, ATypedFailureEndsTheTaskWithItsKind) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string body =
      Multipart(Style::Archive)
          .child(0, "a.zip/0.txt", "text/plain")
          .part("0.blob", "zero")
          .part("progress", "0.5")
          .part("failure", R"({"kind":"too_many","message":"too many members"})")
          .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(errors(added.job), std::vector<std::string>{"a.zip too_many: too many members"});
  EXPECT_EQ(texts(added.job).size(), 1U);
}

TEST_P(WorkerExtensionTest, ABoxThatIsNotWholeIsNamedByTheHealth) {
  serve();
  EXPECT_EQ(field(get_json("/healthz"), "status"), "ok");
  WorkerPeer peer = worker();
  EXPECT_EQ(peer.poll("Text", "box=mounts:%20Operation%20not%20permitted").status, 204);
  const boost::json::object health = get_json("/healthz");
  EXPECT_EQ(field(health, "status"), "degraded");
  EXPECT_EQ(field(health.at("parts").as_object(), "box of Text"),
            "it lacks mounts: Operation not permitted");
  EXPECT_EQ(peer.poll("Text", "box=full").status, 204);
  EXPECT_EQ(field(get_json("/healthz"), "status"), "ok");
}

TEST_P(WorkerExtensionTest, DetectGetsManyFilesAndSaysTheirTypes) {
  serve({{"QUERN_STEPS", "Detect=0"}});  // the server's own would be quicker
  const std::int64_t job = add_many({"a", "b", "c"}, "application/octet-stream");
  WorkerPeer peer = worker();
  int files = 0;
  for (int polls = 0; files < 3; ++polls) {
    ASSERT_LT(polls, kPollsMax);
    const HttpAnswer answer = peer.poll("Detect", "tasks=64&inline=4");
    if (answer.status == 204) continue;
    ASSERT_EQ(answer.status, 201);
    const boost::json::object body = answer.json();
    ASSERT_EQ(body.at("tasks").as_array().size(), 1U);
    const LentTask task{body.at("tasks").at(0).as_object()};
    boost::json::array types;
    boost::json::array failed;
    for (const auto& one : task.json.at("files").as_array()) {
      ++files;
      const std::string name(one.at("filename").as_string());
      const std::string url(one.at("blob").at("url").as_string());
      const std::string path = url.substr(url.find("/steps/"));
      const HttpAnswer part = peer.request("GET", path, "", "Range: bytes=0-4\r\n");
      EXPECT_EQ(part.status, 206);
      EXPECT_EQ(part.body, "bytes");
      if (name == "c") {
        failed.push_back({{"file", one.at("file")}, {"kind", "crash"}, {"message", "it died"}});
      } else {
        types.push_back(
            {{"file", one.at("file")}, {"type", name == "a" ? "Text/CSV; x=y" : "x/y"}});
      }
    }
    const boost::json::object told{{"types", types}, {"failed", failed}};
    EXPECT_EQ(peer.post_one(task, "types", boost::json::serialize(told)), 202);
    EXPECT_EQ(peer.post_one(task, "types", "{}"), 404) << "it is over";
  }
  EXPECT_EQ(peer.take("Office").filename(), "a");
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", job), "errors", "2"));
  EXPECT_EQ(errors(job), (std::vector<std::string>{"b unhandled: unhandled", "c crash: it died"}));
}

}  // namespace
}  // namespace quern::e2e

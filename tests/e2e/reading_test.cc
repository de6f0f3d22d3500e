// What became of files, over HTTP: bytes, explanations, retries, removals, the ledger, events. The
// steps are played by the test.
#include "e2e/event_stream.h"
#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

class ReadingTest : public WorkerProtocolTest {
 protected:
  // A text file that became a document: its own id and the document's.
  struct Made {
    Added added;
    std::int64_t document = 0;
  };
  Made make_document(const std::string& name) {
    Made made{add(name, "bytes of " + name, "text/plain")};
    WorkerPeer peer = worker();
    convert_one(peer);
    EXPECT_TRUE(finishes(made.added.job));
    made.document = list("documents", made.added.job).at(0).at("document").as_int64();
    return made;
  }
  Added make_error(const std::string& name, const std::string& message) {
    const Added added = add(name, "bytes of " + name, "text/plain");
    WorkerPeer peer = worker();
    const LentTask task = peer.take("Text");
    EXPECT_EQ(
        peer.post_one(task, "failure", R"({"kind":"encrypted","message":")" + message + "\"}"),
        202);
    EXPECT_TRUE(finishes(added.job));
    return added;
  }
  static std::string at(const char* format, std::int64_t id) {
    return fmt::format(fmt::runtime(format), id);
  }
  boost::json::object ledger(const std::string& name = "default") {
    return get_json("/api/v1/collections/" + name);
  }
  void restart_with_crash(const std::string& order) {
    settings_.emplace_back("QUERN_CRASH", order);
    kill_and_restart();
    settings_.pop_back();
  }
  // The server dies before it answers.
  void expect_death_of(net::Method method, const std::string& target) {
    net::Request request;
    request.method = method;
    request.target = target;
    request.repeat = net::Repeat::Never;
    net::Client client(loop_, endpoint_, {});
    EXPECT_FALSE(loop_.run_until(client.fetch(request, 65536)).ok());
    ASSERT_TRUE(server_->wait().ok());
  }
  // Whether it goes: at once, or behind our back.
  bool deletes(const std::string& target) {
    int status = remove(target).status;
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (status == 202 && std::chrono::steady_clock::now() < give_up) {
      status = remove(target).status == 404 ? 200 : 202;
    }
    return status == 200;
  }
  // Whether nobody has anything to do any more.
  bool becomes_idle(std::string_view step) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (std::chrono::steady_clock::now() < give_up) {
      const boost::json::object steps = get_json("/api/v1/steps");
      for (const auto& item : steps.at("items").as_array()) {
        if (item.at("step").as_string() != step) continue;
        if (item.at("waiting").as_int64() + item.at("running").as_int64() == 0) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

TEST_P(ReadingTest, ADocumentsPdfTextAndThumbnailAreServed) {
  serve();
  const Made made = make_document("a.txt");
  const net::Response pdf = get(at("/api/v1/files/{}/blob", made.document));
  EXPECT_EQ(pdf.body, kPdf);
  EXPECT_EQ(*pdf.headers.find("Content-Type"), "application/pdf");
  const net::Response part = send(net::Method::Get, at("/api/v1/files/{}/blob", made.document), "",
                                  {{"Range", "bytes=1-3"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "PDF");
  EXPECT_EQ(get(at("/api/v1/files/{}/thumbnail", made.document)).body, kJpeg);
  const net::Response text = get(at("/api/v1/files/{}/text", made.document));
  EXPECT_EQ(text.body, "text of a.txt");
  EXPECT_EQ(*text.headers.find("Content-Type"), "text/plain; charset=utf-8");
  // What people added is bytes to a browser, whatever it says it is.
  const net::Response original = get(at("/api/v1/files/{}/blob", made.added.file));
  EXPECT_EQ(original.body, "bytes of a.txt");
  EXPECT_EQ(*original.headers.find("Content-Type"), "application/octet-stream");
  EXPECT_EQ(get(at("/api/v1/files/{}/text", made.added.file)).status, 404);
  EXPECT_EQ(get("/api/v1/files/4711/blob").status, 404);
  EXPECT_EQ(get("/api/v1/files/a.txt").status, 400);
}

TEST_P(ReadingTest, ALongTextLiesInABlobAndReadsTheSame) {
  serve();
  const std::string text(300'000, 'q');
  const Added added = add("long.txt", "bytes", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  ASSERT_EQ(peer.post_all(task, document_body(Style::SingleFile, "long.txt", text)), 202);
  ASSERT_TRUE(finishes(added.job));
  const auto document = list("documents?text=1", added.job).at(0);
  EXPECT_EQ(field(document, "text"), text);
  EXPECT_EQ(get(at("/api/v1/files/{}/text", document.at("document").as_int64())).body, text);
  EXPECT_EQ(blob_files(), 1u);
  expect_clean();
}

TEST_P(ReadingTest, ListsRefuseWhatTheyDoNotKnow) {
  serve();
  EXPECT_EQ(get("/api/v1/files").status, 200) << "the default collection may be empty";
  EXPECT_EQ(get("/api/v1/files?collection=nowhere").status, 404);
  EXPECT_EQ(get("/api/v1/files?colection=default").status, 400);
  EXPECT_EQ(get("/api/v1/documents?after=nonsense").status, 400);
  EXPECT_EQ(get("/api/v1/files?text=1").status, 400) << "texts are of documents";
  EXPECT_EQ(get("/api/v1/errors?job=4711").status, 404);
}

TEST_P(ReadingTest, FilesAreFoundByNameAndListedByTheirPlace) {
  serve();
  const std::int64_t job = add_many({"b.txt", "a.txt", "a.txt"}, "text/plain");
  WorkerPeer peer = worker();
  convert_texts(peer);
  ASSERT_TRUE(finishes(job));
  EXPECT_EQ(list("files?filename=a.txt", job).size(), 4u) << "two roots and their documents";
  EXPECT_EQ(list("files?filename=a.txt&limit=1", job).size(), 4u);
  EXPECT_EQ(list("documents?filename=b.txt", job).size(), 1u);
  EXPECT_EQ(list("files?filename=a", job).size(), 0u);
  const boost::json::object roots = get_json(at("/api/v1/jobs/{}/roots", job));
  std::string names;
  for (const auto& root : roots.at("items").as_array()) {
    names += std::string(root.at("filename").as_string()) + " ";
  }
  EXPECT_EQ(names, "b.txt a.txt a.txt ");
  const std::int64_t first = roots.at("items").as_array()[0].at("file").as_int64();
  const boost::json::object children = get_json(at("/api/v1/files/{}/children", first));
  ASSERT_EQ(children.at("items").as_array().size(), 1u);
  EXPECT_EQ(children.at("items").as_array()[0].at("class").as_string(), "document");
}

TEST_P(ReadingTest, ExplainSaysWhatAFileWaitsForAndWhatItCost) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  const std::string address = at("/api/v1/files/{}/explain", added.file);
  EXPECT_TRUE(becomes(address, "waits_for",
                      "waits for a worker of Archive: none is installed or connected"))
      << field(get_json(address), "waits_for");

  WorkerPeer peer = worker();
  const HttpAnswer polled = peer.poll("Archive", "worker=kitchen&version=3.2");
  ASSERT_EQ(polled.status, 201);
  const LentTask task{polled.json()};
  EXPECT_NE(field(get_json(address), "waits_for").find("lent to worker kitchen"),
            std::string::npos);
  ASSERT_EQ(peer.post_all(task, Multipart(Style::Archive)
                                    .child(0, "a.zip/b.txt", "text/plain")
                                    .part("0.blob", "b")
                                    .part("note", "it creaked")
                                    .part("cost", R"({"wallMs":12,"cpuMs":8,"peakKiB":4096})")
                                    .part("done", "")
                                    .close()),
            202);
  const boost::json::object done = get_json(address);
  EXPECT_EQ(field(done, "worker"), "kitchen");
  EXPECT_EQ(field(done, "step_version"), "3.2");
  EXPECT_EQ(field(done, "note"), "it creaked");
  EXPECT_EQ(field(done, "wall_ms"), "12");
  EXPECT_EQ(field(done, "peak_kib"), "4096");
  EXPECT_EQ(field(done, "waits_for"), "waits for 1 of its 1 children");

  const std::int64_t child =
      list("files?filename=a.zip/b.txt", added.job).at(0).at("file").as_int64();
  const boost::json::object below = get_json(at("/api/v1/files/{}/explain", child));
  ASSERT_EQ(below.at("parents").as_array().size(), 1u);
  const auto& parent = below.at("parents").as_array()[0].as_object();
  EXPECT_EQ(field(parent, "filename"), "a.zip");
  EXPECT_EQ(field(parent, "says"), "it waits for 1 of its 1 children");
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(field(get_json(address), "waits_for"), "null");
}

TEST_P(ReadingTest, ARetryMakesANewJobAndTheOldErrorIsSuperseded) {
  serve();
  const Added failed = make_error("locked.txt", "a password is needed");
  EXPECT_EQ(errors(failed.job),
            std::vector<std::string>{"locked.txt encrypted: a password is needed"});
  const std::string address = at("/api/v1/files/{}/retry", failed.file);
  const net::Response made = post(address);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::int64_t again = boost::json::parse(made.body).at("job").as_int64();
  EXPECT_EQ(boost::json::parse(post(address).body).at("job").as_int64(), again) << "the same one";
  WorkerPeer peer = worker();
  convert_one(peer);
  ASSERT_TRUE(finishes(again));
  EXPECT_EQ(texts(again), std::vector<std::string>{"text of locked.txt"});
  EXPECT_TRUE(errors(failed.job).empty());
  EXPECT_EQ(list("errors?superseded=1", failed.job).size(), 1u);
  EXPECT_EQ(post(address).status, 409) << "there is a newer one";
  EXPECT_EQ(field(get_json(at("/api/v1/jobs/{}", again)), "kind"), "retry");
  expect_clean();
}

TEST_P(ReadingTest, AllErrorsOfAKindAreTriedAgainAtOnce) {
  serve();
  make_error("a.txt", "locked");
  make_error("b.txt", "locked");
  make_document("fine.txt");
  const boost::json::value answer = boost::json::parse(post("/api/v1/retry?kind=encrypted").body);
  EXPECT_EQ(answer.at("retried").as_int64(), 2);
  WorkerPeer peer = worker();
  convert_texts(peer);
  for (const auto& job : answer.at("jobs").as_array()) EXPECT_TRUE(finishes(job.as_int64()));
  EXPECT_EQ(boost::json::parse(post("/api/v1/retry?kind=encrypted").body).at("retried").as_int64(),
            0);
  EXPECT_EQ(post("/api/v1/retry?kind=sad").status, 400);
  EXPECT_EQ(post("/api/v1/retry?kind=crash&collection=nowhere").status, 404);
  expect_clean();
}

TEST_P(ReadingTest, ADeletedJobIsGoneWithItsBytesAndItsCollection) {
  serve();
  const Added large = add("large.txt", std::string(100'000, 'x'), "text/plain");
  WorkerPeer peer = worker();
  convert_one(peer);
  ASSERT_TRUE(finishes(large.job));
  ASSERT_EQ(blob_files(), 1u);
  ASSERT_TRUE(deletes(at("/api/v1/jobs/{}", large.job)));
  EXPECT_EQ(get(at("/api/v1/jobs/{}", large.job)).status, 404);
  EXPECT_EQ(get(at("/api/v1/files/{}", large.file)).status, 404);
  EXPECT_EQ(get("/api/v1/collections/default").status, 404);
  EXPECT_EQ(blob_files(), 0u);
  EXPECT_EQ(remove(at("/api/v1/jobs/{}", large.job)).status, 404);
  EXPECT_EQ(remove("/api/v1/collections/nowhere").status, 404);
  expect_clean();
}

TEST_P(ReadingTest, ARunningJobIsDeletedUnderItsWorker) {
  serve();
  const std::int64_t job = add_many({"a.txt", "b.txt", "c.txt"}, "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  ASSERT_TRUE(deletes(at("/api/v1/jobs/{}", job)));
  EXPECT_EQ(peer.post_all(task, document_body(Style::SingleFile, "a.txt", "late")), 404);
  EXPECT_TRUE(peer.finds_nothing("Text"));
  EXPECT_TRUE(becomes_idle("Text")) << "the pipeline has let go of it";
  make_document("next.txt");
  expect_clean();
}

TEST_P(ReadingTest, ADeletionThatWasKilledGoesOnWithTheNextServer) {
  serve();
  const std::int64_t job = add_many({"a.txt", "b.txt"}, "text/plain");
  WorkerPeer first = worker();
  convert_texts(first);
  ASSERT_TRUE(finishes(job));
  restart_with_crash("point:api.removal.partitions_gone");
  expect_death_of(net::Method::Delete, at("/api/v1/jobs/{}", job));
  // Whoever goes on with it dies of it too, at another instant.
  for (const char* point : {"point:tree.files.removed", "point:tree.job.removed"}) {
    support::Environment armed = settings_;
    armed.emplace_back("QUERN_CRASH", point);
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, armed);
    ASSERT_TRUE(server_->wait().ok()) << point;
  }
  kill_and_restart();
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (get(at("/api/v1/jobs/{}", job)).status == 200) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(get("/api/v1/files").status, 200);
  expect_clean();
}

TEST_P(ReadingTest, ARetryThatWasKilledGoesOnWithTheNextServer) {
  serve();
  for (const std::string point : {"step.job.made", "tree.retry.added"}) {
    const Added failed = make_error(point + ".txt", "locked");
    restart_with_crash("point:" + point);
    expect_death_of(net::Method::Post, at("/api/v1/files/{}/retry", failed.file));
    kill_and_restart();
    WorkerPeer peer = worker();
    convert_one(peer);  // nobody asked again
    const auto jobs = get_json("/api/v1/jobs?limit=1").at("items").as_array();
    EXPECT_TRUE(finishes(jobs.at(0).at("job").as_int64()));
    EXPECT_TRUE(errors(failed.job).empty());
  }
  expect_clean();
}

TEST_P(ReadingTest, ACancelThatWasKilledEndsWithTheNextServer) {
  serve();
  const std::int64_t job = add_many({"a.txt", "b.txt", "c.txt"}, "text/plain");
  restart_with_crash("point:tree.waiting.ended");
  // It is durable before anything else happens; so the answer may come or not.
  net::Request request;
  request.method = net::Method::Post;
  request.target = at("/api/v1/jobs/{}/cancel", job);
  net::Client client(loop_, endpoint_, {});
  (void)loop_.run_until(client.fetch(request, 65536));
  ASSERT_TRUE(server_->wait().ok());
  kill_and_restart();
  EXPECT_TRUE(becomes(at("/api/v1/jobs/{}", job), "state", "canceled"));
  EXPECT_EQ(errors(job).size(), 3u);
  expect_clean();
}

TEST_P(ReadingTest, TheLedgerCountsEachFileOnce) {
  serve();
  make_document("a.txt");
  make_error("b.txt", "no");
  const Added waits = add("c.txt", "c", "text/plain");
  const boost::json::object now = ledger();
  EXPECT_EQ(field(now, "roots"), "3");
  EXPECT_EQ(field(now, "files"), "4");
  EXPECT_EQ(field(now, "documents"), "1");
  EXPECT_EQ(field(now, "converted"), "1");
  EXPECT_EQ(field(now, "errors"), "1");
  EXPECT_EQ(field(now, "in_progress"), "1");
  EXPECT_EQ(field(now, "balanced"), "true");
  EXPECT_EQ(get("/api/v1/collections/nowhere").status, 404);
  WorkerPeer peer = worker();
  convert_texts(peer);
  EXPECT_TRUE(finishes(waits.job));
}

TEST_P(ReadingTest, TheCheckFindsBytesThatChangedOnTheDisk) {
  serve();
  add("large.txt", std::string(100'000, 'x'), "text/plain");
  expect_clean();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_.path() / "blobs")) {
    if (!entry.is_regular_file()) continue;
    std::FILE* file = std::fopen(entry.path().c_str(), "r+");
    ASSERT_NE(file, nullptr);
    std::fputc('y', file);
    std::fclose(file);
  }
  const support::Ran ran = folder_.run({"check"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_NE(ran.standard_output.find("blob"), std::string::npos) << ran.standard_output;
}

// -- events --

TEST_P(ReadingTest, EventsTellOfFilesDocumentsErrorsAndTheEnd) {
  serve();
  EventStream events(endpoint_, "");
  const Made made = make_document("a.txt");
  const boost::json::object document = events.next("document.created");
  EXPECT_EQ(document.at("document").as_int64(), made.document);
  EXPECT_EQ(field(document, "collection"), "default");
  EXPECT_EQ(field(document, "filename"), "a.txt");
  const boost::json::object end = events.next("job.finished");
  EXPECT_EQ(end.at("job").as_int64(), made.added.job);
  EXPECT_EQ(end.at("progress").to_number<double>(), 1);
  const Added bad = make_error("b.txt", "no");
  const boost::json::object error = events.next("error.created");
  EXPECT_EQ(error.at("file").as_int64(), bad.file);
  EXPECT_EQ(field(error, "kind"), "encrypted");
  EXPECT_EQ(events.next("job.finished").at("job").as_int64(), bad.job);
}

TEST_P(ReadingTest, EventsOfOtherCollectionsAreLeftOut) {
  serve();
  EventStream other(endpoint_, "?collection=other");
  make_document("a.txt");
  const net::Response answer =
      post("/api/v1/collections/other/files?filename=o.txt&content_type=text/plain", "o");
  ASSERT_EQ(answer.status, 201) << answer.body;
  WorkerPeer peer = worker();
  convert_one(peer);
  EXPECT_EQ(field(other.next("file.ingested"), "collection"), "other");
}

QUERN_ON_BOTH_STORES(ReadingTest);

}  // namespace
}  // namespace quern::e2e
